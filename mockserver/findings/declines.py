"""Cards that were declined, and clients that retry them."""

from __future__ import annotations

from mockserver.domain.clock import Micros
from mockserver.domain.codes import Code
from mockserver.domain.record import mutable
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
    """The declined cards and accounts of one sandbox."""

    _ledger: Ledger
    policy: Policy
    _final: Recent[str, tuple[Evidence, str | None]] = memory(_MOST, is_pending=True)
    _tries: Recent[str, tuple[tuple[Micros, Evidence], ...]] = memory(_MOST)

    def called(self, call: Call) -> None:
        """A charge was created, or refused by its provider."""
        charge = call.charge
        if charge is None or (charge.status is not ChargeState.FAILED and not self._final):
            return
        instrument = charged_of(call, charge)
        if instrument is None:
            return
        final = self._final.get(instrument)
        if final is not None:
            evidence, ccv = final
            if ccv is None or ccv == ccv_of(call):
                self._ledger.add("hard-decline-retried", call.at, (evidence, evidence_of(call)), **_about(call))
            if charge.status is not ChargeState.FAILED:
                del self._final[instrument]
        if charge.status is ChargeState.FAILED and charge.failed_attempts:
            said = charge.failed_attempts[-1]
            if said.error_code not in _TECHNICAL:
                self._declined(call, instrument, said.error_code, is_final=not said.is_retryable)

    def ended(self, entry: int) -> None:
        """The client has hung up before an answer: it did not learn of a decline."""
        for instrument, (evidence, _) in list(self._final.items()):
            if evidence.entry == entry:
                del self._final[instrument]

    def finish(self) -> None:
        """The story has ended: the next one may use the same test cards."""
        self._final.clear()
        self._tries.clear()

    def _declined(self, call: Call, instrument: str, code: int, *, is_final: bool) -> None:
        evidence = evidence_of(call, "declined, not retryable" if is_final else "declined, retryable")
        is_told = call.doubt is None and call.is_ours and code not in _OF_THE_PAYMENT
        if is_final and is_told and instrument not in self._final:
            self._final.put(instrument, (evidence, ccv_of(call) if code == Code.INVALID_CCV else None))
        limit = self.policy.retry_limit
        tries = (*self._tries.get(instrument, ()), (call.at, evidence))[-limit - 1 :]
        self._tries.put(instrument, tries)
        if len(tries) > limit and call.at - tries[0][0] <= self.policy.retry_window:
            lines = (tries[0][1], tries[-1][1])
            self._ledger.add("too-many-retries", call.at, lines, **_about(call))


def _about(call: Call) -> dict[str, str | None]:
    """The method that was charged, or the card as it may be shown."""
    charge = call.charge
    if charge is None:
        return {}
    instrument = charge.instrument
    if instrument.payment_method_id is not None:
        return {"paymentMethod": instrument.payment_method_id}
    if instrument.card is not None:
        return {"card": instrument.card.number.masked}
    return {"source": instrument.display_type or instrument.type.value}
