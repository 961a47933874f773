"""What the operations of the payments API do: from a typed call to the engine and back to the wire.

A row of ``routes.csv`` names as its endpoint a function of the engine, such as ``vault.create``, a list, such as
``searches.CHARGES``, or without a point a function of this module. What comes of it is shown as the reply of the row.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import cache, partial
from pkgutil import resolve_name
from typing import Any
from urllib.parse import urlsplit

from mockserver.assumptions import ROWS
from mockserver.domain.batch import LINES, lines_of, parts_of, results_text
from mockserver.domain.charge import Charge
from mockserver.domain.clock import iso, parse_instant
from mockserver.domain.customer import Customer
from mockserver.domain.errors import Invalid, invalid
from mockserver.domain.payment_link import PaymentLink
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.provider import Capability, Provider
from mockserver.domain.states import CcvState, ChargeState
from mockserver.domain.token import Token
from mockserver.domain.vault import VaultItem
from mockserver.domain.webhook_subscription import WebhookSubscription
from mockserver.engine import (
    batches,
    charges,
    customers,
    payment_links,
    payment_methods,
    providers,
    searches,
    three_ds,
    tokens,
    transfers,
    webhook_subscriptions,
)
from mockserver.engine.indexed_table import STEP_ROWS, Query
from mockserver.engine.searches import Search
from mockserver.engine.step import Step
from mockserver.web.request import Reply
from mockserver.web.routes import OperationCall
from mockserver.web.runner import for_each, in_steps, look_ahead
from mockserver.wire import resources
from mockserver.wire.body_tables import body_type
from mockserver.wire.fields import Fields
from mockserver.wire.jsonio import dumps
from mockserver.wire.refusals import declined
from mockserver.wire.replies import Members, reply_of, reply_type

LARGEST = 10_000_000
"""Bytes that the rows of one page may have."""

_LISTED, _EACH = "searches.", "list of "


@cache
def endpoint_of(name: str, reply: str, query: str) -> Callable[[OperationCall], object]:
    """What serves a row with that endpoint, reply and query. Raises ``AttributeError`` for an unknown name."""
    is_own = "." not in name
    found: Any = resolve_name(f"{__name__}:{name}" if is_own else f"mockserver.engine.{name.replace('.', ':')}")
    if is_own:
        own: Callable[[OperationCall], object] = found
        return own
    return ListOf(found, reply, query) if name.startswith(_LISTED) else partial(_use, found, reply)


def shown(call: OperationCall, reply: str, made: Any) -> object:
    """What the engine has made as the reply of a name, or a list of such, in the voice of the sandbox."""
    if reply.startswith(_EACH):
        return [shown(call, reply.removeprefix(_EACH), each) for each in made]
    show = _SHOWN.get(reply)
    return reply_of(reply, made) if show is None else show(call, made)


def _use(act: Callable[..., Any], reply: str, call: OperationCall) -> object:
    """Use a function of the engine, which is given what the path names and the command of the body, if there is one."""
    given = () if call.body is None else (call.body.command(),)
    return shown(call, reply, act(call.step, *call.path.values(), *given))


class ListOf:
    """The endpoint of a list: the page that the parameters of the type named ``query`` ask for, its rows as the
    ``reply`` says. Raises ``Invalid`` (90) for a page of over ``LARGEST`` bytes."""

    def __init__(self, wanted: Search[Any], reply: str, query: str) -> None:
        self._wanted = wanted
        self._query = query
        self._fields = reply_type(reply).fields
        [self._row] = (held.removeprefix(_EACH) for held in self._fields.values() if held.startswith(_EACH))

    def __call__(self, call: OperationCall) -> bytes:
        page = searches.search(call.step, self._wanted, vars(call.query))
        texts, size, show = list[bytes](), 0, _SHOWN.get(self._row)
        for row in page.rows:
            made = reply_of(self._row, row) if show is None else show(call, row)
            texts.append(made if isinstance(made, bytes) else dumps(made))
            size += len(texts[-1])
            if size > LARGEST:
                words = f"got rows of over {LARGEST} bytes on one page, wanted a limit below {len(texts)}"
                raise invalid({"Limit": words})
        members = {name: [] if held.startswith(_EACH) else getattr(page, name) for name, held in self._fields.items()}
        # All others are numbers.
        begin, closing, end = dumps(members).partition(b"]")
        return b"".join((begin, b",".join(texts), closing, end))

    def ahead(self, step: Step) -> Awaitable[object] | None:
        """Look at the rows of a long list before the step that shows it; None where there is little to look at, or the
        parameters are faulty."""
        asked, table = step.asked.request, self._wanted.table(step.sandbox)
        if len(table) <= STEP_ROWS or not isinstance(asked, Fields):
            return None
        try:
            # The step itself will note what it rests on.
            given = vars(asked.typed(body_type(self._query)))
            return look_ahead(table, searches.query_of(Step(step.sandbox, step.asked), self._wanted, given))
        except Invalid:
            return None


def create_charge(call: OperationCall) -> bytes | Reply:
    """Any creation of a charge whose body names its own source."""
    return _begun(call, charges.create(call.step, call.body.command()))


def charge_wallet(call: OperationCall) -> bytes | Reply:
    """Charge the token of a wallet, through the provider that the query, the header or the body names."""
    return _begun(call, charges.create(call.step, call.body.command(named=call.provider)))


def pay_link(call: OperationCall) -> bytes | Reply:
    """Pay on the page of a link."""
    link = payment_links.get(call.step, call.path["payment_link_id"])
    return _begun(call, payment_links.pay(call.step, link.payment_link_id, call.body.command()))


def _begun(call: OperationCall, charge: Charge) -> bytes | Reply:
    """What is shown of a charge that was just begun (assumption ``charge.declined_reply``)."""
    if charge.status is ChargeState.FAILED and call.step.assume("charge.declined_reply") == "error":
        return Reply(*declined(charge, call.resource))
    return _charge_text(call, charge)


def refund(call: OperationCall) -> bytes:
    """Give money back."""
    return _charge(call, charges.refund(call.step, call.path["charge_id"], call.query.amount, call.query.comment))


def refund_or_void(call: OperationCall) -> bytes:
    """``DELETE /charge/<id>``: void an authorised charge when no amount and no comment are given, else refund."""
    meaning, charge_id = call.step.assume("charge.on_delete_path"), call.path["charge_id"]
    if meaning == "refund_or_void":
        bare = call.query.amount is None and call.query.comment is None
        is_open = charges.get(call.step, charge_id).status is ChargeState.AUTHORISED
        meaning = "void" if bare and is_open else "refund"
    return _charge(call, charges.void(call.step, charge_id)) if meaning == "void" else refund(call)


def update_customer(call: OperationCall) -> Members:
    """Change a customer."""
    details, default = call.body.command(), call.body.default_payment_method_id
    return _customer(call, customers.update(call.step, call.path["customer_id"], details, default))


def delete_customer(call: OperationCall) -> Members:
    """Remove a customer."""
    asks = call.query.gateway_delete is not False
    return _customer(call, customers.delete(call.step, call.path["customer_id"], ask_provider=asks))


def delete_payment_method(call: OperationCall) -> Members:
    """Remove a payment method."""
    asks = call.query.gateway_delete is not False
    return _method(call, payment_methods.delete(call.step, call.path["payment_method_id"], ask_provider=asks))


def create_token(call: OperationCall) -> Members:
    """Make a token from a card for a provider."""
    return _token(call, tokens.create_from_card(call.step, call.body.command(provider_id=call.provider or "")))


def create_batch(call: OperationCall) -> Members:
    """Submit a batch."""
    return reply_of("BatchStatusReply", batches.create(call.step, call.body.command(), call.ready))


def read_batch_ahead(step: Step) -> Awaitable[object] | None:
    """Reads the transactions of a batch that is being submitted."""
    text = step.asked.request.get("batch")
    return in_steps(batches.reading(step, text)) if isinstance(text, str) else None


def write_results_ahead(step: Step) -> Awaitable[object] | None:
    """Writes the results of a long batch."""
    batch = step.sandbox.batches.get(step.asked.path["batch_id"])
    if batch is None or len(batch.rows) <= LINES:
        return None
    return for_each(parts_of(batch), lambda rows: lines_of(rows, batch.status))


def settlements(call: OperationCall) -> list[Members]:
    """List settlements: a bare list."""
    rows = transfers.settlements(call.sandbox, call.query.start_date, call.query.end_date)
    return [reply_of("SettlementReply", row) for row in rows]


def settle_ahead(step: Step) -> Awaitable[object] | None:
    """Finds out on which days charges moved money: nothing but this list asks for it."""
    return look_ahead(step.sandbox.charges, Query(1, equal=[("money_day", ())]))


def create_webhook_subscription(call: OperationCall) -> Members:
    """Subscribe to webhooks."""
    body = call.body
    return _subscription(call, webhook_subscriptions.create(call.step, body.url, body.authorization, body.types))


def reference_data(call: OperationCall) -> Members:
    """Countries, currencies and time zones."""
    return resources.info_reply()


_PLAIN_KINDS = ("Bnpl", "ThreeDs", "GooglePay", "NetworkToken")


def offered(call: OperationCall) -> Members:
    """Which ways to pay are offered for an amount and a currency."""
    query, sandbox = call.query, call.sandbox
    offer = providers.offer(call.step, query.amount, query.currency, query.card_provider_id)
    three_ds = providers.known(sandbox, offer.card_provider.three_ds_provider_id) if offer.card_provider else None
    able, host = offer.able, urlsplit(sandbox.config.public_url).hostname or ""
    pay_to, wallets = able[Capability.PAYTO], able[Capability.WALLET]
    by_kind = {"Card": able[Capability.CARD], "Paypal": offer.paypal, "PayTo": pay_to, "Bnpl": offer.pay_later}
    by_kind |= {"ThreeDs": able[Capability.THREE_DS], "GooglePay": wallets, "ApplePay": wallets}
    by_kind["NetworkToken"] = able[Capability.NETWORK_TOKEN]
    shown = {kind: [reply_of(f"{kind}Provider", one) for one in by_kind[kind]] for kind in _PLAIN_KINDS}
    return reply_of(
        "InfoProvidersReply",
        offer,
        **{f"has{kind}Providers": bool(found) for kind, found in by_kind.items()},
        paypalProviders=[provider.provider_id for provider in offer.paypal],
        required3dsProvider=three_ds.provider_id if three_ds else None,
        payToProviders=[provider.provider_id for provider in pay_to],
        payToProvidersWithOptions=[reply_of("PayToOption", provider) for provider in pay_to],
        bnplProviders=shown["Bnpl"],
        threeDsProviders=shown["ThreeDs"],
        allThreeDsProviders=shown["ThreeDs"],
        googlePayProviders=shown["GooglePay"],
        applePayProviders=[
            reply_of("ApplePayProvider", one, merchantIdentifier=f"merchant.{one.provider_id}", domainName=host)
            for one in wallets
        ],
        networkTokenProviders=shown["NetworkToken"],
    )


def info_of_provider(call: OperationCall) -> Members:
    """What a browser needs to know of one provider."""
    return _provider_info(call, providers.get(call.sandbox, call.path["provider_id"]))


def info_of_token(call: OperationCall) -> Members:
    """What a browser needs to know of a token's provider."""
    token = tokens.get(call.step, call.path["token"])
    return _provider_info(call, providers.get(call.sandbox, token.provider.provider_id))


