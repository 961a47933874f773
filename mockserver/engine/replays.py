"""Answers that are given again: a provider that returns the earlier payment for an order id that it knows.

A call that was refused before anything happened is not kept: the next one of its key acts.
Source: scenario language, Outcomes, ``replay``.
"""

from __future__ import annotations

from mockserver.domain.record import record
from mockserver.engine.step import Step
from mockserver.findings.recent import Recent
from mockserver.scenario.attempt import Stage

MOST = 1_000
"""Keys that a sandbox keeps; the oldest are forgotten beyond."""

_REFUSED = 400


@record
class FirstAnswer:
    """The answer to the first call of a key, and its step."""

    status: int
    text: bytes
    step: Step


class Replays:
    """The first answers of one sandbox, by rule, operation and key."""

    __slots__ = ("_firsts",)

    def __init__(self) -> None:
        self._firsts: Recent[str, FirstAnswer] = Recent(MOST)

    def first(self, step: Step) -> FirstAnswer | None:
        """What the step is answered with, when it is not the first of its key."""
        key = _key_of(step)
        found = self._firsts.get(key) if key is not None else None
        if found is not None:
            step.is_repeat = True
            step.about = found.step.about
            step.warnings += ("a replay: a rule gave it the first answer of its key again, and nothing was done",)
        return found

    def keep(self, step: Step, status: int, text: bytes) -> None:
        """Remember the answer to a step that was the first of its key, unless it was refused before anything
        happened."""
        key = _key_of(step)
        was_tried = step.events or any(decision.stage is Stage.PROVIDER for decision in step.decisions)
        if key is not None and (status < _REFUSED or was_tried):
            self._firsts.put(key, FirstAnswer(status, text, step))


def _key_of(step: Step) -> str | None:
    """The key of the rule that wants a replay; None when there is none, or the request lacks all that it is made of."""
    for decision in step.decisions:
        if decision.outcome.replay:
            rule, _, key = decision.salt.rpartition("|")[0].partition("|")
            return f"{step.op}|{rule}|{key}" if key.strip("|") else None
    return None
