"""What the move of one object means for others: the one place that is told of every charge that began or moved."""

from __future__ import annotations

from mockserver.domain.charge import Charge
from mockserver.domain.payment_link import PAID, UNDER_WAY
from mockserver.domain.states import ChargeState
from mockserver.engine import subscription_course
from mockserver.engine.sandbox import Sandbox


def of_charge(box: Sandbox, charge: Charge, before: ChargeState | None) -> None:
    """A charge has gone from ``before`` (None: it is new) to where it is."""
    if charge.payment_link_id is not None:
        _count_payment(box, charge.payment_link_id, before, charge.status)
    if charge.subscription_id is not None:
        subscription_course.follow(box, charge, before)


def _count_payment(box: Sandbox, payment_link_id: str, before: ChargeState | None, after: ChargeState) -> None:
    """A link counts each charge that succeeds, whenever it does, and keeps a place for each that still may."""
    link = box.payment_links.get(payment_link_id)
    if link is not None:
        box.payment_links.change(
            link,
            {
                "payments": link.payments + (after in PAID) - (before in PAID),
                "under_way": link.under_way + (after in UNDER_WAY) - (before in UNDER_WAY),
            },
        )
