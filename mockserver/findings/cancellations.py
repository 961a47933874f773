"""Payments that the client wanted to cancel, could not, and then took."""

from __future__ import annotations

from collections.abc import Callable

from mockserver.domain.bounded_cache import Recent, memory
from mockserver.domain.charge import Charge
from mockserver.domain.record import mutable
from mockserver.findings.doubts import HOLDING
from mockserver.findings.facts import Call
from mockserver.findings.intents import amount_of, evidence_of
from mockserver.findings.ledger import Evidence, Ledger

_MOST = 256
_WRONG_STATE = 54


@mutable
class Cancellations:
    """The voids and whole refunds of one sandbox that were asked for and did not happen. ``charge_of`` gives a charge
    as it is now."""

    _ledger: Ledger
    _charge_of: Callable[[str], Charge | None]
    _asked: Recent[str, Evidence] = memory(_MOST, is_pending=True)

    def called(self, call: Call) -> None:
        """A call was decided."""
        if call.op in ("charge.void", "charge.refund"):
            self._cancelled(call, call.path.get("charge_id", ""))
        elif self._asked and call.events and call.charge is not None and call.charge.status in HOLDING:
            if call.op == "charge.capture":
                self._taken(call, call.charge.charge_id)
            elif call.op == "charge.create":
                for charge_id in list(self._asked):
                    if self._is_same_order(call.charge, self._charge_of(charge_id)):
                        self._taken(call, charge_id)

    def finish(self) -> None:
        """The story has ended."""
        self._asked.clear()

    def _cancelled(self, call: Call, charge_id: str) -> None:
        charge = self._charge_of(charge_id)
        self._asked.pop(charge_id, None)
        if charge is None or charge.status not in HOLDING or call.code == _WRONG_STATE:
            return
        is_whole = call.op == "charge.void" or amount_of(call.request.get("amount")) in (None, charge.amount)
        has_begun = bool(call.events) or any(refund.added == call.at for refund in charge.reserved or ())
        if is_whole and not has_begun:
            self._asked.put(charge_id, evidence_of(call))

    def _taken(self, call: Call, charge_id: str) -> None:
        """Money is taken although the payment was to be cancelled, and has not been."""
        evidence = self._asked.pop(charge_id, None)
        charge = self._charge_of(charge_id)
        if evidence is not None and charge is not None and charge.status in HOLDING:
            self._ledger.add("charged-after-cancel", call.at, (evidence, evidence_of(call)), charge=charge_id)

    @staticmethod
    def _is_same_order(new: Charge, known: Charge | None) -> bool:
        return (
            known is not None
            and known.charge_id != new.charge_id
            and new.reference is not None
            and (new.reference, new.currency, new.amount) == (known.reference, known.currency, known.amount)
        )
