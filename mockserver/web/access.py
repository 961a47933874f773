"""One request as the log shows it: one line, nothing secret in it, put into words when it has been answered.

Source: docs/security.md; the command line's ``--log-format``.
"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache

from mockserver.domain.bounded_cache import BoundedCache
from mockserver.domain.clock import SECOND, Micros, iso
from mockserver.domain.masking import mask_query, mask_text, printable, star_key
from mockserver.engine.sandbox import masked_key
from mockserver.engine.step import Step
from mockserver.web.asgi import Scope
from mockserver.wire.jsonio import dumps

STEP = "mockserver.step"
"""The scope key under which an endpoint leaves the sandbox and the step that it took."""

STATUS = "mockserver.status"
"""The scope key under which who answers leaves the status, as it begins to; without one there is no answer."""

QUIET_PATHS = frozenset({"/healthz", "/readyz", "/metrics"})
"""Asked again and again by machines: neither logged nor counted nor traced."""

_NO_STEP = (None, None)
_SHORT = 500
"""Bytes of a query, or characters of a key, that is kept with how it is shown: long ones would fill the memory."""

_OWN_ID = re.compile(r"(?=[0-9]*[a-f])[0-9a-f]{32}")
"""An id of our own form, of which nothing is masked."""

_ORDINARY = re.compile(rf"(?:/(?:[a-z]++|{_OWN_ID.pattern})(?=/|\Z))++")
"""A path of words and of such ids."""
_masked_short_key = lru_cache(maxsize=10_000)(masked_key)


class Access:
    """A request and what became of it. ``began`` and ``ended`` are the machine's time; status 0 means no answer."""

    __slots__ = ("began", "ended", "scope", "status")

    def __init__(self, scope: Scope, began: Micros, ended: Micros, status: int) -> None:
        self.scope = scope
        self.began = began
        self.ended = ended
        self.status = status

    @property
    def level(self) -> str:
        """``warning`` when the request gave cause for one, else ``info``."""
        _, step = self.scope.get(STEP, _NO_STEP)
        return "warning" if step is not None and step.result.warnings else "info"

    def lines(self, *, as_json: bool) -> list[str]:
        """The line of the request, and one for each warning that it gave cause for. Time, status, duration, method,
        path, operation, sandbox, rule; the first four in columns."""
        scope = self.scope
        sandbox, step = scope.get(STEP, _NO_STEP)
        if as_json:
            return self._as_json(step)
        if step is not None and not step.result.warnings:
            # What nearly every request comes to, without a detour: a line costs the requests their time. A path is one
            # of the table of routes: nothing in it is to be masked but a key, and what its placeholders name.
            op, key, path = step.asked.op, sandbox.key, scope["path"]
            is_plain = key not in path
            if scope["path_params"]:
                for named in scope["path_params"].values():
                    is_plain = is_plain and _OWN_ID.fullmatch(named) is not None
            target = path if is_plain else printable(_masked_path(scope, key))
            if query := scope["query_string"]:
                target += printable(_shown_query(query, key))
        else:
            op, key = step.asked.op if step is not None else "-", _key_of(scope)
            target = printable(self._target(key))
        rule = _rule_of(step) if step is not None and step.result.ruled else None
        kind = self.status, scope["method"], op, key, rule
        status, method, end = _common_of(kind) if key is None or len(key) <= _SHORT else _common(kind)
        ended = self.ended
        second, took = ended // SECOND, _took_text((ended - self.began + 5) // 10)
        time = f"{_second_text(second)}{str(ended - second * SECOND + SECOND)[1:4]}Z"
        line = f"{time} {status} {took}ms {method} {target} {end}"
        if step is None or not step.result.warnings:
            return [line]
        masked = printable(_masked_key(key)) if key else "-"
        return [line, *(f"{time} warning: {printable(text)} {masked}" for text in step.result.warnings)]

    def _as_json(self, step: Step | None) -> list[str]:
        key = _key_of(self.scope)
        facts: dict[str, object] = {
            "time": iso(self.ended)[:23] + "Z",
            "method": mask_text(self.scope["method"]),
            "path": self._target(key),
            "op": step.asked.op if step else None,
            "status": self.status or None,
            "ms": Decimal(_took_text((self.ended - self.began + 5) // 10).strip()),
            "sandbox": _masked_key(key) if key else None,
            "rule": _rule_of(step) if step else None,
        }
        warnings = [
            {"time": facts["time"], "warning": text, "sandbox": facts["sandbox"]}
            for text in (step.result.warnings if step else ())
        ]
        return [dumps(row).decode() for row in (facts, *warnings)]

    def _target(self, key: str | None) -> str:
        """Path and query; the key of the request is masked in them even when it does not look like one."""
        return _masked_path(self.scope, key) + _shown_query(self.scope["query_string"], key)


def _rule_of(step: Step) -> str | None:
    return next((decision.rule for decision in step.result.decisions if decision.rule), None)


def _masked_key(key: str) -> str:
    return (_masked_short_key if len(key) <= _SHORT else masked_key)(key)


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


_second_text = BoundedCache[int, str](4, lambda seconds: iso(seconds * SECOND)[:20]).__getitem__
_took_text = BoundedCache[int, str](4_096, lambda hundredths: "%9.2f" % (hundredths / 100)).__getitem__
"""The time that a request took, in milliseconds, by hundredths of one: to word a float takes six times as long."""


def _common(kind: tuple[int, str, str, str | None, str | None]) -> tuple[str, str, str]:
    """What lines of requests that differ in path and time alone have in common: the status, the method, and what comes
    after the path. To word it takes half as long as the rest of a line."""
    status, method, op, key, rule = kind
    end = f"{op} {_masked_key(key) if key else '-'} {f'rule={rule}' if rule else '-'}"
    return f"{status or '-':>3}", f"{printable(mask_text(method)):6}", printable(end)


_common_of = BoundedCache(1_024, _common).__getitem__
