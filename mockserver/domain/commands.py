"""What callers ask for, in the imperative. ``wire`` builds commands, ``engine`` carries them out.

Many routes lead to one command: a charge by card, token, customer, payment method, wallet or
checkout is a ``NewCharge`` with another ``source``, and a batch row, a renewal and a link's payment
are ``NewCharge`` too. So the engine knows what is wanted, and not which of the routes wanted it.

A field that a stored object has as well has the same name here, and is carried over by that name
(``record.made_of``, ``record.updated``). In commands that change something, None leaves a field as
it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from decimal import Decimal

from mockserver.domain.charge import Payer, WebhookTarget
from mockserver.domain.clock import Instant
from mockserver.domain.customer import CustomerDetails
from mockserver.domain.payment_link import CallToAction, LinkPaymentType
from mockserver.domain.payto import PayIdDetails
from mockserver.domain.record import record
from mockserver.domain.sources import BankAccount, CardDetails, ChargeSource
from mockserver.domain.subscription import EndAfter, Interval, Retry
from mockserver.domain.vault import NEVER, Expiry


@record
class NewCharge:
    """Take a payment, or authorise one (``capture`` False). The amount is exact, the currency any
    case or None."""

    source: ChargeSource
    amount: Decimal
    currency: str | None = None
    reference: str | None = None
    capture: bool = True
    payer: Payer | None = None
    email: str | None = None
    ip: str | None = None
    initiator: str | None = None
    webhook: WebhookTarget | None = None
    metadata: Mapping[str, str] | None = None
    descriptor: str | None = None
    three_ds_notification_url: str | None = None
    batch_id: str | None = None
    subscription_id: str | None = None
    payment_link_id: str | None = None


@record
class NewVaultItem:
    """Vault a card number on its own."""

    number: str = field(repr=False)
    ccv: str | None = field(repr=False, default=None)
    expiry: Expiry = NEVER


@record
class NewPaymentLink:
    """Make a page that takes payments; every part of it can be left out."""

    title: str | None = None
    amount: Decimal | None = None
    currency: str | None = None
    allowed_types: Sequence[str] | None = None
    description: str | None = None
    image: str | None = None
    confirmation_message: str | None = None
    redirect_url: str | None = None
    call_to_action: CallToAction | None = None
    limit: int | None = None
    invoice_id: str | None = None
    metadata: Mapping[str, str] | None = None


@record
class LinkPayment:
    """One payment on a link's page. ``amount`` counts only where the link leaves it to the payer.

    ``attempt_key`` belongs to one view of the page: sent twice, it shows the same charge.
    """

    source: ChargeSource
    attempt_key: str
    payment_type: LinkPaymentType = LinkPaymentType.CARD
    amount: Decimal | None = None


@record
class NewSubscription:
    """Charge a payment method every ``frequency`` intervals, from ``start`` (None: now) on."""

    payment_method_id: str
    amount: Decimal
    interval: Interval
    frequency: int = 1
    currency: str | None = None
    start: Instant | None = None
    end_after: EndAfter | None = None
    retry: Retry | None = None
    webhook: WebhookTarget | None = None
    metadata: Mapping[str, str] | None = None


@record
class ChangeSubscription:
    """Change a subscription: end, retries and webhook are replaced; for other fields None keeps the
    value."""

    amount: Decimal | None = None
    currency: str | None = None
    interval: Interval | None = None
    frequency: int | None = None
    end_after: EndAfter | None = None
    retry: Retry | None = None
    webhook: WebhookTarget | None = None
    metadata: Mapping[str, str] | None = None


@record
class NewBatch:
    """Submit a batch; ``text`` is CSV and must hold ``count`` transactions."""

    count: int
    description: str
    text: str = field(repr=False)
    webhook: WebhookTarget | None = None
    metadata: Mapping[str, str] | None = None


@record
class NewTransfer:
    """One transfer of a group."""

    account: str
    amount: Decimal
    currency: str | None = None
    message: str | None = None
    reference: str | None = None


@record
class NewTransferGroup:
    """Move money of a provider, or of one charge, to other accounts."""

    provider_id: str
    transfers: Sequence[NewTransfer] = ()
    group_reference: str | None = None
    charge_id: str | None = None


@record
class MethodTerms:
    """What every way to store a payment method has in common. ``payer`` is who a request without
    customer names."""

    payer: Payer | None = None
    email: str | None = None
    ip: str | None = None
    set_default: bool = False
    metadata: Mapping[str, str] | None = None
    fallback_payment_method_id: str | None = None
    webhook: WebhookTarget | None = None


@record
class NewCardMethod:
    """Store a card with a provider as a payment method, and in the vault (``vault_card``) until its
    ``expiry``."""

    details: CardDetails
    provider_id: str
    terms: MethodTerms
    vault_card: bool = False
    expiry: Expiry = NEVER
    skip_expiry_check: bool = False
    create_network_token: bool = False


@record
class NewTokenMethod:
    """Store what a payment token stands for; uses the token up."""

    token: str
    terms: MethodTerms


@record
class NewProviderTokenMethod:
    """Store a payment method that the provider already knows by a token of its own, which lasts, or
    is exchanged for one that does."""

    provider_id: str
    token: str
    lasts: bool
    terms: MethodTerms
    data: Mapping[str, str] | None = None


@record
class NewBankMethod:
    """Store a bank account with a provider as a payment method."""

    account: BankAccount
    provider_id: str
    terms: MethodTerms


@record
class NewPayToMethod:
    """Ask a payer for a PayTo agreement. ``maximum_amount`` is in whole units of the currency."""

    payer_name: str
    description: str
    maximum_amount: int
    provider_id: str
    terms: MethodTerms
    pay_id: PayIdDetails | None = None


@record
class SwitchProvider:
    """Store the vaulted card of a payment method with another provider."""

    provider_id: str
    payment_method_id: str
    terms: MethodTerms
    ccv: str | None = field(repr=False, default=None)


NewMethod = (
    NewCardMethod
    | NewTokenMethod
    | NewProviderTokenMethod
    | NewBankMethod
    | NewPayToMethod
    | SwitchProvider
)


@record
class CardChanges:
    """New data of a stored card; None leaves a field as it is."""

    number: str | None = field(repr=False, default=None)
    expiry: str | None = None
    cardholder: str | None = None
    metadata: Mapping[str, str] | None = None


@record
class NewCustomer:
    """Create a customer with a first payment method, which becomes the default."""

    details: CustomerDetails
    method: NewMethod
    metadata: Mapping[str, str] | None = None
    webhook: WebhookTarget | None = None


@record
class NewCardToken:
    """Make a payment token from a card, vaulted as that of ``NewCardMethod``; without a provider
    the cheapest one takes it."""

    details: CardDetails | None
    provider_id: str | None
    vault_card: bool = False
    expiry: Expiry = NEVER
    ip: str | None = None
    amount: Decimal | None = None
    currency: str | None = None
    metadata: Mapping[str, str] | None = None
