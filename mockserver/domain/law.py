"""The machine that keeps the law: a table of legal moves, the only way to change a state, and its diagram.

The tables are read from the diagrams of ``states.md``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar

from mockserver.domain.codes import Code
from mockserver.domain.errors import WrongState
from mockserver.domain.record import record

S = TypeVar("S", bound=StrEnum)
E = TypeVar("E", bound=StrEnum)


@record
class TransitionTable(Generic[S, E]):
    """The law of one kind of object: how it begins (by the event None when it needs none) and how it moves; ``refusal``
    is the code of an illegal move."""

    subject: str
    begins: Mapping[E | None, S]
    moves: Mapping[S, Mapping[E, S]]
    refusal: Code

    def begin(self, event: E) -> S:
        """The first state of an object that ``event`` brings into being. Raises ``WrongState`` when none does."""
        state = self.begins.get(event)
        if state is None:
            raise WrongState(self.refusal, {"Status": f"no {self.subject} begins by being {event}"})
        return state

    def advance(self, state: S, event: E) -> S:
        """The state after ``event``. Raises ``WrongState`` naming the states in which the event would be legal."""
        after = self.moves[state].get(event)
        if after is None:
            legal = [before.value for before, row in self.moves.items() if event in row]
            raise WrongState(
                self.refusal,
                {"Status": f"got a {self.subject} in {state.value}, allowed in {' or '.join(legal)} only"},
            )
        return after

    def event_to(self, state: S) -> E | None:
        """The event that brings an object to a state, whatever it was in before; None when none does."""
        events = (
            event for before, row in self.moves.items() for event, after in row.items() if after is state is not before
        )
        return next(events, None)


_ARROW = re.compile(r"^    (?P<before>\S+) --> (?P<after>[^\s:]+)(?:: (?P<event>\w+))?$", re.MULTILINE)


def law(
    diagram: str, states: type[S], events: type[E], refusal: Code, subject: str | None = None
) -> TransitionTable[S, E]:
    """The table of a diagram in ``states.md``; ``subject`` names the object in refusals, by default as the diagram.

    Raises ``ValueError`` for a state or an event that there is not.
    """
    begins: dict[E | None, S] = {}
    moves: dict[S, dict[E, S]] = {}
    for arrow in _ARROW.finditer(_diagrams()[diagram]):
        before, after, event = arrow.group("before", "after", "event")
        if before == "[*]":
            begins[events(event) if event else None] = states(after)
        elif after == "[*]":
            moves[states(before)] = {}
        else:
            moves.setdefault(states(before), {})[events(event)] = states(after)
    return TransitionTable(subject or diagram.replace("_", " "), begins, moves, refusal)


@cache
def _diagrams() -> Mapping[str, str]:
    _, *sections = Path(__file__).with_name("states.md").read_text("utf-8").split("\n## ")
    return {name: diagram for name, _, diagram in (section.partition("\n") for section in sections)}


def mermaid(table: TransitionTable[Any, Any], word: Callable[[str], str] = str) -> str:
    """The table as a Mermaid state diagram; ``word`` spells a state."""
    lines = ["stateDiagram-v2"]
    lines += [f"    [*] --> {word(state)}" + (f": {event}" if event else "") for event, state in table.begins.items()]
    for state, row in table.moves.items():
        lines += [f"    {word(state)} --> {word(after)}: {event.value}" for event, after in row.items()]
        if not row:
            lines.append(f"    {word(state)} --> [*]")
    return "\n".join(lines)
