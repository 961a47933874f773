"""The pages of payers, which work without JavaScript and may be framed. The payment page of a
payment link (``/pay/<paymentLinkId>``); and the challenge of 3-D Secure, which a payer passes,
fails or cancels: of a charge (``/3ds/<chargeId>``), or of a payment token before it is used
(``/3ds/token/<tokenId>``), whose form may be sent twice.

People type full-width digits, blanks of every kind, ``1240`` for a date and a comma in an amount.
What can be meant in one way only is taken so. The API's words speak to those who write programs; a
payer has no program to fix.

A view of the payment page pays at most once. Its key is in the address (``?view=``), so that Back
after a payment leads to what was paid and not to an empty form; each try of a view has a key of its
own, so that a double click or a reload is answered with the charge that the first one made.
Sources: docs/spec/service.md, Payment link, and Charge (``threeDsRedirectUrl``);
docs/spec/published-facts.md, 7.1 (``threeDSEmail``); docs/browser.md.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import field, replace
from decimal import Decimal
from typing import Any

from mockserver.domain.cards import (
    CCV_LENGTHS,
    MAX_LENGTH,
    MIN_LENGTH,
    Brand,
    brand_of,
    clean,
    passes_luhn,
)
from mockserver.domain.charge import Charge
from mockserver.domain.codes import Code
from mockserver.domain.money import MAX_INTEGER_DIGITS, Currency, currency, places
from mockserver.domain.payment_link import LinkPaymentType, PaymentLink
from mockserver.domain.record import mutable, record
from mockserver.domain.sources import ChallengeAnswer, Instrument
from mockserver.domain.states import ChargeState
from mockserver.domain.token import Token
from mockserver.engine import payment_links, three_ds
from mockserver.engine.intake import read_expiry
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import unnoted
from mockserver.web.page import (
    NoSuchPage,
    PageCall,
    carry_out,
    html,
    redirect,
    web_address,
    with_query,
)
from mockserver.web.request import Reply
from mockserver.web.routes import FORM_ROUTES
from mockserver.wire.profile import profile_of

_CARD_FIELDS = frozenset({"CardNumber", "ExpiryDate", "Ccv", "Cardholder"})
_VIEW = re.compile(r"[0-9a-f]{24}")


@record
class Bounds:
    """The smallest and the largest amount of a currency that a payer may choose; 0 is no
    largest."""

    currency: Currency
    least: Decimal
    most: Decimal

    @property
    def words(self) -> str:
        at_least = f"at least {self.least:f}"
        return f"{at_least} and at most {self.most:f}" if self.most else at_least

    def has(self, amount: Decimal) -> bool:
        """Whether an amount is within them."""
        return amount >= self.least and (not self.most or amount <= self.most)


@mutable
class _View:
    """One view of the page of a link, and what its form shows. ``key`` is empty before it
    begins."""

    sandbox: Sandbox
    link: PaymentLink
    key: str
    form: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    alert: str | None = None
    notice: str | None = None

    def begin(self) -> None:
        """Give it a key; two payers never have the same."""
        self.key = self.sandbox.ids.hex24("page_view")

    def address(self, **query: str) -> str:
        begun = {"view": self.key} if self.key else {}
        return self.sandbox.page(payment_links.page(self.link), **begun, **query)

    def charge(self, charge_id: str | None) -> Charge | None:
        """A charge that was made through this link."""
        found = self.sandbox.charges.get(charge_id or "")
        return (
            found
            if found is not None and found.payment_link_id == self.link.payment_link_id
            else None
        )

    def tries(self) -> tuple[Charge | None, str]:
        """The payment that this view has made, if one did not fail; and the key of its next try."""
        attempts, key, count = self.link.attempts, self.key, 1
        while key in attempts:
            charge = self.charge(attempts[key])
            if charge is not None and charge.status is not ChargeState.FAILED:
                return charge, key
            count += 1
            key = f"{self.key}.{count}"
        return None, key


def page(call: PageCall) -> Reply:
    """The form, a simulated way to pay, what became of a charge, or why no payment is taken."""
    view = _found(call, call.query.get("view", ""))
    charge = view.charge(call.query.get("chargeId"))
    if charge is not None and charge.status is not ChargeState.FAILED:
        stays = (
            charge.status is not ChargeState.PENDING_CHECKOUT
            and away_address(view.link, charge) is None
        )
        return _result(view, charge, used=False) if stays else redirect(_onward(view, charge))
    if charge is not None and not view.key:
        made_by = [key for key, made in view.link.attempts.items() if made == charge.charge_id]
        view.key = made_by[-1].partition(".")[0] if made_by else ""
    made, _ = view.tries()
    if made is not None:
        waits = made.status is ChargeState.PENDING_CHECKOUT
        return redirect(_onward(view, made)) if waits else _result(view, made, used=True)
    if not view.link.has_room:
        return html(200, "closed.html", link=view.link)
    if not view.key:
        view.begin()
        return redirect(
            view.sandbox.page(payment_links.page(view.link), **{**call.query, "view": view.key})
        )
    if charge is not None:
        view.alert = f"{failure_of(charge)} Nothing was taken."
    elif call.query.get("cancelled"):
        view.notice = "Cancelled. Nothing was paid."
    return _form(view, call.query.get("type"), 402 if charge is not None else 200)


def pay(call: PageCall) -> Reply:
    """Take the payment and send the payer on; a declined payer may try again at once."""
    form = call.form
    key = form.get("attempt", "")
    view = _found(call, key.partition(".")[0])
    if form.get("result") == "cancel":
        return redirect(view.address(cancelled="1"))
    link = view.link
    made, free = view.tries()
    if made is not None and key not in link.attempts:
        return redirect(_onward(view, made))
    body = _body(link, form, key if key == free or key in link.attempts else "")
    reply = carry_out(call, FORM_ROUTES["payment_link.pay"], body)
    view.link = link = view.sandbox.payment_links.get(link.payment_link_id) or link
    made, _ = view.tries()
    if made is not None:
        return redirect(_onward(view, made))
    if not link.has_room or reply.status == 409:
        return html(409, "closed.html", link=link)
    view.form = form
    declined = view.charge(link.attempts.get(key))
    if declined is None:
        return _refused(view, reply)
    view.alert = f"{failure_of(declined)} Nothing was taken."
    return _form(view, None, 402)


def _refused(view: _View, reply: Reply) -> Reply:
    """The form again, for a payment that was not even tried."""
    kind = view.form.get("paymentType") or LinkPaymentType.CARD.value
    errors = faults_of(reply.body) | _faults_of_form(view, kind)
    fields = _CARD_FIELDS if kind == LinkPaymentType.CARD.value else frozenset()
    if "Attempt" in errors:
        view.begin()
        view.alert = "This page is out of date. Please pay again."
    elif errors.keys() & (fields | {"Amount"} if view.link.amount is None else fields):
        view.errors = errors
    else:
        view.alert = refusal_of(reply.body)
    return _form(view, kind, reply.status or 503)


def _faults_of_form(view: _View, kind: str) -> dict[str, str]:
    """What is wrong with the form as it was typed: all of it, where the service names one kind of
    fault at a time."""
    faults = {}
    if view.link.amount is None:
        amount = amount_typed(view.form.get("amount", ""))
        faults = amount_faults(amount, _bounds(view))
    if kind == LinkPaymentType.CARD.value:
        faults |= card_faults(*_card(view.form).values())
    return faults


def _bounds(view: _View) -> Bounds:
    """Between which amounts a payer may choose (assumptions ``amount.minimum``,
    ``amount.maximum``)."""
    assumed, money = view.sandbox.assumed, currency(_currency(view))
    least = assumed["amount.minimum"]
    return Bounds(money, money.unit if least is None else least, assumed["amount.maximum"])


def _currency(view: _View) -> str:
    return view.link.currency or payment_links.usual_currency(unnoted(view.sandbox))


def _card(form: Mapping[str, str]) -> dict[str, str]:
    return {
        "cardNumber": number_typed(form.get("cardNumber", "")),
        "expiryDate": expiry_typed(form.get("expiryDate", "")),
        "ccv": number_typed(form.get("ccv", "")),
        "cardholder": form.get("cardholder", "").strip(),
    }


def _body(link: PaymentLink, form: Mapping[str, str], key: str) -> dict[str, object]:
    kind = form.get("paymentType") or LinkPaymentType.CARD.value
    metadata = dict(link.metadata or {})
    body: dict[str, object] = {"attempt": key, "paymentType": kind}
    if link.amount is None:
        body["amount"] = amount_typed(form.get("amount", "")) or None
    if kind == LinkPaymentType.CARD.value:
        body["paymentInformation"] = _card(form)
    elif form.get("result") == "decline":
        # The outcome that a test value asks for.
        metadata["mock"] = "do_not_honour"
    if metadata:
        body["metadata"] = metadata
    return body


def _onward(view: _View, charge: Charge) -> str:
    """Where a payer goes whose charge has begun: to the challenge, to the shop, or to what became
    of it."""
    if charge.status is ChargeState.PENDING_CHECKOUT:
        return view.sandbox.page(three_ds.page(charge))
    return away_address(view.link, charge) or view.address(chargeId=charge.charge_id)


def away_address(link: PaymentLink, charge: Charge) -> str | None:
    """Where the merchant wants the payer after the payment, the charge's id added."""
    address = web_address(link.redirect_url)
    return with_query(address, chargeId=charge.charge_id) if address is not None else None


