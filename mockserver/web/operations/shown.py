"""How the objects of the engine are shown, in the voice of the sandbox: one function for each that
is more than its own fields. What is shown as it is goes through ``reply_of``, by the name of its
reply."""

from collections.abc import Mapping

from mockserver.domain.batch import Batch, results_text
from mockserver.domain.charge import Charge
from mockserver.domain.customer import Customer
from mockserver.domain.payment_link import PaymentLink
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.provider import Capability, Provider
from mockserver.domain.states import CcvState, ChargeState
from mockserver.domain.token import Token
from mockserver.domain.vault import VaultItem
from mockserver.domain.webhook_subscription import WebhookSubscription
from mockserver.engine import customers, payment_links, providers, three_ds
from mockserver.web.operations.route import OperationCall
from mockserver.web.request import Reply
from mockserver.wire import resources
from mockserver.wire.profile import WireProfile
from mockserver.wire.refusals import declined
from mockserver.wire.replies import Members, reply_of

Call = OperationCall[object, object]
"""A call of any operation: what shows an object needs neither body nor query."""


def begun_charge(call: Call, made: Charge) -> bytes | Reply:
    """A charge that was just begun; one that failed is answered as a charge or as an error
    (assumption ``charge.declined_reply``). Asked for later, it is a charge in either case."""
    if made.status is ChargeState.FAILED and call.step.assume("charge.declined_reply") == "error":
        return Reply(*declined(made, call.resource))
    return _charge_text(call, made)


def charge(call: Call, row: Charge) -> bytes:
    """A charge. It is the same text until the charge changes, and the table keeps it with the row:
    who polls for a status asks again and again. Another profile writes another text."""
    table = call.step.sandbox.charges
    kept: tuple[WireProfile, bytes] | None = table.derived(row)
    if kept is not None:
        profile, text = kept
        if profile is call.profile:
            return text
    text = _charge_text(call, row)
    table.derive(row, (call.profile, text))
    return text


def _charge_text(call: Call, row: Charge) -> bytes:
    """A charge, with where its payer is challenged."""
    sandbox = call.step.sandbox
    address = three_ds.address(sandbox, row) if row.challenged else None
    return resources.charge_text(row, call.profile, sandbox.config.seed, address)


def customer(call: Call, row: Customer) -> Members:
    """A customer with the default payment method."""
    return resources.customer_reply(row, customers.default_method(call.sandbox, row), call.profile)


def payment_method(call: Call, row: PaymentMethod) -> Members:
    """A payment method with its PayTo agreement or network token."""
    agreement = call.sandbox.payto.get(row.payto_id) if row.payto_id else None
    token = call.sandbox.network_tokens.get(row.network_token_id) if row.network_token_id else None
    return resources.payment_method_reply(row, call.profile, agreement, token)


def token(call: Call, row: Token) -> Members:
    """A payment token, with where its payer is challenged."""
    sandbox = call.sandbox
    agreement = sandbox.payto.get(row.payto_id or "")
    address = three_ds.address(sandbox, row)
    challenge: Mapping[str, str] = {} if address is None else {"threeDsRedirectUrl": address}
    return reply_of(
        "TokenReply",
        row,
        accountId=sandbox.account_id,
        payToStatus=agreement.status if agreement else None,
        card=resources.card_reply(row.instrument.card, call.profile),
        **challenge,
    )


def payment_link(call: Call, row: PaymentLink) -> Members:
    """A payment link with the address of its page."""
    return reply_of(
        "PaymentLinkReply",
        row,
        url=payment_links.address(call.step, row),
        accountId=call.sandbox.account_id,
        publicKey=call.sandbox.public_key,
        allowedPaymentTypes=row.allowed_types or None,
    )


def provider(call: Call, row: Provider) -> Members:
    """A provider with the one that takes over from it."""
    fallback = call.sandbox.providers.get(row.fallback_provider_id or "")
    return reply_of(
        "ProviderReply",
        row,
        hasPartialRefund=Capability.PARTIAL_REFUND in row.capabilities,
        hasThreeDsCapability=Capability.THREE_DS in row.capabilities,
        fallbackProvider=fallback and reply_of("FallbackProviderReply", fallback),
    )


def provider_info(call: Call, row: Provider) -> Members:
    """What a browser needs to know of a provider, and who challenges its payers."""
    challenger = providers.known(call.sandbox, row.three_ds_provider_id)
    return reply_of(
        "InfoProviderReply",
        row,
        threeDsProviderId=challenger.provider_id if challenger else None,
        threeDsProviderType=challenger.summary.type if challenger else None,
        googlePay=reply_of("GooglePay", row) if Capability.WALLET in row.capabilities else None,
    )


def batch_with_results(call: Call, row: Batch) -> Members:
    """A batch with the results of its transactions."""
    return reply_of("BatchReply", row, results=results_text(row, call.ready))


def vault_item(call: Call, row: VaultItem) -> Members:
    """A vault item, its number masked."""
    return reply_of("VaultReply", row, **_vault_facts(call, row))


def vault_secrets(call: Call, row: VaultItem) -> Members:
    """A vault item with number and, while it is held, ccv."""
    number = ccv = None
    if call.profile.shows_secrets:
        number, ccv = row.number, row.ccv
    return reply_of("VaultSecretsReply", row, **_vault_facts(call, row), cardNumber=number, ccv=ccv)


def _vault_facts(call: Call, row: VaultItem) -> Members:
    """What both answers say of the card."""
    return {
        "maskedCardNumber": call.profile.masked(row.facts),
        "hasCvv": row.ccv_state is CcvState.HELD,
    }


def webhook_subscription(call: Call, row: WebhookSubscription) -> Members:
    """A receiver of webhooks."""
    return reply_of("WebhookSubscriptionReply", row, accountId=call.sandbox.account_id)
