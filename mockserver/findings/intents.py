"""What a client wants with a money operation: two calls of one intent are one payment sent twice.

Nothing in a request says that it repeats another. A retry has the same operation, amount, currency
and source of the money, and no other reference. Each of these may be spelt otherwise in the two: a
card by its number, by a token or by a stored method; a reference that is left out. So a source has
several names, as given and as found by the service, and one in common is enough; what one of the
two does not say is no difference. But an order with another reference is another order, and a
refund with another comment another refund.

Names are digests where they hold card numbers, wallets or whole rows.

Source: docs/findings.md (same intent).
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from mockserver.domain.charge import Charge
from mockserver.domain.clock import DAY, MILLISECOND, Micros, parse_instant
from mockserver.domain.facts import MOVES, Call
from mockserver.domain.ids import digest
from mockserver.domain.masking import mask_start, mask_text
from mockserver.domain.reading import number_of
from mockserver.domain.record import record
from mockserver.domain.sources import Instrument
from mockserver.findings.ledger import Evidence

INTENT_WINDOW: Micros = DAY
"""Two calls are of the same intent within less than this, in sandbox time: what is paid daily is
paid again."""

MONEY = MOVES | {"charge.create", "batch.create", "subscription.create", "transfer.create"}
"""Operations that move money, or promise to."""

_LONGEST_WORD = 40
_DAY_IN_MS = DAY // MILLISECOND
_SOURCE_FIELDS = ("paymentMethodId", "customerId", "token", "networkTokenId")


@record
class Intent:
    """What a call wants. ``sources`` are the names of the source of the money, as given and as
    found; ``plan`` that of a subscription. What is not told, or means nothing there, is None."""

    op: str
    sources: frozenset[str]
    amount: Decimal | None
    currency: str | None
    reference: str | None
    plan: str | None = None

    @property
    def kind(self) -> str:
        """The kind of object that the operation is about: ``charge`` of ``charge.refund``."""
        return self.op.partition(".")[0]

    def is_same(self, other: Intent) -> bool:
        """Whether both want the same: operation, source, amount, currency, plan, and no two
        different references."""
        if self.op != other.op or self.amount != other.amount or self.plan != other.plan:
            return False
        if self.sources.isdisjoint(other.sources):
            return False
        is_same_currency = _may_be_same(self.currency, other.currency)
        return is_same_currency and _may_be_same(self.reference, other.reference)


def _may_be_same(text: str | None, other: str | None) -> bool:
    """Whether two texts are the same, as far as both are told."""
    return text is None or other is None or text == other


def intent_of(call: Call) -> Intent:
    """What a call that moves money wants."""
    request = call.request
    if call.op in MOVES:
        # The source of a capture, void or refund is its charge. A refund has no reference but its
        # comment: two items of one price come back with a comment each.
        comment = ""
        if call.op == "charge.refund":
            comment = str(request.get("comment") or "").strip()
        amount = number_of(request.get("amount"))
        return _intent(call.op, call.path["charge_id"], amount=amount, reference=_text_of(comment))
    if call.op == "batch.create":
        # A batch that never arrived is known by its text alone.
        text = digest("rows", str(request.get("batch")).strip()).hex()
        return _intent(call.op, text, call.rows or text)
    if call.op == "transfer.create":
        # Transfers name no source of their own: the rows as a whole stand for it.
        rows = digest("transfers", repr(request.get("transfers"))).hex()
        return _intent(call.op, rows, reference=_text_of(request.get("groupReference")))
    return _intent_of_payment(call)


def _text_of(value: object) -> str | None:
    """A member of a request as a text; None for one that says nothing."""
    return str(value) if value else None


def _intent(
    op: str, *sources: str, amount: Decimal | None = None, reference: str | None = None
) -> Intent:
    """What an operation wants that has no currency of its own."""
    return Intent(op, frozenset(sources), amount, currency=None, reference=reference)


def _intent_of_payment(call: Call) -> Intent:
    """What a charge or a subscription wants, whose source is a card, an account or a wallet."""
    request, charge = call.request, call.charge
    instrument, currency = call.instrument, _text_of(request.get("currency"))
    if charge is not None:
        # What the service has charged says more than the request: a token stands for a card, and a
        # request may leave the currency to the provider.
        instrument, currency = charge.instrument, charge.currency
    reference = _text_of(request.get("reference"))
    plan: str | None = None
    if call.op == "subscription.create":
        reference, plan = _mark_of(request), _plan_of(request)
    return Intent(
        call.op,
        frozenset(_sources_of(request, instrument)),
        amount=number_of(request.get("amount")),
        currency=currency.upper() if currency else None,
        reference=reference,
        plan=plan,
    )


def _plan_of(request: Mapping[str, object]) -> str:
    """How often a subscription pays, and until when: a customer may well have two with others."""
    # Without a frequency it pays once in each interval.
    frequency = number_of(request.get("frequency") or 1)
    end = request.get("endAfter")
    ends: tuple[Decimal | None, ...] = ()
    if isinstance(end, Mapping):
        ends = number_of(end.get("count")), number_of(end.get("amount"))
    return f"{frequency} {request.get('interval')} {ends}".lower()


def _mark_of(request: Mapping[str, object]) -> str | None:
    """What distinguishes a subscription, which has no reference, from others of its customer: the
    day on which it starts, as many clients send the instant of each try, and its metadata."""
    day, metadata = _day_of(request.get("startDate")), request.get("metadata")
    # Two clients need not send the entries in one order.
    entries = sorted(metadata.items()) if isinstance(metadata, Mapping) else ()
    if not day and not entries:
        return None
    return digest("subscription", f"{day}", repr(entries)).hex()


def _day_of(moment: object) -> object:
    """The day of a moment as sent, ISO 8601, or milliseconds since the epoch; None where none was
    sent."""
    number = number_of(moment)
    if number is not None:
        return number // _DAY_IN_MS
    if not moment:
        return None
    try:
        return parse_instant(str(moment)) // DAY
    except ValueError:
        # It is refused, and so is each retry with the same text.
        return str(moment)


def _sources_of(request: Mapping[str, object], instrument: Instrument | None) -> list[str]:
    """The names of the source of a payment: as the request gives it, then as the service has found
    it. A call that never arrived has the first alone."""
    names = []
    for field in _SOURCE_FIELDS:
        value = request.get(field)
        # The token of a wallet is an object, and has its own name below.
        if isinstance(value, str):
            names.append(f"{field}:{value}")
    card = request.get("paymentInformation")
    if isinstance(card, Mapping) and card.get("cardNumber"):
        # One client may part the digits by blanks, and another not.
        digits = "".join(char for char in str(card["cardNumber"]) if char.isdigit())
        names.append("card:" + digest("card", digits).hex())
    bank = request.get("bankPaymentInformation")
    if isinstance(bank, Mapping):
        names.append(f"account:{bank.get('bankCode')}:{bank.get('accountNumber')}")
    wallet = wallet_of(request)
    if wallet is not None:
        names.append(wallet)
    if instrument is not None:
        charged = instrument_of(instrument)
        if charged is not None:
            names.append(charged)
        if instrument.payment_method_id is not None:
            # A card that was stored before is named by its method in one request, and entered in
            # another.
            names.append(f"paymentMethodId:{instrument.payment_method_id}")
    if not names and request.get("reference"):
        # Nothing says who pays at a checkout: there one order is one payment.
        names.append(f"reference:{request['reference']}")
    return names


def wallet_of(request: Mapping[str, object]) -> str | None:
    """Whose wallet it is: known by the payment data in its token, else by the payer and the name of
    the card; None when nothing says so, as the token alone is the same for every payer."""
    wallet = request.get("token")
    if not isinstance(wallet, Mapping):
        return None
    owner: object = wallet.get("paymentData")
    payer = request.get("email") or request.get("customerId")
    if not owner and payer:
        owner = str(payer).strip().lower(), wallet.get("paymentMethod")
    if not owner:
        return None
    return "wallet:" + digest("wallet", repr(owner)).hex()


def instrument_of(instrument: Instrument) -> str | None:
    """The card or account behind a charge, the same for each way to it; another one after an update
    of the card. None when it is not known, as of wallets and checkouts."""
    if instrument.card is not None:
        return f"fingerprint:{instrument.card.number.fingerprint}:{instrument.card.expiry}"
    if instrument.bank is not None:
        return f"account:{instrument.bank.bank_code}:{instrument.bank.account_number}"
    stored = instrument.payment_method_id or instrument.token_id
    return f"paymentMethodId:{stored}" if stored is not None else None


NO_CCV = digest("ccv", None).hex()
"""The ccv of payments that are made without one."""


def ccv_of(call: Call) -> str:
    """What distinguishes one ccv, or none, from another."""
    card = call.request.get("paymentInformation")
    if not isinstance(card, Mapping):
        return NO_CCV
    return digest("ccv", card.get("ccv")).hex()


def evidence_of(call: Call, said: str | None = None) -> Evidence:
    """One line about a call: what was asked, and ``said`` or how it ended."""
    how = ending_of(call) if said is None else said
    return Evidence(f"{asked_of(call)}: {how}", entry=call.entry)


def asked_of(call: Call) -> str:
    """What a call asked for, in a line: operation, amount, currency, reference and object."""
    charge, request = call.charge, call.request
    currency = request.get("currency") if charge is None else charge.currency
    return _asked(call.op, request.get("amount"), currency, request.get("reference"), call.subject)


def _asked(op: str, *parts: object) -> str:
    """The words of such a line; a request may have anything in the place of a part."""
    words = [op]
    for part in parts:
        # An object or a list may hold what must not be shown, in a field of any name.
        if isinstance(part, str | int | Decimal) and part != "":
            words.append(mask_start(str(part), _LONGEST_WORD))
    return mask_text(" ".join(words))


def evidence_of_payment(charge: Charge, said: str, entry: int) -> Evidence:
    """One line about a charge that the service has made for a batch or a subscription."""
    op = "subscription.renew" if charge.batch_id is None else "batch.row"
    asked = _asked(op, charge.amount, charge.currency, charge.reference, charge.charge_id)
    return Evidence(f"{asked}: {said}", entry=entry)


def ending_of(call: Call) -> str:
    """How a call ended, as its client has seen it."""
    if call.doubt is not None:
        return call.doubt.value
    if call.code is not None:
        return f"refused with code {call.code}"
    if call.charge is not None:
        return f"answered, the charge is {call.charge.status.value}"
    return "answered"
