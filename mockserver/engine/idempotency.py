"""Requests with an ``Idempotency-Key``: the first one acts, its repeats get its answer. And answers
that a rule gives again (``replay``), as a provider returns the earlier payment for an order id that
it knows.

A request that was refused before anything happened is not kept: it may be put right and sent again
under its key. Source: assumption ``request.idempotency``; published practice of payment services,
as nothing is documented; docs/scenario-language.md, outcome (``replay``).
"""

from collections.abc import Iterable

from mockserver.domain.clock import DAY, Micros
from mockserver.domain.codes import Code
from mockserver.domain.errors import KeyInUse, invalid
from mockserver.domain.ids import digest
from mockserver.engine.result import MOST_FIRSTS, First, FirstAnswer
from mockserver.engine.step import Step, named, objects_of
from mockserver.scenario.attempt import Stage

HEADER = "idempotency-key"

LONGEST = 255
"""Characters of a key."""

_WINDOW: Micros = DAY
_REFUSED = 400


def first(step: Step, key: str, request: tuple[object, ...]) -> First | None:
    """What acted under a key within 24 h, if the step that is being taken repeats it; ``request``
    are the parts of the request that must be equal. Raises ``Invalid`` (90) for an invalid key, and
    ``KeyInUse`` when it belongs to another request (90), or the first one is still being answered
    (31)."""
    sandbox, firsts = step.sandbox, step.sandbox.idempotency
    if not 0 < len(key) <= LONGEST:
        raise invalid({"IdempotencyKey": f"wanted 1 to {LONGEST} characters"})
    name = _name(key)
    first = firsts.get(name)
    if first is None:
        return None
    if sandbox.now - first.at > _WINDOW:
        # The key is free again.
        del firsts[name]
        return None
    # Refused or not: findings must not take it for a second payment.
    step.result.is_repeat = True
    # An import without secrets has no digest: any request of the operation is taken for the same.
    is_same = first.asked is None or first.asked == _digest_of(step, request)
    if first.op != step.asked.op or not is_same:
        words = (
            f"this key was sent with another request ({first.op}): wanted the same one, or a "
            "new key"
        )
        raise KeyInUse(Code.VALIDATION_ERROR, {"IdempotencyKey": words})
    if not first.is_answered:
        words = "the first request with this key is still being answered: send it again later"
        refused = KeyInUse(Code.DUPLICATE_TRANSACTION, {"IdempotencyKey": words})
        refused.is_retryable = True
        raise refused
    _repeat(step, first.about, "a repeat: its Idempotency-Key was given the first answer")
    return first


def keep(step: Step, key: str, request: tuple[object, ...], status: int, answer: bytes) -> None:
    """Remember the answer to the step that was taken, unless it was refused before anything
    happened."""
    sandbox, firsts = step.sandbox, step.sandbox.idempotency
    if not _has_acted(step, status):
        return
    first = First(
        step.asked.op, sandbox.now, status, answer.decode(), _digest_of(step, request), named(step)
    )
    first.is_answered = step.result.answered
    step.result.first = first
    # The oldest stand first: those whose keys are free again go.
    while firsts:
        oldest = next(iter(firsts))
        if sandbox.now - firsts[oldest].at <= _WINDOW:
            break
        del firsts[oldest]
    if len(firsts) == MOST_FIRSTS:
        step.warn(f"only the newest {MOST_FIRSTS} idempotency keys of 24 h are kept")
    firsts.put(_name(key), first)


def _repeat(step: Step, about: Iterable[tuple[str, str]], words: str) -> None:
    """A step is given the first answer: it is about the same objects, as they now are."""
    step.result.is_repeat = True
    step.result.about.update(objects_of(step.sandbox, about))
    step.result.warnings += (f"{words} again, and nothing was done",)


def _has_acted(step: Step, status: int) -> bool:
    """Whether something happened, or a provider was asked, before a step was answered with a
    status."""
    if status < _REFUSED or step.result.events:
        return True
    # A provider that declined has been asked: the same key must not ask it again.
    return any(decision.stage is Stage.PROVIDER for decision in step.result.decisions)


def _name(key: str) -> str:
    """The name under which a key is kept. Clients put whatever they like into keys, and documents
    are given to others."""
    return digest("idempotency", key).hex()


def _digest_of(step: Step, request: tuple[object, ...]) -> str:
    """What tells one request from another, kept instead of the request."""
    # The body may hold a card number, which a digest without a secret would give away.
    return digest("asked", step.sandbox.cards.salt, *request).hex()


def replayed(step: Step) -> FirstAnswer | None:
    """What the step is answered with, when it is not the first of its key."""
    key = _key_of(step)
    if key is None:
        return None
    first_answer = step.sandbox.replays.get(key)
    if first_answer is not None:
        _repeat(step, first_answer.about, "a replay: a rule gave it the first answer of its key")
    return first_answer


def keep_for_replay(step: Step, status: int, text: bytes) -> None:
    """Remember the answer to a step that was the first of its key, unless it was refused before
    anything happened."""
    key = _key_of(step)
    if key is not None and _has_acted(step, status):
        first = FirstAnswer(status, text.decode(), named(step))
        step.sandbox.replays.put(key, first)


def _key_of(step: Step) -> str | None:
    """The key of the rule that wants a replay; None when there is none, or the request lacks all
    that it is made of."""
    for decision in step.result.decisions:
        if decision.outcome.replay:
            # The salt of a call is "rule|key|number" (``CountedCall.salt``).
            without_number, _, _ = decision.salt.rpartition("|")
            rule, _, key = without_number.partition("|")
            if not key.strip("|"):
                return None
            return digest("replay", step.asked.op, rule, key).hex()
    return None
