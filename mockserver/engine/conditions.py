"""Conditions to wait for: an object, a webhook or an arrival that meets all tests.

Source: docs/control-api.md (``/__admin/wait``).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from itertools import islice
from typing import Any

from mockserver.domain.errors import invalid, nearest
from mockserver.domain.masking import mask_start
from mockserver.domain.reading import camel, snake
from mockserver.domain.record import record
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import KINDS, value_at
from mockserver.scenario.kinds import TEXT, Kind
from mockserver.scenario.matching import FieldTest, compile_test, known_operators
from mockserver.scenario.paths import SECRET, STORED, followed, kind_of
from mockserver.scenario.patterns import Patterns

MOST_TESTS = 1_000
_MOST_FAULTS = 20
"""Faults that one refusal names: to find the nearest name for each of thousands takes minutes."""

MOST_READ = 20_000
"""Fields that one look reads: of very many objects it looks at the newest."""

_SHOWN_AS_THEY_ARE = frozenset({str, int, bool, Decimal})

_FIELDS: Mapping[str, Mapping[str, Callable[[Any], object]]] = {
    "webhook": {
        "id": lambda one: one.delivery_id,
        "messageId": lambda one: one.message_id,
        "type": lambda one: one.message.type,
        "eventType": lambda one: one.message.event_type,
        "subject": lambda one: one.message.subject_id,
        "url": lambda one: one.url,
        "state": lambda one: one.state.value,
        "tries": lambda one: len(one.tries),
    },
    "inbox": {
        "method": lambda one: one.method,
        "path": lambda one: one.path,
        "signature": lambda one: one.signature.value,
        "authorization": lambda one: one.headers.get("authorization"),
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
        rows, count = self._rows(sandbox)
        if not count and self.named is not None and self.kind != "inbox":
            return f"no {self.kind} '{mask_start(self.named, 64)}' in this sandbox"
        most = MOST_READ // len(self.tests) if self.tests else 0
        fits, why = 0 if self.tests else count, None
        tests = [(test, self._reader(sandbox, test.path)) for test in self.tests]
        for row in islice(rows, most):
            if fits >= self.count:
                break
            holds = all(test.holds(read(row)) for test, read in tests)
            fits += holds
            if not holds and not why:
                differences = (test.difference_of(read(row)) for test, read in tests)
                why = next(filter(None, differences), None)
        if fits >= self.count:
            return None
        if not count:
            return (
                f"this sandbox has no {self.kind}"
                if self.named is None
                else f"the inbox '{self.named}' is empty"
            )
        among = f"the newest {most} of {count}" if self.tests and count > most else f"{count}"
        words = f"{fits} of {self.count} wanted pass all tests, among {among}"
        return f"{words}; the newest other: {why}" if why is not None else words

    def _rows(self, sandbox: Sandbox) -> tuple[Iterable[Any], int]:
        """What is looked at, the newest first, and how many that are. Long tables are not copied
        for each look."""
        found: Sequence[Any]
        if self.kind == "webhook":
            found = [one for one in sandbox.deliveries if self.named in (None, one.delivery_id)]
        elif self.kind == "inbox":
            found = sandbox.inboxes.arrivals(self.named or "")
        else:
            table = KINDS[snake(self.kind)].table(sandbox)
            row = None if self.named is None else table.get(self.named)
            found = table.rows if self.named is None else [] if row is None else [row]
        return reversed(found), len(found)

    def _reader(self, sandbox: Sandbox, path: str) -> Callable[[Any], object]:
        """What reads the value of a path of a row."""
        if self.kind in _FIELDS:
            return _FIELDS[self.kind][path]
        name = snake(path)
        is_open = name not in SECRET

        def read(row: Any) -> object:
            # A look reads thousands of rows, and most values are as they are shown.
            held = getattr(row, name, None) if is_open else None
            if type(held) in _SHOWN_AS_THEY_ARE:
                return held
            value = value_at(sandbox, row, path)
            return value_at(sandbox, row, "state") if value is None and path == "status" else value

        return read


def read(wanted: object) -> list[WaitCondition]:
    """The conditions of ``for``: by kind, an object of tests; of an inbox the name will do. Raises
    ``Invalid`` (90) with every fault."""
    if not isinstance(wanted, dict) or not wanted:
        raise invalid({"For": 'wanted an object such as {"charge": {"id": ..., "status": ...}}'})
    found: list[WaitCondition] = []
    faults: dict[str, str] = {}
    for kind, tests in wanted.items():
        try:
            found.append(_condition(kind, tests))
        except ValueError as problem:
            faults[f"For.{kind[:40]}"] = str(problem)
        if len(faults) >= _MOST_FAULTS:
            break
    if faults:
        raise invalid(faults)
    return found


def _condition(kind: str, given: object) -> WaitCondition:
    """The condition of one kind. Raises ``ValueError`` with what is wrong with it."""
    kinds = [*map(camel, KINDS), *_FIELDS]
    if kind not in kinds:
        raise ValueError(f"no such kind{nearest(kind, kinds)}, allowed: {', '.join(kinds)}")
    is_inbox = kind == "inbox"
    if is_inbox and isinstance(given, str):
        given = {"name": given}
    if not isinstance(given, dict):
        form = '"shop" or {"name": "shop"}' if is_inbox else '{"id": ..., "status": ...}'
        raise ValueError(f"wanted an object of tests, such as {form}")
    tests = dict(given)
    count, named = tests.pop("count", 1), tests.pop("name" if is_inbox else "id", None)
    if type(count) is not int or not 1 <= count <= 1_000_000:
        raise ValueError("count: wanted a whole number, 1 or more")
    if is_inbox and (not isinstance(named, str) or not named):
        raise ValueError("name: wanted the name of an inbox")
    if named is not None and not isinstance(named, str):
        raise ValueError("id: wanted a text")
    if len(tests) > MOST_TESTS:
        raise ValueError(f"got {len(tests)} tests, wanted at most {MOST_TESTS}")
    if tests and count > (most := MOST_READ // len(tests)):
        raise ValueError(
            f"count: got {count}, wanted at most {most}: with {len(tests)} tests no more are "
            "looked at"
        )
    return WaitCondition(kind, _compiled(kind, tests), count, named)


def _compiled(kind: str, tests: Mapping[str, object]) -> Sequence[FieldTest]:
    """The tests of paths. Raises ``ValueError`` with what is wrong with some of them."""
    compiled: list[FieldTest] = []
    faults: list[str] = []
    patterns = Patterns()
    for path, wanted in tests.items():
        if len(faults) >= _MOST_FAULTS:
            break
        try:
            known_operators(wanted)
            read_as = _kind_of(kind, path)
            # A test that no value can meet never holds.
            with suppress(ValueError):
                wanted = read_as.wanted(wanted)
            compiled.append(compile_test(path, wanted, patterns=patterns))
        except ValueError as fault:
            faults.append(str(fault) if path in str(fault) else f"{path}: {fault}")
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
