"""The law: every state of every table with every event, and nothing that the tables leave open."""

from enum import StrEnum
from itertools import product
from typing import Any

import pytest

from mockserver.domain.errors import WrongState
from mockserver.domain.states import TABLES, TransitionTable


def _enums(table: TransitionTable[Any, Any]) -> tuple[type[StrEnum], type[StrEnum]]:
    """The kinds of state and event of a table, taken from its own rows."""
    states = {type(state) for state in table.moves}
    named = [event for row in table.moves.values() for event in row]
    named += filter(None, table.begins)
    events = {type(event) for event in named}
    assert (len(states), len(events)) == (1, 1)
    return states.pop(), events.pop()


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_every_state_has_a_row_and_can_be_reached_and_every_event_has_a_place(
    table: TransitionTable[Any, Any],
) -> None:
    states, events = _enums(table)
    assert set(table.moves) == set(states)
    used = {event for row in table.moves.values() for event in row}
    used |= set(filter(None, table.begins))
    assert used == set(events)
    reached = set(table.begins.values())
    while (
        more := {after for state in reached for after in table.moves[state].values()} - reached
    ) != set():
        reached |= more
    # An item that came without a ccv begins in a state of its own, which no event names.
    assert set(states) - reached <= {state for state in states if state.name == "ABSENT"}


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_every_event_in_every_state_moves_by_the_table_or_is_refused_by_name(
    table: TransitionTable[Any, Any],
) -> None:
    for state, event in product(*_enums(table)):
        if (after := table.moves[state].get(event)) is not None:
            assert table.advance(state, event) is after
            continue
        with pytest.raises(WrongState) as refused:
            table.advance(state, event)
        assert refused.value.code is table.refusal
        [told] = (refused.value.details or {}).values()
        legal = " or ".join(before.value for before, row in table.moves.items() if event in row)
        assert told == f"got a {table.subject} in {state.value}, allowed in {legal} only"


@pytest.mark.parametrize("table", [table for table in TABLES.values() if None not in table.begins])
def test_an_object_begins_by_the_events_of_its_table_alone(
    table: TransitionTable[Any, Any],
) -> None:
    _, events = _enums(table)
    for event in events:
        if event in table.begins:
            assert table.begin(event) is table.begins[event]
        else:
            with pytest.raises(WrongState):
                table.begin(event)
