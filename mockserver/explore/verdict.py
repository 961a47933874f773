"""What became of a command under a fault. Source: docs/explore.md, What it runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """Verdicts, the worst last."""

    SURVIVED = "survived"
    NOT_REACHED = "not reached"
    FAILED = "failed"
    HUNG = "hung"
    UNSAFE = "unsafe"

    def reaches(self, least: Verdict) -> bool:
        """Whether it is at least as bad as another."""
        order = list(Verdict)
        return order.index(self) >= order.index(least)


def verdict(code: int | None, findings: Iterable[Mapping[str, Any]], *, has_struck: bool) -> Verdict:
    """The verdict on a run: its exit code (None: not done in time), what the sandbox found, whether the fault struck.

    Money that moved wrongly counts whatever else is true. A fault that never struck says nothing of the command.
    """
    if any(row["severity"] == "error" for row in findings):
        return Verdict.UNSAFE
    if not has_struck:
        return Verdict.NOT_REACHED
    if code is None:
        return Verdict.HUNG
    return Verdict.SURVIVED if code == 0 else Verdict.FAILED
