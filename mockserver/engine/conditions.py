"""Conditions to wait for: an object, a webhook or an arrival that meets all tests.

A test of a client waits for what happens behind its back, such as a charge that settles, instead of
asking again and again. The server looks whenever something has changed, so a look is short:
``MOST_READ`` fields, of the newest objects first, as these are the ones that a test waits for.

Source: docs/control-api.md (``/__admin/wait``).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from itertools import islice
from operator import attrgetter
from typing import Any

from mockserver.domain.delivery import Delivery
from mockserver.domain.errors import invalid, nearest
from mockserver.domain.masking import mask_start
from mockserver.domain.reading import camel, snake
from mockserver.domain.record import record
from mockserver.engine.inboxes import InboxMessage
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import KINDS, value_at
from mockserver.scenario.kinds import TEXT, Kind
from mockserver.scenario.matching import Difference, FieldTest, check_operators, compile_test
from mockserver.scenario.patterns import Patterns
from mockserver.scenario.stored_fields import SECRET, STORED, followed, kind_of

MOST_TESTS = 1_000
_MOST_FAULTS = 20
"""Faults that one refusal names: to find the nearest name for each of thousands takes minutes."""

MOST_READ = 20_000
"""Fields that one look reads: of very many objects it looks at the newest."""

_READ_AS_THEY_ARE = frozenset({str, int, bool, Decimal})


def _count_tries(delivery: Delivery) -> int:
    return len(delivery.tries)


def _authorization_of(arrival: InboxMessage) -> str | None:
    return arrival.headers.get("authorization")


_FIELDS: Mapping[str, Mapping[str, Callable[[Any], object]]] = {
    "webhook": {
        "id": attrgetter("delivery_id"),
        "messageId": attrgetter("message_id"),
        "type": attrgetter("message.type"),
        "eventType": attrgetter("message.event_type"),
        "subject": attrgetter("message.subject_id"),
        "url": attrgetter("url"),
        "state": attrgetter("state.value"),
        "tries": _count_tries,
    },
    "inbox": {
        "method": attrgetter("method"),
        "path": attrgetter("path"),
        "signature": attrgetter("signature.value"),
        "authorization": _authorization_of,
    },
}
"""Fields of what is not a stored object."""


@record
class WaitCondition:
    """One thing waited for: of ``kind``, so many (``count``) that pass all tests; ``named`` is the
    id of the only one that is looked at, of arrivals the name of their inbox."""

    kind: str
    tests: Sequence[FieldTest]
    count: int
    named: str | None

    def unmet(self, sandbox: Sandbox) -> str | None:
        """Why it does not hold yet, in words; None when it holds."""
        rows = self._rows(sandbox)
        if not rows:
            return self._nothing_there()
        # Without tests all are counted: nothing of them need be read.
        passing = looked_at = len(rows)
        why = None
        if self.tests:
            looked_at = min(len(rows), MOST_READ // len(self.tests))
            newest_first = islice(reversed(rows), looked_at)
            passing, why = self._passing(sandbox, newest_first)
        if passing >= self.count:
            return None
        among = f"{len(rows)}"
        if looked_at < len(rows):
            among = f"the newest {looked_at} of {len(rows)}"
        words = f"{passing} of {self.count} wanted pass all tests, among {among}"
        if why is None:
            return words
        return f"{words}; the newest other: {why}"

    def _nothing_there(self) -> str:
        """Why there is nothing to look at, in words."""
        if self.named is None:
            return f"this sandbox has no {self.kind}"
        if self.kind == "inbox":
            return f"the inbox '{self.named}' is empty"
        return f"no {self.kind} '{mask_start(self.named, 64)}' in this sandbox"

    def _passing(self, sandbox: Sandbox, rows: Iterable[object]) -> tuple[int, Difference | None]:
        """How many of some rows pass all tests, as far as so many are wanted, and why the first of
        the others does not."""
        passing, why = 0, None
        tests = [(test, self._reader(sandbox, test.path)) for test in self.tests]
        for row in rows:
            if all(test.holds(read(row)) for test, read in tests):
                passing += 1
                if passing == self.count:
                    break
            elif why is None:
                # One of the newest tells most: it is what the test has just made.
                differences = (test.difference_of(read(row)) for test, read in tests)
                why = next(filter(None, differences), None)
        return passing, why

    def _rows(self, sandbox: Sandbox) -> Sequence[object]:
        """What is looked at, the oldest first. Long tables are not copied for each look."""
        if self.kind == "webhook":
            if self.named is None:
                return list(sandbox.deliveries)
            delivery = sandbox.deliveries.get(self.named)
            return [] if delivery is None else [delivery]
        if self.kind == "inbox":
            return sandbox.inboxes.arrivals(self.named or "")
        table = KINDS[snake(self.kind)].table(sandbox)
        if self.named is None:
            rows: Sequence[object] = table.rows
            return rows
        row = table.get(self.named)
        return [] if row is None else [row]

    def _reader(self, sandbox: Sandbox, path: str) -> Callable[[object], object]:
        """What reads the value of a path of a row."""
        if self.kind in _FIELDS:
            return _FIELDS[self.kind][path]
        name = snake(path)
        is_open = name not in SECRET

        def read(row: object) -> object:
            # A look reads thousands of rows, and most values are as they are shown.
            field_value = getattr(row, name, None) if is_open else None
            if type(field_value) in _READ_AS_THEY_ARE:
                return field_value
            value = value_at(sandbox, row, path)
            if value is None and path == "status":
                # Clients know every state as a status.
                return value_at(sandbox, row, "state")
            return value

        return read


def read(wanted: object) -> list[WaitCondition]:
    """The conditions of ``for``: by kind, an object of tests; of an inbox the name will do. Raises
    ``Invalid`` (90) with every fault."""
    if not isinstance(wanted, dict) or not wanted:
        raise invalid({"For": 'wanted an object such as {"charge": {"id": ..., "status": ...}}'})
    conditions: list[WaitCondition] = []
    faults: dict[str, str] = {}
    for kind, tests in wanted.items():
        try:
            conditions.append(_condition(kind, tests))
        except ValueError as problem:
            faults[f"For.{kind[:40]}"] = str(problem)
        if len(faults) >= _MOST_FAULTS:
            break
    if faults:
        raise invalid(faults)
    return conditions


def _condition(kind: str, wanted: object) -> WaitCondition:
    """The condition of one kind. Raises ``ValueError`` with what is wrong with it."""
    kinds = [*map(camel, KINDS), *_FIELDS]
    if kind not in kinds:
        raise ValueError(f"no such kind{nearest(kind, kinds)}, allowed: {', '.join(kinds)}")
    is_inbox = kind == "inbox"
    if is_inbox and isinstance(wanted, str):
        wanted = {"name": wanted}
    if not isinstance(wanted, dict):
        form = '"shop" or {"name": "shop"}' if is_inbox else '{"id": ..., "status": ...}'
        raise ValueError(f"wanted an object of tests, such as {form}")
    tests = dict(wanted)
    count = tests.pop("count", 1)
    # An inbox is known by its name, all else by an id.
    named = tests.pop("name" if is_inbox else "id", None)
    # True is an int too, and counts nothing.
    if type(count) is not int or not 1 <= count <= 1_000_000:
        raise ValueError("count: wanted a whole number, 1 or more")
    if is_inbox and (not isinstance(named, str) or not named):
        raise ValueError("name: wanted the name of an inbox")
    if named is not None and not isinstance(named, str):
        raise ValueError("id: wanted a text")
    _check_length(len(tests), count)
    return WaitCondition(kind, _compiled(kind, tests), count, named)


def _check_length(tests: int, count: int) -> None:
    """Raises ``ValueError`` for more tests than one look may make, or for more objects than it
    looks at with so many: such a condition could never hold."""
    if tests > MOST_TESTS:
        raise ValueError(f"got {tests} tests, wanted at most {MOST_TESTS}")
    if tests == 0:
        return
    most = MOST_READ // tests
    if count > most:
        raise ValueError(
            f"count: got {count}, wanted at most {most}: with {tests} tests no more are looked at"
        )


def _compiled(kind: str, tests: Mapping[str, object]) -> Sequence[FieldTest]:
    """The tests of paths. Raises ``ValueError`` with what is wrong with some of them."""
    compiled: list[FieldTest] = []
    faults: list[str] = []
    patterns = Patterns()
    for path, wanted in tests.items():
        if len(faults) >= _MOST_FAULTS:
            break
        try:
            check_operators(wanted)
            read_as = _kind_of(kind, path)
            # A value that the field cannot have is no fault: the test never holds, and who waits is
            # told by how it differs.
            with suppress(ValueError):
                wanted = read_as.wanted(wanted)
            compiled.append(compile_test(path, wanted, patterns=patterns))
        except ValueError as fault:
            # Some name the path themselves.
            words = str(fault)
            faults.append(words if path in words else f"{path}: {words}")
    if faults:
        raise ValueError("; ".join(faults))
    return compiled


def _kind_of(kind: str, path: str) -> Kind:
    """How tests read a field. Raises ``ValueError`` when there is none."""
    if kind not in _FIELDS:
        return kind_of(followed(STORED[snake(kind)], path))
    known = _FIELDS[kind]
    if path not in known:
        raise ValueError(
            f"{path[:60]}: no such field{nearest(path[:60], known)}, allowed: {', '.join(known)}"
        )
    return TEXT