def default_fallback(call: OperationCall) -> Members:
    """The provider that takes over where none is configured to."""
    return _provider(call, providers.default_fallback(call.sandbox))


def version(call: OperationCall) -> Members:
    """The release of the service; text after the first ``-`` of a key names the region."""
    _, _, suffix = call.sandbox.key.partition("-")
    is_region = suffix in ROWS["version.region"].kind.allowed.split(" | ")
    released = iso(parse_instant(call.step.assume("version.released")))
    region = suffix if is_region else call.step.assume("version.region")
    return {"version": call.step.assume("version.number"), "released": released, "region": region}


def _charge_text(call: OperationCall, charge: Charge) -> bytes:
    """A charge in the voice of the sandbox, with where its payer is challenged."""
    sandbox = call.step.sandbox
    address = three_ds.address(sandbox, charge) if charge.challenged else None
    return resources.charge_text(charge, call.profile, sandbox.config.seed, address)


def _charge(call: OperationCall, charge: Charge) -> bytes:
    """The same text until the charge changes."""
    table = call.step.sandbox.charges
    kept = table.derived(charge)
    if kept is not None and kept[0] is call.profile:
        known: bytes = kept[1]
        return known
    text = _charge_text(call, charge)
    table.derive(charge, (call.profile, text))
    return text