def _result(view: _View, charge: Charge, *, used: bool) -> Reply:
    """What became of a charge; for a ``used`` view also the ways on from here."""
    link = view.link
    title, text = OUTCOMES[charge.status]
    return html(
        200,
        "paid.html",
        link=link,
        charge=charge,
        title=title,
        text=link.confirmation_message
        if charge.status in COMPLETE and link.confirmation_message
        else text,
        paid_with=paid_with(charge.instrument),
        away=away_address(link, charge) if used else None,
        again=replace(view, key="").address() if used and link.has_room else None,
    )


def _form(view: _View, way: str | None, status: int) -> Reply:
    """The card form with the other ways to pay, or the simulated one of them that was chosen."""
    link = view.link
    kind = next(
        (kind for kind in LinkPaymentType if kind.value == way and link.takes(kind)),
        LinkPaymentType.CARD,
    )
    _, key = view.tries()
    shown: dict[str, Any] = {
        "link": link,
        "currency": _currency(view),
        "action": view.address(),
        "key": key,
        # Number and ccv are never shown again.
        "form": {name: view.form.get(name, "") for name in ("amount", "cardholder", "expiryDate")},
        "errors": view.errors,
        "alert": view.alert,
        "notice": view.notice,
        "reaches": [web_address(link.redirect_url)],
    }
    if kind is LinkPaymentType.CARD:
        offered = [
            one for one in LinkPaymentType if one is not LinkPaymentType.CARD and link.takes(one)
        ]
        others = [(one.value, WAYS[one], view.address(type=one.value)) for one in offered]
        return html(
            status, "pay.html", **shown, card=link.takes(LinkPaymentType.CARD), others=others
        )
    declines = any(scenario.builtin for scenario in view.sandbox.config.scenarios)
    return html(
        status, "simulated.html", **shown, kind=kind.value, label=WAYS[kind], declines=declines
    )


