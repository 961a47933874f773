"""What a caller expects to have happened: an operation, tests as in ``when``, and how often.

Source: docs/control-api.md (``/__admin/verify``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mockserver.domain.errors import nearest
from mockserver.domain.record import record
from mockserver.scenario.attempt import Attempt
from mockserver.scenario.matching import shown
from mockserver.scenario.problems import Problems
from mockserver.scenario.rule import Expectation
from mockserver.scenario.when import When, compile_when, is_test, operations_of

_COUNTS = ("exactly", "min", "max")
_KEYS = ("op", "where", "count")
_ELSEWHERE: Mapping[str, str] = {
    "op": "give it beside where",
    "nth": "use count",
    "state": "what is stored has changed since; test what the request says",
}
"""Keys of ``when`` that mean nothing afterwards."""

_MOST = 1_000_000_000
_MOST_TESTS = 1_000
_MOST_FAULTS = 100


@record
class Expected:
    """One expectation. ``text`` is the operation as the caller wrote it."""

    text: str
    operations: frozenset[str]
    when: When
    bounds: Expectation

    def concerns(self, attempt: Attempt) -> bool:
        """Whether an attempt is one at the expected operation, by its first or second name."""
        return attempt.op in self.operations or attempt.also in self.operations


def expectations(given: object) -> tuple[list[Expected], dict[str, str]]:
    """The expectations of plain data, and every fault by its place: with a fault they mean nothing."""
    problems = Problems("verify", {})
    if not isinstance(given, list):
        return [], {"Requests": "wanted a list of {op, where, count}"}
    found: list[Expected] = []
    for place, raw in enumerate(given):
        if len(problems.found) >= _MOST_FAULTS:
            break
        found += _expected(raw, problems.below("requests", place))
    return found, {problem.path: problem.message for problem in problems.found}


def _expected(raw: object, problems: Problems) -> Iterator[Expected]:
    if isinstance(raw, str):
        raw = {"op": raw}
    if not isinstance(raw, Mapping):
        problems.add((), f"got {shown(raw)}, wanted an operation or an object with {', '.join(_KEYS)}")
        return
    where = raw.get("where") or {}
    if not isinstance(where, Mapping):
        problems.add(("where",), f"got {shown(where)}, wanted tests as in when")
        return
    if len(where) > _MOST_TESTS:
        problems.add(("where",), f"got {len(where)} tests, wanted at most {_MOST_TESTS}")
        return
    where = dict(where)
    for key, wanted in raw.items():
        if key in _KEYS:
            continue
        if is_test(str(key)):
            # Beside op, as in a rule.
            where.setdefault(key, wanted)
        else:
            allowed = f"allowed: {', '.join(_KEYS)} and tests such as request.amount"
            problems.add((str(key),), f"unknown key{nearest(str(key), _KEYS)}, {allowed}")
    for key in [key for key in where if str(key).partition(".")[0] in _ELSEWHERE]:
        problems.add(("where", str(key)), f"not here: {_ELSEWHERE[str(key).partition('.')[0]]}")
        del where[key]
    operations = operations_of(raw.get("op"), problems.below("op"))
    when = compile_when(where, problems.below("where"), operations)
    yield Expected(str(raw.get("op", "*")), operations, when, _bounds(raw.get("count"), problems.below("count")))


def _bounds(raw: object, problems: Problems) -> Expectation:
    found = Expectation()
    if raw is None:
        return found
    counts = {"exactly": raw} if type(raw) is int else raw
    with problems.at():
        if not isinstance(counts, Mapping) or not counts or any(key not in _COUNTS for key in counts):
            raise ValueError(f"got {shown(raw)}, wanted exactly, or min and max")
        if any(type(number) is not int or not 0 <= number <= _MOST for number in counts.values()):
            raise ValueError("wanted whole numbers of 0 or more")
        if "exactly" in counts and len(counts) > 1:
            raise ValueError("got exactly and another bound, wanted one of them")
        least, most = (counts.get(bound, counts.get("exactly")) for bound in ("min", "max"))
        found = Expectation(least or 0, most)
    return found