def _customer(call: OperationCall, customer: Customer) -> Members:
    return resources.customer_reply(customer, customers.default_method(call.sandbox, customer), call.profile)


def _method(call: OperationCall, method: PaymentMethod) -> Members:
    agreement = call.sandbox.payto.get(method.payto_id) if method.payto_id else None
    token = call.sandbox.network_tokens.get(method.network_token_id) if method.network_token_id else None
    return resources.payment_method_reply(method, call.profile, agreement, token)


def _token(call: OperationCall, token: Token) -> Members:
    sandbox = call.sandbox
    agreement, address = sandbox.payto.get(token.payto_id or ""), three_ds.address(sandbox, token)
    return reply_of(
        "TokenReply",
        token,
        accountId=sandbox.account_id,
        payToStatus=agreement.status if agreement else None,
        card=resources.card_reply(token.instrument.card, call.profile),
        **({} if address is None else {"threeDsRedirectUrl": address}),
    )


def _link(call: OperationCall, link: PaymentLink) -> Members:
    return reply_of(
        "PaymentLinkReply",
        link,
        url=payment_links.address(call.step, link),
        accountId=call.sandbox.account_id,
        publicKey=call.sandbox.public_key,
        allowedPaymentTypes=link.allowed_types or None,
    )


def _provider(call: OperationCall, provider: Provider) -> Members:
    fallback = call.sandbox.providers.get(provider.fallback_provider_id or "")
    return reply_of(
        "ProviderReply",
        provider,
        hasPartialRefund=Capability.PARTIAL_REFUND in provider.capabilities,
        hasThreeDsCapability=Capability.THREE_DS in provider.capabilities,
        fallbackProvider=fallback and reply_of("FallbackProviderReply", fallback),
    )