def _found(call: PageCall, view: str) -> _View:
    link = (
        call.sandbox.payment_links.get(call.path["payment_link_id"])
        if call.sandbox is not None
        else None
    )
    if call.sandbox is None or link is None:
        raise NoSuchPage("No such payment link", "The address names no payment link. Check it.")
    return _View(call.sandbox, link, view if _VIEW.fullmatch(view) else "")


_TOKEN_OUTCOMES: Mapping[ChallengeAnswer | None, tuple[str, str]] = {
    ChallengeAnswer.PASS: ("Thank you", "You are verified. The shop can take the payment now."),
    ChallengeAnswer.FAIL: ("Not verified", "You were not verified. Nothing was paid."),
    ChallengeAnswer.CANCEL: ("Cancelled", "You cancelled. Nothing was paid."),
    None: ("Too late", "Your answer is not needed any more. Nothing was paid."),
}


def challenge(call: PageCall) -> Reply:
    """The challenge, or what became of it."""
    sandbox, challenged = _challenged(call)
    if isinstance(challenged, Charge):
        for observer in sandbox.observers:
            observer.challenge_opened(challenged.charge_id)
    return _shown(sandbox, challenged)


def answer(call: PageCall) -> Reply:
    """Take the payer's answer, and show how the challenge ended: of a charge, in the shop if it has
    said where."""
    _, before = _challenged(call)
    op = "charge.challenge" if isinstance(before, Charge) else "token.challenge"
    reply = carry_out(call, FORM_ROUTES[op], {"result": call.form.get("result", "")})
    sandbox, challenged = _challenged(call)
    if reply.fault is not None:
        return _shown(sandbox, challenged)
    if reply.status is None or reply.status >= 400:
        return _shown(sandbox, challenged, fault="Choose one of the three answers.")
    back = return_address(sandbox, challenged) if isinstance(challenged, Charge) else None
    return redirect(back or sandbox.page(three_ds.page(challenged)))


