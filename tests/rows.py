"""Tests of many rows that each take less than pytest takes to run a test."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import pytest


def each(
    names: str | Sequence[str],
    rows: Iterable[Any],
    *,
    ids: Iterable[str] | Callable[[Any], object] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """``pytest.mark.parametrize`` as one test: it tries every row, and reports all that fail.

    Fixtures are set up once for all rows: what a row changes it makes itself.
    """
    given = [one.strip() for one in names.split(",")] if isinstance(names, str) else list(names)
    cases = [_case(given, row) for row in rows]
    assert cases, "a test without rows proves nothing"
    named = ids if callable(ids) or ids is None else list(ids)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def all_rows(**fixtures: Any) -> None:
            __tracebackhide__ = True
            failures: list[BaseException] = []
            for number, (name, case) in enumerate(cases):
                try:
                    test(**fixtures, **case)
                except (Exception, pytest.fail.Exception) as failure:
                    failure.add_note(f"at row {number}: {name or _label(number, case, named)}")
                    failures.append(failure)
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(cases)} rows fail", failures)

        signature = inspect.signature(test)
        left = [one for name, one in signature.parameters.items() if name not in given]
        all_rows.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return all_rows

    return decorate


def _case(names: Sequence[str], row: Any) -> tuple[str | None, dict[str, Any]]:
    """The id of a row, if it has one, and its values by name."""
    if isinstance(row, type(pytest.param())):
        assert not row.marks, "a row that is marked is a test of its own"
        return row.id if isinstance(row.id, str) else None, dict(zip(names, row.values, strict=True))
    return None, dict(zip(names, (row,) if len(names) == 1 else row, strict=True))


def _label(number: int, case: dict[str, Any], ids: Sequence[str] | Callable[[Any], object] | None) -> str:
    if callable(ids):
        return "-".join(str(ids(value)) for value in case.values())
    return ids[number] if ids else ", ".join(f"{name}={value!r:.200}" for name, value in case.items())
