"""What a charge that began or moved means for other objects."""

from __future__ import annotations

from mockserver.domain.charge import Charge
from mockserver.domain.commands import NewTransfer, NewTransferGroup
from mockserver.domain.sources import CheckoutTransfer
from mockserver.domain.states import ChargeState
from mockserver.engine import batches, providers, subscription_course, transfers
from mockserver.engine.step import Step


def follow(step: Step, charge: Charge, before: ChargeState | None) -> None:
    """A charge has gone from ``before`` (None: it is new) to where it is."""
    sandbox = step.sandbox
    if charge.payment_link_id is not None:
        link = sandbox.payment_links.get(charge.payment_link_id)
        if link is not None:
            step.replace(sandbox.payment_links, link, link.after_charge(before, charge.status))
    if charge.transfer is not None and charge.status is ChargeState.SUCCESS and before is not ChargeState.SUCCESS:
        _pass_on(step, charge, charge.transfer)
    if charge.subscription_id is not None:
        subscription_course.follow(step, charge, before)
    if charge.batch_id is not None:
        batches.follow(step, charge, before)


def _pass_on(step: Step, charge: Charge, wanted: CheckoutTransfer) -> None:
    """The part of a paid token charge that goes on to another account; never more than was paid."""
    provider = providers.known(step.sandbox, charge.provider.provider_id)
    if provider is None or not wanted.account or wanted.amount is None:
        return
    part = NewTransfer(wanted.account, min(wanted.amount, charge.amount), charge.currency)
    transfers.create(step, NewTransferGroup(provider.provider_id, (part,), charge_id=charge.charge_id))