def return_address(sandbox: Sandbox, charge: Charge) -> str | None:
    """Where the shop wants its payer back, the charge's id and status added: its notification
    address, or the page of the payment link."""
    link = sandbox.payment_links.get(charge.payment_link_id or "")
    address = (
        payment_links.address(unnoted(sandbox), link)
        if link
        else web_address(charge.three_ds_notification_url)
    )
    if address is None:
        return None
    return with_query(
        address, chargeId=charge.charge_id, status=profile_of(sandbox.assumed).status[charge.status]
    )


def _challenged(call: PageCall) -> tuple[Sandbox, Charge | Token]:
    if (sandbox := call.sandbox) is not None:
        is_charge = "charge_id" in call.path
        found = (
            sandbox.charges.get(call.path["charge_id"])
            if is_charge
            else sandbox.tokens.get(call.path["token_id"])
        )
        if found is not None and found.challenged:
            return sandbox, found
    raise NoSuchPage("No payment waits here", "The address names no 3-D Secure challenge.")


def _shown(sandbox: Sandbox, challenged: Charge | Token, fault: str | None = None) -> Reply:
    shown = (
        _of_charge(sandbox, challenged) if isinstance(challenged, Charge) else _of_token(challenged)
    )
    return html(
        400 if fault else 200, "three_ds.html", scripts=not shown["waits"], fault=fault, **shown
    )


def _of_charge(sandbox: Sandbox, charge: Charge) -> dict[str, Any]:
    (title, text), link = (
        OUTCOMES[charge.status],
        sandbox.payment_links.get(charge.payment_link_id or ""),
    )
    back = return_address(sandbox, charge)
    return {
        "charge": charge,
        "card": paid_with(charge.instrument) if charge.instrument.card else None,
        "waits": charge.status is ChargeState.PENDING_CHECKOUT,
        "title": title,
        "text": text,
        "answer": _answer_of(charge),
        "status": profile_of(sandbox.assumed).status[charge.status],
        "reason": failure_of(charge) if charge.status is ChargeState.FAILED else None,
        "back": back,
        # The payer may be redirected to one and then to the other.
        "reaches": [back, web_address(link.redirect_url) if link else None],
    }


def _of_token(token: Token) -> dict[str, Any]:
    title, text = _TOKEN_OUTCOMES[token.answer]
    return {
        "charge": None,
        "card": paid_with(token.instrument),
        "waits": token.waits,
        "title": title,
        "text": text,
        "answer": token.answer or ChallengeAnswer.FAIL,
        "back": None,
    }


def _answer_of(charge: Charge) -> ChallengeAnswer:
    if charge.status is not ChargeState.FAILED:
        return ChallengeAnswer.PASS
    code = charge.failed_attempts[-1].error_code if charge.failed_attempts else None
    return ChallengeAnswer.CANCEL if code == Code.CUSTOMER_CANCELLATION else ChallengeAnswer.FAIL