def _provider_info(call: OperationCall, provider: Provider) -> Members:
    """A provider, and who challenges its payers."""
    three_ds = providers.known(call.sandbox, provider.three_ds_provider_id)
    return reply_of(
        "InfoProviderReply",
        provider,
        threeDsProviderId=three_ds.provider_id if three_ds else None,
        threeDsProviderType=three_ds.summary.type if three_ds else None,
        googlePay=reply_of("GooglePay", provider) if Capability.WALLET in provider.capabilities else None,
    )


def _vault_item(call: OperationCall, item: VaultItem, reply: str = "VaultReply", **secrets: str | None) -> Members:
    has_ccv = item.ccv_state is CcvState.HELD
    return reply_of(reply, item, maskedCardNumber=call.profile.masked(item.facts), hasCvv=has_ccv, **secrets)


def _vault_secrets(call: OperationCall, item: VaultItem) -> Members:
    """A vault item with number and, while it is held, ccv."""
    number, ccv = (item.number, item.ccv) if call.profile.shows_secrets else (None, None)
    return _vault_item(call, item, "VaultSecretsReply", cardNumber=number, ccv=ccv)


def _subscription(call: OperationCall, row: WebhookSubscription) -> Members:
    return reply_of("WebhookSubscriptionReply", row, accountId=call.sandbox.account_id)


_SHOWN: Mapping[str, Callable[[OperationCall, Any], object]] = {
    "ChargeReply": _charge,
    "CustomerReply": _customer,
    "PaymentMethodReply": _method,
    "TokenReply": _token,
    "PaymentLinkReply": _link,
    "ProviderReply": _provider,
    "BatchReply": lambda call, batch: reply_of("BatchReply", batch, results=results_text(batch, call.ready)),
    "VaultReply": _vault_item,
    "VaultSecretsReply": _vault_secrets,
    "WebhookSubscriptionReply": _subscription,
}
"""How replies are made that are more than their object; all others are written as their table says."""
