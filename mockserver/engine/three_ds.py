"""3-D Secure: what the payer's answer to a challenge does to a charge, or to a payment token, that
waits for it.

A charge that is challenged stands in ``PENDING_CHECKOUT`` until the payer has answered on the
issuer's page (here a page of the sandbox), or the time for it is over. A charge ends with the
answer; a token stays, and its payments are verified then, so that the payer is asked once.

Sources: docs/spec/service.md, Charge (``threeDsVerified``, ``threeDsRedirectUrl``,
``threeDSNotificationUrl``); docs/spec/published-facts.md, 3.1 (codes 18, 917); assumption
``charge.challenge_expires_after``; settled fact ``charge.status``.
"""

from mockserver.domain.charge import Charge, FailedAttempt
from mockserver.domain.codes import Code
from mockserver.domain.sources import ChallengeAnswer
from mockserver.domain.states import ChargeEvent, ChargeState
from mockserver.domain.token import Token
from mockserver.engine import charges, providers, tokens
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import Step
from mockserver.scenario.outcome import Outcome
from mockserver.scenario.provider_outcome import Decline


def answer(step: Step, charge_id: str, payers_answer: ChallengeAnswer) -> Charge:
    """Let the payer answer. A charge that no longer waits stays as it is: a page may be sent twice.
    Raises ``NotFound`` (84)."""
    charge = charges.get(step, charge_id)
    if charge.status is not ChargeState.PENDING_CHECKOUT:
        return charge
    match payers_answer:
        case ChallengeAnswer.PASS:
            return _passed(step, charge)
        case ChallengeAnswer.FAIL:
            failed = _attempt(step.sandbox, charge, Code.THREE_D_SECURE_FAILED)
            return _ended(step, charge, ChargeEvent.DECLINED, failed)
        case ChallengeAnswer.CANCEL:
            cancelled = _attempt(step.sandbox, charge, Code.CUSTOMER_CANCELLATION)
            return _ended(step, charge, ChargeEvent.ABANDONED, cancelled)


def address(sandbox: Sandbox, waiting: Charge | Token) -> str | None:
    """Where the payer of a charge, or of a token before it is used, is challenged; None without a
    challenge."""
    if not waiting.challenged:
        return None
    return sandbox.address(page(waiting))


def page(waiting: Charge | Token) -> str:
    """The path of that page."""
    if isinstance(waiting, Token):
        return f"/3ds/token/{waiting.token_id}"
    return f"/3ds/{waiting.charge_id}"


def answer_for_token(step: Step, token_id: str, payers_answer: ChallengeAnswer) -> Token:
    """Let the payer answer before the token is used: passed, its payments are verified and nobody
    asks again. A token that no longer waits stays as it is. Raises ``NotFound`` (87)."""
    token = tokens.get(step, token_id)
    if not token.waits:
        return token
    event = _TOKEN_EVENTS[payers_answer]
    return step.change(token, token.after_challenge(payers_answer), event)


_TOKEN_EVENTS = {
    ChallengeAnswer.PASS: "challenge_passed",
    ChallengeAnswer.FAIL: "challenge_failed",
    ChallengeAnswer.CANCEL: "challenge_cancelled",
}
"""What the journal tells of a token. Its state stays, as it can be used whatever the answer was."""


def abandon(step: Step, charge: Charge) -> None:
    """The challenge was not answered in time."""
    expired = _attempt(step.sandbox, charge, Code.THREE_D_SECURE_FAILED)
    _ended(step, charge, ChargeEvent.ABANDONED, expired)


def _passed(step: Step, charge: Charge) -> Charge:
    """The payer has passed. That is no payment yet: the provider has the last word, and a rule for
    ``charge.challenge`` can be that word."""
    provider = step.sandbox.providers.get(charge.provider.provider_id)
    outcome = Outcome()
    if provider is not None:
        outcome = providers.ask(step, "charge.challenge", provider, charge.instrument, "charge")
    if isinstance(outcome.provider, Decline):
        attempt = charges.failed_attempt(
            step.sandbox, charge.provider.provider_id, outcome.provider
        )
        return _ended(step, charge, ChargeEvent.DECLINED, attempt)
    event = ChargeEvent.PAID if charge.capture else ChargeEvent.AUTHORISED
    if outcome.provider is not None and outcome.provider.event is not None:
        # The rule has another end for it, such as one that is still pending.
        event = outcome.provider.event
    passed = _ended(step, charge, event, None)
    charges.follow_up(step, passed, event, outcome)
    return passed


def _ended(step: Step, charge: Charge, event: ChargeEvent, attempt: FailedAttempt | None) -> Charge:
    """The charge after its challenge, which failed with an ``attempt``."""
    after = charge.after_challenge(event, attempt, step.sandbox.now)
    return charges.move(step, charge, after, event)


def _attempt(sandbox: Sandbox, charge: Charge, code: Code) -> FailedAttempt:
    """What the charge tells of a challenge that was not passed."""
    return charges.failed_attempt(
        sandbox, charge.provider.provider_id, charges.failed_challenge(code)
    )