WAYS: Mapping[LinkPaymentType, str] = {
    LinkPaymentType.CARD: "Card",
    LinkPaymentType.PAYPAL: "PayPal",
    LinkPaymentType.APPLEPAY: "Apple Pay",
    LinkPaymentType.GOOGLEPAY: "Google Pay",
    LinkPaymentType.UPI: "UPI",
    LinkPaymentType.PAYTO: "PayTo",
    LinkPaymentType.PAYID: "PayID",
    LinkPaymentType.SHIFT: "Shift",
    LinkPaymentType.PESAPAL: "Pesapal",
    LinkPaymentType.PAYBYACCOUNT: "Pay by account",
    LinkPaymentType.PAYGLOCAL: "PayGlocal",
    LinkPaymentType.ZIP: "Zip",
}
"""Ways to pay on the page of a link."""

OUTCOMES: Mapping[ChargeState, tuple[str, str]] = {
    ChargeState.PENDING_CHECKOUT: ("Waiting", "The payment waits for your answer."),
    ChargeState.PENDING: (
        "Payment under way",
        "It is not complete yet: the bank still has to confirm it.",
    ),
    ChargeState.AUTHORISED: ("Thank you", "Your payment is authorised."),
    ChargeState.SUCCESS: ("Thank you", "Your payment was received."),
    ChargeState.PARTIAL_REFUND: (
        "Thank you",
        "Your payment was received and later refunded in part.",
    ),
    ChargeState.REFUND: ("Refunded", "Your payment was received and later refunded."),
    ChargeState.AUTHORISE_CANCELLED: (
        "Cancelled",
        "The authorisation was cancelled. Nothing was paid.",
    ),
    ChargeState.FAILED: ("Not paid", "Nothing was paid."),
}
"""Heading and sentence for what became of a payment."""

COMPLETE = frozenset({ChargeState.AUTHORISED, ChargeState.SUCCESS})
"""States in which the merchant's own confirmation is true."""

DECLINED = "Your bank has declined this payment. Try another card."
NOT_TAKEN = (
    "The payment could not be made. Nothing was taken; ask the shop, or try another way to pay."
)
UNAVAILABLE = "The payment could not be made just now. Try again in a moment."
_DECLINES: Mapping[int, str] = {
    Code.INSUFFICIENT_FUNDS: "There is not enough money on this account. Try another card.",
    Code.EXPIRED_CARD: "This card has expired. Try another card.",
    Code.INVALID_CCV: "The security code is not that of the card. Check it and try again.",
    Code.THREE_D_SECURE_FAILED: "Your bank could not confirm that it is you. Try again, or try "
    "another card.",
    Code.CUSTOMER_CANCELLATION: "The payment was cancelled.",
    Code.EXCEEDS_WITHDRAWAL_FREQUENCY_LIMIT: DECLINED,
}
"""What a payer may know of a decline: not that a card is reported stolen, nor that a payment looks
like fraud."""

_REFUSED = {"CardNumber": "This card is not taken here.", "ExpiryDate": "This card has expired."}
"""Why a field is refused that is well typed: only the service knows its cards and the day."""

CHECK = "This is not taken. Please check it."
MISSING = "Please fill this in."
_DATE = re.compile(r"(\d{1,2})[^\d]?(\d{2}|20\d{2})")
_COMMA_FOR_POINT = re.compile(r"(\d+),(\d{1,2})")
_GROUPED = re.compile(r"\d{1,3}(,\d{3})+(\.\d+)?")
_PLAIN = re.compile(r"\d+(\.\d*)?|\.\d+")


def plain(text: str) -> str:
    """A text in the usual form of its characters, without blanks and invisible ones at its ends and
    in its digits."""
    usual = unicodedata.normalize("NFKC", text).strip()
    if re.search(r"[^\W\d]", usual):
        return usual
    # Blanks, line ends, joiners and marks of direction say nothing.
    return "".join(
        one
        for one in usual
        if not (one.isspace() or unicodedata.category(one) in ("Cf", "Cc", "Zs"))
    )


def number_typed(text: str) -> str:
    """A card number or security code: its digits, without dashes of any kind."""
    return "".join(one for one in plain(text) if unicodedata.category(one) != "Pd")


def expiry_typed(text: str) -> str:
    """``MM/YY`` for a date that was typed without a slash or with another mark, else the text as it
    is."""
    found = _DATE.fullmatch(plain(text))
    return (
        f"{int(found[1]):02d}/{found[2][-2:]}"
        if found and 1 <= int(found[1]) <= 12
        else plain(text)
    )


