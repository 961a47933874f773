"""Answers that are given again: a provider that returns the earlier payment for an order id that it knows.

A call that was refused before anything happened is not kept: the next one of its key acts.
Source: scenario language, Outcomes, ``replay``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Annotated

from mockserver.domain.constraints import Within
from mockserver.domain.ids import digest
from mockserver.domain.record import mutable
from mockserver.engine.step import Step
from mockserver.findings.recent import Recent
from mockserver.scenario.attempt import Stage

MOST = 1_000
"""Keys that a sandbox keeps; the oldest are forgotten beyond."""

_REFUSED = 400


@mutable
class FirstAnswer:
    """The answer to the first call of a key, and its step; None after an import."""

    status: Annotated[int, Within(200, 599)]
    text: str
    step: Step | None = field(default=None, init=False)


class Replays:
    """The first answers of one sandbox, oldest first, by digests of rule, operation and key."""

    __slots__ = ("firsts",)

    def __init__(self, firsts: Iterable[tuple[str, FirstAnswer]] = ()) -> None:
        self.firsts: Recent[str, FirstAnswer] = Recent(MOST)
        for key, first in firsts:
            self.firsts.put(key, first)

    def first(self, step: Step) -> FirstAnswer | None:
        """What the step is answered with, when it is not the first of its key."""
        key = _key_of(step)
        found = self.firsts.get(key) if key is not None else None
        if found is not None:
            step.is_repeat = True
            if found.step is not None:
                step.about = found.step.about
            step.warnings += ("a replay: a rule gave it the first answer of its key again, and nothing was done",)
        return found

    def keep(self, step: Step, status: int, text: bytes) -> None:
        """Remember the answer to a step that was the first of its key, unless it was refused before anything
        happened."""
        key = _key_of(step)
        was_tried = step.events or any(decision.stage is Stage.PROVIDER for decision in step.decisions)
        if key is not None and (status < _REFUSED or was_tried):
            first = FirstAnswer(status, text.decode())
            first.step = step
            self.firsts.put(key, first)


def _key_of(step: Step) -> str | None:
    """The key of the rule that wants a replay; None when there is none, or the request lacks all that it is made of."""
    for decision in step.decisions:
        if decision.outcome.replay:
            rule, _, key = decision.salt.rpartition("|")[0].partition("|")
            return digest("replay", step.op, rule, key).hex() if key.strip("|") else None
    return None
