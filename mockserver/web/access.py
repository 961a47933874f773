"""What the log shows: one line of each request, put into words when it has been answered, and lines about other events.
Nothing in them is secret.

Source: docs/security.md; the command line's ``--log-format``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache

from mockserver.domain.clock import Micros, iso
from mockserver.domain.masking import mask_query, mask_text, printable, star_key
from mockserver.domain.record import record
from mockserver.engine.sandbox import masked_key
from mockserver.engine.step import Step
from mockserver.web.asgi import Scope
from mockserver.wire.jsonio import dumps

STEP = "mockserver.step"
"""The scope key under which an endpoint leaves the sandbox and the step that it took."""

STATUS = "mockserver.status"
"""The scope key of the status, which is set when the answer begins; without it there is no answer."""

OPERATION = "mockserver.op"
"""The scope key of what a request is counted as."""

REFUSED = "refused"
"""What requests are counted as that the guard turned away."""

QUIET_PATHS = frozenset({"/healthz", "/readyz", "/metrics"})
"""Probes: neither logged nor counted nor traced."""

_NO_STEP = (None, None)
_SHORT = 500
"""Bytes of a query, or characters of a key, that is kept with how it is shown: long ones would fill the memory."""

_ORDINARY = re.compile(r"(?:/(?:[a-z]++|(?=[0-9]*[a-f])[0-9a-f]{32})(?=/|\Z))++")
"""A path of words and of ids of our own form, of which nothing is masked."""

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"})
"""The methods of HTTP; any other text may be a secret."""


@record
class LogLine:
    """One line about an event: its ``text``, or ``facts`` for a log in JSON. ``level`` is one of ``LOG_LEVELS``."""

    level: str
    text: str
    facts: Mapping[str, object]

    def lines(self, *, as_json: bool) -> list[str]:
        """The line."""
        return [dumps(self.facts).decode() if as_json else printable(self.text)]


@record
class Access:
    """A request and what became of it. ``began`` and ``ended`` are the machine's time; status 0 means no answer;
    ``fault`` is the name of an unforeseen error."""

    scope: Scope
    began: Micros
    ended: Micros
    status: int
    fault: str | None = None

    @property
    def level(self) -> str:
        """``warning`` when the request gave cause for one, else ``info``."""
        _, step = self.scope.get(STEP, _NO_STEP)
        return "warning" if step is not None and step.result.warnings else "info"

    def lines(self, *, as_json: bool) -> list[str]:
        """The line of the request, and one for each warning that it gave cause for. Time, status, duration, method,
        path, operation, sandbox, rule; the first four in columns."""
        scope = self.scope
        step: Step | None = scope.get(STEP, _NO_STEP)[1]
        key = _key_of(scope)
        time = log_time(self.ended)
        took = f"{(self.ended - self.began + 5) // 10 / 100:.2f}"
        method = scope["method"] if scope["method"] in METHODS else mask_text(scope["method"])
        op: str | None = None
        rule: str | None = None
        warnings: tuple[str, ...] = ()
        if step is not None:
            op, result = step.asked.op, step.result
            rule = next((one.rule for one in result.decisions if one.rule), None) if result.ruled else None
            warnings = result.warnings
        path = _masked_path(scope, key) + _shown_query(scope["query_string"], key)
        sandbox = _masked_key(key) if key else None
        if as_json:
            facts = {"time": time, "method": method, "path": path, "op": op, "status": self.status or None}
            facts |= {"ms": Decimal(took), "sandbox": sandbox, "rule": rule}
            told = [{"time": time, "warning": text, "sandbox": sandbox} for text in warnings]
            return [dumps(row).decode() for row in (facts, *told)]
        end = f"{path} {op or '-'} {sandbox or '-'} {f'rule={rule}' if rule else '-'}"
        line = f"{time} {self.status or '-':>3} {took:>9}ms {method:6} {end}"
        return [printable(line), *(printable(f"{time} warning: {text} {sandbox or '-'}") for text in warnings)]


def log_time(at: Micros) -> str:
    """An instant of the machine's time in UTC, in whole milliseconds."""
    return f"{iso(at)[:23]}Z"


def _masked_key(key: str) -> str:
    return (_masked_short_key if len(key) <= _SHORT else masked_key)(key)


_masked_short_key = lru_cache(maxsize=10_000)(masked_key)


def _shown_query(query: bytes, key: str | None) -> str:
    if not query:
        return ""
    is_short = len(query) <= _SHORT and len(key or "") <= _SHORT
    return (_masked_query if is_short else _masked_query.__wrapped__)(query, key)


@lru_cache(maxsize=512)
def _masked_query(query: bytes, key: str | None) -> str:
    pairs = ((name, "***" if value == key else value) for name, value in mask_query(query).items())
    return "?" + "&".join(f"{name}={value}" for name, value in pairs)


def shown_path(scope: Scope) -> str:
    """The path of a request as it may be shown: its key is masked even when it does not look like one."""
    return _masked_path(scope, _key_of(scope))


def _masked_path(scope: Scope, key: str | None) -> str:
    path: str = scope["path"]
    return star_key(path if _ORDINARY.fullmatch(path) else mask_text(path), key)


def _key_of(scope: Scope) -> str | None:
    sandbox, _ = scope.get(STEP, _NO_STEP)
    if sandbox is not None:
        key: str = sandbox.key
        return key
    sent = next((value for name, value in scope["headers"] if name == b"x-secretkey"), b"")
    return sent.decode("latin-1") or None