def amount_typed(text: str) -> str:
    """An amount with a point, for one with a decimal comma or with commas between thousands; else
    the text."""
    amount = plain(text)
    if _GROUPED.fullmatch(amount) and ("." in amount or amount.count(",") > 1):
        return amount.replace(",", "")
    found = _COMMA_FOR_POINT.fullmatch(amount)
    return f"{found[1]}.{found[2]}" if found else amount


def card_faults(number: str, expiry: str, ccv: str, cardholder: str) -> dict[str, str]:
    """What is wrong with the fields of a card, all at once; whether a date has passed, the service
    knows."""
    digits = clean(number) or ""
    brand = brand_of(digits) if digits else None
    shortest, longest = CCV_LENGTHS[brand]
    is_number = MIN_LENGTH <= len(digits) <= MAX_LENGTH and passes_luhn(digits)
    is_ccv = re.fullmatch(rf"[0-9]{{{shortest},{longest}}}", ccv)
    ccv_is = "4 digits on the front of" if brand is Brand.AMEX else "3 or 4 digits on"
    fields = (
        ("CardNumber", number, is_number, "This is not a card number."),
        ("ExpiryDate", expiry, read_expiry(expiry), "Please write the expiry date as MM/YY."),
        ("Ccv", ccv, is_ccv, f"Please write the {ccv_is} the card."),
        ("Cardholder", cardholder, True, ""),
    )
    return {
        name: words if typed else MISSING
        for name, typed, is_sound, words in fields
        if not (typed and is_sound)
    }


def amount_faults(amount: str, bounds: Bounds) -> dict[str, str]:
    """What is wrong with the amount that a payer has chosen."""
    money, words = bounds.currency, ""
    if not amount:
        words = MISSING
    elif not _PLAIN.fullmatch(amount):
        words = "Please write an amount in plain digits, such as 12.50."
    elif len(amount.partition(".")[0]) > MAX_INTEGER_DIGITS:
        words = "This amount is too large."
    elif places(Decimal(amount)) > money.digits:
        words = f"{money.code} has {money.digits or 'no'} digits after the point."
    elif not bounds.has(Decimal(amount)):
        words = f"Please pay {bounds.words}."
    return {"Amount": words} if words else {}


def paid_with(instrument: Instrument) -> str:
    """``VISA •••• 1111``, ``Pay by account``: how a payment was made."""
    card = instrument.card
    if card is not None:
        brand = card.number.brand
        return f"{'Card' if brand is Brand.UNKNOWN else brand.value} •••• {card.number.last4}"
    shown = instrument.display_type or instrument.type.value.replace("_", " ").capitalize()
    return next((name for kind, name in WAYS.items() if kind.value == shown.lower()), shown)


def failure_of(charge: Charge) -> str:
    """Why a payment failed, and what the payer can do; the journal has code and message."""
    if charge.authorised is not None:
        return "Your bank has returned the payment."
    if not charge.failed_attempts:
        return "The payment was not made."
    attempt = charge.failed_attempts[-1]
    return _DECLINES.get(attempt.error_code) or (UNAVAILABLE if attempt.is_retryable else DECLINED)


def refusal_of(body: Any) -> str:
    """An alert for a payment that was not even tried; ``body`` is the error's, or None."""
    code = body.get("code") if isinstance(body, dict) else None
    return _DECLINES.get(code or 0) or (
        UNAVAILABLE if code is None or body.get("isRetryable") else NOT_TAKEN
    )


def faults_of(body: Any) -> dict[str, str]:
    """The fields that the service refuses, each with what a payer may hear of it, by the last part
    of their names: what it says itself is for those who write programs. ``body`` is the error's.
    What the form shows by itself (``_faults_of_form``) is told better there."""
    if not isinstance(body, dict):
        return {}
    refused = list(body.get("details") or ())
    if body.get("code") == Code.INVALID_CARD_NUMBER and not refused:
        refused = ["CardNumber"]
    names = (name.rpartition(".")[2] for name in refused)
    return {name: _REFUSED.get(name, CHECK) for name in names}
