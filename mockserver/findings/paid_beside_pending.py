"""A second payment of an order whose first one may still come.

A payment that its provider has not settled, or that waits for its payer (3-D Secure), has not
failed. A client that takes another card meanwhile has two payments of one order, and nothing that
it does is wrong yet: the first may fail, or the second may be given back. What became of both is
known when the story has ended, so they are judged then.
"""

from collections.abc import Callable
from typing import NamedTuple

from mockserver.domain.bounded_cache import Recent, memory
from mockserver.domain.charge import Charge
from mockserver.domain.clock import Micros
from mockserver.domain.facts import Call
from mockserver.domain.figures import Figures, figures_of, money_text
from mockserver.domain.record import mutable, record
from mockserver.domain.states import ChargeState
from mockserver.findings.intents import INTENT_WINDOW, evidence_of
from mockserver.findings.ledger import Circumstances, Evidence, Ledger

_MOST = 1_000
_MAY_STILL_COME = frozenset({ChargeState.PENDING, ChargeState.PENDING_CHECKOUT})


@record
class _Payment:
    """A payment of an order, as it was when it was answered."""

    charge_id: str
    at: Micros
    evidence: Evidence


class _SecondPayment(NamedTuple):
    """A payment that was taken beside a ``first`` one, which may still come."""

    first: _Payment
    evidence: Evidence


@mutable
class PaidBesidePending:
    """The payments of one sandbox that were not settled when they were answered, by the reference
    of their orders (``_open``), and those that were taken beside one, by their own ids
    (``_beside``). ``charge_of`` gives a charge as it is now."""

    _ledger: Ledger
    _charge_of: Callable[[str], Charge | None]
    _open: Recent[str, _Payment] = memory(_MOST)
    _beside: Recent[str, _SecondPayment] = memory(_MOST)

    def called(self, call: Call) -> None:
        """A call was decided: a payment of an order, whose first one may still come."""
        charge = call.charge
        if call.op != "charge.create" or charge is None or charge.reference is None:
            return
        if charge.status is ChargeState.FAILED:
            return
        if charge.status is ChargeState.SUCCESS and not self._open:
            # It is paid, and no other may still come.
            return
        first = self._waiting_for(charge.reference)
        if first is None:
            # Of a payment whose answer was lost the client does not know that it is pending.
            is_told = call.doubt is None and call.is_ours and not call.is_open
            if is_told and charge.status in _MAY_STILL_COME:
                payment = _Payment(charge.charge_id, call.at, evidence_of(call))
                self._open.put(charge.reference, payment)
            return
        pending = self._charge_of(first.charge_id)
        is_soon = call.at - first.at < INTENT_WINDOW
        if pending is not None and is_soon and _likeness(pending) == _likeness(charge):
            self._beside.put(charge.charge_id, _SecondPayment(first, evidence_of(call)))

    def _waiting_for(self, reference: str) -> _Payment | None:
        """The payment of an order that may still come, if there is one. One that has been settled
        since is forgotten, as the next payment is then no second one beside it."""
        payment = self._open.get(reference)
        if payment is None:
            return None
        charge = self._charge_of(payment.charge_id)
        if charge is None or charge.status not in _MAY_STILL_COME:
            del self._open[reference]
            return None
        return payment

    def finish(self, at: Micros) -> None:
        """The story has ended: judge the payments that were taken beside another."""
        for charge_id, second in self._beside.items():
            self._judge(second, charge_id, at)
        self._open.clear()
        self._beside.clear()

    def _judge(self, second: _SecondPayment, charge_id: str, at: Micros) -> None:
        """Raise it where both payments have money, or may still get it; ``charge_id`` is the
        charge of the second."""
        earlier, later = self._charge_of(second.first.charge_id), self._charge_of(charge_id)
        if earlier is None or later is None:
            return
        earlier_money, later_money = figures_of(earlier, at), figures_of(later, at)
        if not _has_money(earlier_money) or not _has_money(later_money):
            return
        # Until both have come the client may still give one of them back in time.
        is_mild = earlier.status in _MAY_STILL_COME or later.status in _MAY_STILL_COME
        words = Evidence(_words(earlier, later, earlier_money, later_money))
        lines = (words, second.first.evidence, second.evidence)
        seen = Circumstances(is_mild=is_mild)
        self._ledger.add("paid-beside-pending", at, lines, seen, charge=later.charge_id)


def _likeness(charge: Charge) -> tuple[object, ...]:
    """What two payments of one order by one payer have in common. A deposit and its balance, and
    the guests of one table, differ in the amount, in the payer or in what they say of themselves.
    """
    return (
        charge.amount,
        charge.currency,
        charge.email,
        charge.customer_id,
        charge.payer,
        charge.descriptor,
        charge.subscription_id,
        str(charge.metadata),
    )


def _has_money(figures: Figures) -> bool:
    """Whether a payment holds money, or may still do so: what is on its way back is as good as
    gone, what waits for its payer may still come."""
    return figures.exposure - figures.refunding + figures.waiting > 0


def _words(earlier: Charge, later: Charge, earlier_money: Figures, later_money: Figures) -> str:
    """What the two payments of an order are now, as a merchant would say it."""
    first = money_text(earlier.amount, earlier.currency)
    second = money_text(later.amount, later.currency)
    order = later.reference
    if earlier.status in _MAY_STILL_COME:
        waits = _waits(earlier_money)
        return f"{second} of {order} were taken while a first {first} may still come: that {waits}"
    if later.status in _MAY_STILL_COME:
        came, waits = f"the first {first} of {order} came", _waits(later_money)
        return f"{came}, and a second {second} may still come: that {waits}"
    return f"{order} was paid twice: the first {first} came, and {second} were taken meanwhile"


def _waits(figures: Figures) -> str:
    """For whom a payment waits, in words."""
    if figures.waiting:
        return "waits for its payer (3-D Secure)"
    return "is still pending"
