"""Payment-link use cases: make, read, list, and pay on the hosted page.

A link limits how often it is paid. Payments that are under way count against the limit, as they may
succeed, and free their place when they fail. A payer who reloads the page or clicks twice pays
once: each view of the page has a key, and the link remembers what was made with it.

Sources: docs/spec/service.md, Payment links, and Limits; assumptions ``link.*``;
settled fact ``link.url``.
"""

from mockserver.domain.addresses import is_web_address
from mockserver.domain.charge import Charge
from mockserver.domain.codes import Code
from mockserver.domain.commands import LinkPayment, NewCharge, NewPaymentLink
from mockserver.domain.errors import Faults, Invalid, WrongState, invalid
from mockserver.domain.money import check_positive, currency, positive
from mockserver.domain.payment_link import PaymentLink, check_image, check_types
from mockserver.domain.provider import Capability
from mockserver.domain.record import replace, updated
from mockserver.engine import charges, providers
from mockserver.engine.charges import Origin
from mockserver.engine.intake import PROVIDERS_OWN
from mockserver.engine.step import Step, finder

_ORIGIN = Origin("payment_link", op="payment_link.pay")

get = finder(PaymentLink, Code.INVALID_PAYMENT_LINK_ID)
"""A link. Raises ``NotFound`` (116)."""


def create(step: Step, command: NewPaymentLink) -> PaymentLink:
    """Make a link. Raises ``Invalid`` 74, 2 (amount), 29 (currency), 90 (types, image, redirect,
    limit)."""
    sandbox = step.sandbox
    faults = Faults()
    money = faults.attempt(currency, command.currency or usual_currency(step))
    amount = command.amount
    if amount is not None and money is not None:
        amount = faults.attempt(positive, amount, money)
    elif amount is not None:
        faults.attempt(check_positive, amount)
    if command.limit is not None and command.limit < 1:
        faults.wrong("LimitPayments", f"got {command.limit}, wanted 1 or more")
    types = check_types(command.allowed_types, faults)
    if command.image is not None:
        # A link without one rests on no assumption about images.
        check_image(command.image, step.assume("link.image_maximum"), faults)
    if command.redirect_url is not None and not is_web_address(command.redirect_url):
        faults.wrong("RedirectUrl", "wanted an absolute http or https address")
    faults.refuse()
    code = None
    # A link that names no currency is paid in the one that is usual by then.
    if command.currency and money is not None:
        code = money.code
    bare = PaymentLink(sandbox.ids.hex32("payment_link"), sandbox.now)
    return step.add(
        replace(updated(bare, command), amount=amount, currency=code, allowed_types=types)
    )


def pay(step: Step, payment_link_id: str, payment: LinkPayment) -> Charge:
    """One payment on the page of a link; the charge may be declined, pending or waiting for a
    challenge.

    A page view pays once: its key sent again is answered with the charge that it made. Raises
    ``NotFound`` (116), ``WrongState`` (``link.limit_code``), ``Invalid`` 58 (a way to pay that the
    link does not offer), 90 (no amount), and whatever a charge raises; then nothing has changed and
    the key is free.
    """
    link = get(step, payment_link_id)
    charge_id = link.attempts.get(payment.attempt_key)
    if charge_id is not None:
        # The payer has clicked twice, or reloaded the page.
        return charges.get(step, charge_id)
    if not link.has_room:
        words = (
            f"limitPayments is {link.limit}; paid are {link.payments}, under way {link.under_way}"
        )
        raise WrongState(Code(step.assume("link.limit_code")), {"LimitPayments": words})
    if not link.takes(payment.payment_type):
        words = f"got {payment.payment_type}, this link takes {', '.join(link.allowed_types or ())}"
        raise Invalid(Code.INVALID_PAYMENT_TYPE, {"PaymentType": words})
    amount = link.amount
    if amount is None:
        amount = payment.amount
    if amount is None:
        raise invalid({"Amount": "required: this link leaves the amount to the payer"})
    wanted = NewCharge(
        source=payment.source,
        amount=amount,
        currency=link.currency or usual_currency(step),
        metadata=link.metadata,
        payment_link_id=link.payment_link_id,
    )
    charge = charges.create(step, wanted, _ORIGIN)
    # The charge has been counted by the link, which is another value since.
    link = get(step, payment_link_id)
    step.change(link, link.after_attempt(payment.attempt_key, charge.charge_id))
    return charge


def address(step: Step, link: PaymentLink) -> str:
    """Where the hosted page of a link is (settled fact ``link.url``)."""
    return step.sandbox.address(page(link))


def page(link: PaymentLink) -> str:
    """The path of that page."""
    return f"/pay/{link.payment_link_id}"


def usual_currency(step: Step) -> str:
    """The currency of a link that names none, before any provider is chosen: the assumption's, else
    that of the first provider that takes cards."""
    usual: str = step.assume("currency.default")
    if usual != PROVIDERS_OWN:
        return usual
    for provider in providers.in_use(step.sandbox, Capability.CARD):
        return provider.currency
    without_providers: str = step.assume("provider.currency")
    return without_providers
