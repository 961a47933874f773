"""What is noted of each request: its line in the log, put into words when it has been answered, and
the counts that ``GET /metrics`` shows, in whole numbers; and lines about other events.

Nothing in a line is secret: logs are kept for long and sent to others, so keys, card numbers and
queries are masked in paths too. Nothing that clients choose freely is a label of a count, or each
new value would be a new series in the memory of whoever collects them: operations are those of the
tables, statuses three digits.

Endpoints and guard leave what they know of a request in its scope, under the keys below: the guard,
which notes it, sees neither request nor reply. Lines are made for every request, so what they are
made of is remembered for values that come again (``BoundedCache``).

Source: docs/security.md; the command line's ``--log-format``.
"""

import asyncio
import re
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import field
from decimal import Decimal
from functools import lru_cache
from typing import TypeAlias

from mockserver.domain.bounded_cache import BoundedCache
from mockserver.domain.clock import MILLISECOND, SECOND, Micros, iso
from mockserver.domain.masking import mask_query, mask_text, printable, star_key
from mockserver.domain.record import mutable, record
from mockserver.engine.sandbox import masked_key
from mockserver.engine.step import Step
from mockserver.web.request import Scope
from mockserver.wire.jsonio import dumps

STEP = "mockserver.step"
"""The scope key under which an endpoint leaves the step that it took."""

STATUS = "mockserver.status"
"""The scope key of the status, there once the answer begins; without it there was no answer."""

OPERATION = "mockserver.op"
"""The scope key of the operation that a request is counted as."""

REFUSED = "refused"
"""What requests are counted as that the guard turned away."""

QUIET_PATHS = frozenset({"/healthz", "/readyz", "/metrics"})
"""Probes: neither logged nor counted nor traced."""

_SHORT = 500
"""Characters of a key or a query that is kept with how it is shown: long ones would fill the
memory."""
_NOTHING_TO_MASK = re.compile(r"(?:/(?:[a-z]++|(?=[0-9]*[a-f])[0-9a-f]{32})(?=/|\Z))++")
"""A path of words and of ids of our own form, of which nothing is masked."""

METHODS = frozenset(
    {"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"}
)
"""The methods of HTTP; any other text in their place may be a secret."""


@record
class LogLine:
    """One line about an event: its ``text``, or ``facts`` for a log in JSON. ``level`` is one of
    ``LOG_LEVELS``."""

    level: str
    text: str
    facts: Mapping[str, object]

    def lines(self, *, as_json: bool) -> list[str]:
        """The line, as the log prints it."""
        return [dumps(self.facts).decode() if as_json else printable(self.text)]


@record
class Access:
    """A request and what became of it. ``began`` and ``ended`` are the machine's time; status 0
    means no answer; ``fault`` is the name of an unforeseen error."""

    scope: Scope
    began: Micros
    ended: Micros
    status: int
    fault: str | None = None

    @property
    def level(self) -> str:
        """``warning`` when the request gave cause for one, else ``info``."""
        step: Step | None = self.scope.get(STEP)
        return "warning" if step is not None and step.result.warnings else "info"

    def lines(self, *, as_json: bool) -> list[str]:
        """The line of the request, the first four of its parts in columns, and one for each warning
        that it gave cause for."""
        scope = self.scope
        step: Step | None = scope.get(STEP)
        op = rule = None
        warnings: tuple[str, ...] = ()
        if step is not None:
            op, warnings = step.asked.op, step.result.warnings
            if step.result.ruled:
                rules = [decision.rule for decision in step.result.decisions if decision.rule]
                rule = rules[0] if rules else None
        key = _key_of(scope)
        sandbox = _shown_key(key) if key else None
        method = scope["method"]
        if method not in METHODS:
            method = mask_text(method)
        path, query = _masked_path(scope["path"], key), scope["query_string"]
        if query:
            path += _MASKED_QUERIES[query, key]
        time = log_time(self.ended)
        # Microseconds to milliseconds with two digits, in whole numbers till the last.
        took = f"{(self.ended - self.began + 5) // 10 / 100:.2f}"
        if as_json:
            facts = {
                "time": time,
                "method": method,
                "path": path,
                "op": op,
                "status": self.status or None,
                "ms": Decimal(took),
                "sandbox": sandbox,
                "rule": rule,
            }
            told = [{"time": time, "warning": text, "sandbox": sandbox} for text in warnings]
            return [dumps(row).decode() for row in (facts, *told)]
        by_rule = f"rule={rule}" if rule else "-"
        end = f"{path} {op or '-'} {sandbox or '-'} {by_rule}"
        line = f"{time} {self.status or '  -'} {took:>9}ms {method:<6} {end}"
        lines = [line, *(f"{time} warning: {text} {sandbox or '-'}" for text in warnings)]
        # A line end in a path must not begin a line that nobody has written.
        return list(map(printable, lines))


