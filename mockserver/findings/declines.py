"""Cards that were declined, and clients that retry them."""

from __future__ import annotations

from mockserver.domain.charge import Charge
from mockserver.domain.clock import Micros
from mockserver.domain.codes import Code
from mockserver.domain.record import mutable
from mockserver.domain.sources import Instrument
from mockserver.domain.states import ChargeState
from mockserver.findings.facts import Call
from mockserver.findings.intents import ccv_of, charged_of, evidence_of
from mockserver.findings.ledger import Evidence, Ledger
from mockserver.findings.policy import Policy
from mockserver.findings.recent import Recent, memory

_MOST = 1_000
_OF_THE_PAYMENT = frozenset(
    {
        Code.AMOUNT_EXCEEDS_MAX_AMOUNT_FOR_PAYTO_AGREEMENT,
        Code.AMOUNT_TOO_LARGE,
        Code.CURRENCY_NOT_SUPPORTED,
        Code.DUPLICATE_TRANSACTION,
        Code.ISSUER_INVALID_AMOUNT,
        Code.LOCATION_NOT_SUPPORTED,
        Code.PAYTO_AGREEMENT_IS_NOT_ACTIVE,
        Code.THREE_D_SECURE_FAILED,
    }
)
"""Refusals of one payment: they say nothing against the next one with the same card."""

_TECHNICAL = frozenset(
    {Code.PROVIDER_SERVICE_ERROR, Code.GATEWAY_TIMEOUT, Code.RATE_LIMITING_APPLIED, Code.RETRY_LATER}
)
"""Refusals that no issuer has made."""


@mutable
class Declines:
    """The declined cards and accounts of one sandbox. ``_final`` are those that no retry helps, with the ccv that was
    wrong where another one may."""

    _ledger: Ledger
    policy: Policy
    _final: Recent[str, Evidence] = memory(_MOST, is_pending=True)
    _tries: Recent[str, tuple[tuple[Micros, Evidence], ...]] = memory(_MOST)

    def called(self, call: Call) -> None:
        """A charge was created, or refused by its provider."""
        charge = call.charge
        instrument = charged_of(call, charge) if charge is not None else None
        if charge is None or instrument is None:
            return
        with_ccv = f"{instrument} {ccv_of(call)}"
        final = self._final.get(instrument) or self._final.get(with_ccv)
        if final is not None:
            lines = (final, evidence_of(call))
            self._ledger.add("hard-decline-retried", call.at, lines, **_about(charge.instrument))
        if charge.status is ChargeState.FAILED:
            self._declined(call, charge, instrument, with_ccv)
        else:
            self._final.pop(instrument, None)
            self._final.pop(with_ccv, None)

    def ended(self, entry: int) -> None:
        """The client has hung up before an answer: it did not learn of a decline."""
        for declined, evidence in list(self._final.items()):
            if evidence.entry == entry:
                del self._final[declined]

    def finish(self) -> None:
        """The story has ended: the next one may use the same test cards."""
        self._final.clear()
        self._tries.clear()

    def _declined(self, call: Call, charge: Charge, instrument: str, with_ccv: str) -> None:
        said = charge.failed_attempts[-1] if charge.failed_attempts else None
        if said is None or said.error_code in _TECHNICAL:
            return
        evidence = evidence_of(call, "declined, retryable" if said.is_retryable else "declined, not retryable")
        is_known = call.doubt is None and call.is_ours and said.error_code not in _OF_THE_PAYMENT
        declined = with_ccv if said.error_code == Code.INVALID_CCV else instrument
        if is_known and not said.is_retryable and declined not in self._final:
            self._final.put(declined, evidence)
        limit = self.policy.retry_limit
        tries = (*self._tries.get(instrument, ()), (call.at, evidence))[-limit - 1 :]
        self._tries.put(instrument, tries)
        if len(tries) > limit and call.at - tries[0][0] <= self.policy.retry_window:
            lines = (tries[0][1], evidence)
            self._ledger.add("too-many-retries", call.at, lines, **_about(charge.instrument))


def _about(instrument: Instrument) -> dict[str, str]:
    """The method that was charged, or the card as it may be shown."""
    if instrument.payment_method_id is not None:
        return {"paymentMethod": instrument.payment_method_id}
    if instrument.card is not None:
        return {"card": instrument.card.number.masked}
    return {"source": instrument.display_type or instrument.type.value}
