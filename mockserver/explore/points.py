"""Points: the calls of a run without faults, each of which can fail. Source: docs/explore.md, What it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mockserver.scenario.operations import OPERATIONS


@dataclass(frozen=True, slots=True, order=True)
class Point:
    """One call of a run: its operation, and its number among the calls of that operation, from 1.

    ``notifies`` says that it caused webhooks in the run without faults.
    """

    op: str
    nth: int
    notifies: bool = False

    def __str__(self) -> str:
        return f"{self.op}#{self.nth}"


def points_of(entries: Iterable[Mapping[str, Any]]) -> list[Point]:
    """The calls that a journal (``GET /__admin/journal``) holds, in their order. Requests that are not operations of
    the service, and those refused unread, are left out."""
    return [
        Point(entry["op"], entry["call"], bool(entry["webhooks"]))
        for entry in entries
        if entry["call"] is not None and entry["op"] in OPERATIONS
    ]


def differences(first: Iterable[Mapping[str, Any]], second: Iterable[Mapping[str, Any]]) -> list[str]:
    """What two runs did otherwise, in words: calls, by operation and status, that one of them lacks. The order does not
    count: parallel clients have none."""
    before, after = (
        Counter(f"{one['op']} answered {one['status']}" for one in run if one["call"] is not None)
        for run in (first, second)
    )
    return [
        f"{what}: {_times(before[what])} in the first run, {_times(after[what])} in the second"
        for what in dict.fromkeys((*before, *after))
        if before[what] != after[what]
    ]


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")