def log_time(at: Micros) -> str:
    """An instant of the machine's time in UTC, in whole milliseconds."""
    millis = at // MILLISECOND
    return f"{_second_text(millis // 1_000)}{str(millis)[-3:]}Z"


@lru_cache(4)
def _second_text(second: int) -> str:
    """A date-time up to the point behind its seconds: thousands of lines share one."""
    return iso(second * SECOND)[:20]


_QueryAndKey: TypeAlias = tuple[bytes, str | None]
"""The query of a request, and the key of its sandbox."""


def _masked_query(asked: _QueryAndKey) -> str:
    """The query of a request as it may be shown, with its mark; the key of the sandbox is
    masked even when it does not look like one."""
    query, key = asked
    shown: list[str] = []
    for name, value in mask_query(query).items():
        shown_value = "***" if value == key else value
        shown.append(f"{name}={shown_value}")
    return f"?{'&'.join(shown)}"


def _is_short_query(asked: _QueryAndKey) -> bool:
    query, key = asked
    return len(query) + len(key or "") <= _SHORT


def _is_short_key(key: str) -> bool:
    return len(key) <= _SHORT


_MASKED_QUERIES = BoundedCache(512, _masked_query, _is_short_query)
_shown_key = BoundedCache(1_000, masked_key, _is_short_key).__getitem__


def shown_path(scope: Scope) -> str:
    """The path of a request as it may be shown."""
    return _masked_path(scope["path"], _key_of(scope))


def _masked_path(path: str, key: str | None) -> str:
    """A path as it may be shown. Somebody may have put the ``key`` of the request into it, which is
    masked even when it does not look like one."""
    if not _NOTHING_TO_MASK.fullmatch(path):
        path = mask_text(path)
    return star_key(path, key)


def _key_of(scope: Scope) -> str | None:
    """The secret key of the sandbox that a request is about, to be masked wherever it stands: that
    of its step, or of a request that came to no step the one that it sent."""
    step: Step | None = scope.get(STEP)
    if step is not None:
        return step.sandbox.key
    for name, value in scope["headers"]:
        if name == b"x-secretkey":
            return value.decode("latin-1") or None
    return None


BOUNDS: tuple[Micros, ...] = tuple(
    int(bound * MILLISECOND)
    for bound in (0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000)
)
"""Upper bounds of the buckets of the histogram."""

BEAT = 0.25
"""Seconds between two looks at how late the event loop comes."""

WINDOW = 60
"""Seconds over which its longest lag counts."""


@mutable
class OperationCounts:
    """The requests of one operation: the number by status (0: no answer), in each bucket of
    ``BOUNDS`` and beyond the last, and their total time, with what a scenario lets them take."""

    statuses: Counter[int] = field(default_factory=Counter)
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    took: Micros = 0

    def note(self, access: Access) -> None:
        """Count one."""
        took = access.ended - access.began
        self.statuses[access.status] += 1
        self.buckets[bisect_left(BOUNDS, took)] += 1
        self.took += took


async def measure(lags: deque[float]) -> None:
    """Note how late the event loop comes, in seconds, until cancelled: every request waits that
    long, whatever it asks, so this is what tells an operator that the server has too much to do."""
    time = asyncio.get_running_loop().time
    while True:
        due = time() + BEAT
        await asyncio.sleep(BEAT)
        lags.append(max(time() - due, 0.0))
