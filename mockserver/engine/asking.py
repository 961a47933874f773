"""Asking a provider: the rules of its stage decide, its time is counted, and its refusal keeps its own words.

Source: docs/scenario-language.md, When a rule is asked; docs/scenario-language.md, outcome.
"""

from __future__ import annotations

from mockserver.domain.codes import Code
from mockserver.domain.errors import ProviderRefused
from mockserver.domain.provider import Provider
from mockserver.domain.sources import Instrument
from mockserver.engine.result import Unreached
from mockserver.engine.step import Step
from mockserver.scenario.matching import Stage
from mockserver.scenario.outcome import Outcome
from mockserver.scenario.provider_outcome import Decline
from mockserver.scenario.transport import At

_PROVIDER = Stage.PROVIDER


def ask(
    step: Step,
    op: str,
    provider: Provider,
    instrument: Instrument,
    source: str,
    *,
    also: str | None = None,
    number: int = 1,
) -> Outcome:
    """What happens when a provider is asked to act on an instrument. A scripted latency is added to the step's; to act
    on a charge takes that of the provider's settings otherwise, or of the assumption ``provider.latency``.

    Raises ``Unreached`` when a rule stops the operation before anything has happened.
    """
    asked, card, bank = step.asked, instrument.card, instrument.bank
    attempt = step.attempt(
        op,
        also=also,
        source=source,
        provider=provider.provider_id,
        attempt=number,
        card=card.number if card else None,
        subject=instrument.payment_method_id or (card.number.fingerprint if card else None),
        row=asked.row,
        bank_account=bank.account_number if bank else None,
    )
    decision = step.ask(_PROVIDER, attempt)
    fault = decision.outcome.transport
    if fault is not None and fault.at is At.RECEIVE and step.asked.answers:
        if not fault.goes_on:
            raise Unreached(fault)
        step.result.latency += fault.delay
    slowing = decision.slowing if decision.rule is not None else None
    if slowing is not None:
        step.result.latency += slowing.delay
    elif op.startswith("charge."):
        low, high = step.assume("provider.latency") if provider.latency is None else provider.latency
        step.result.latency += low if high <= low else low + step.sandbox.draw("provider_latency", high - low + 1)
    return decision.outcome


def refuse_declined(outcome: Outcome, refusal: Code | None = None) -> None:
    """Raises ``ProviderRefused`` when the provider declined: in its own words, or with the operation's ``refusal`` and
    its words as details; a code or message that the scenario itself gives counts before both."""
    decline = outcome.provider
    if isinstance(decline, Decline):
        plain = refusal is None or decline.own_code is not None or decline.own_message is not None
        raise ProviderRefused(
            refusal or Code.TOKENISE_CARD_ERROR,
            {"Provider": decline.error_message},
            message=decline.error_message if plain else None,
            own_code=decline.error_code if refusal is None else decline.own_code,
            gateway_code=decline.gateway_code,
            gateway_message=decline.gateway_message,
            is_retryable=decline.is_retryable,
        )
