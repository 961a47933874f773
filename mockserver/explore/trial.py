"""One run of the command in a fresh sandbox, under a scenario or none: its calls, each of which can fail, and what
became of it. Source: docs/explore.md, What it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from os import SEEK_END
from pathlib import Path
from typing import Any

from mockserver.adapters.strict_yaml import scenario_text
from mockserver.domain.ids import digest
from mockserver.domain.masking import mask_printed
from mockserver.domain.record import record
from mockserver.explore.command import Commands, Ended
from mockserver.remote import ControlRefused, RemoteSandbox, timeline
from mockserver.scenario.operations import OPERATIONS


@dataclass(frozen=True, slots=True, order=True)
class InjectionPoint:
    """One call of a run: its operation, and its number among the calls of that operation, from 1.

    ``notifies`` says that it caused webhooks in the run without faults.
    """

    op: str
    nth: int
    notifies: bool = False

    def __str__(self) -> str:
        return f"{self.op}#{self.nth}"


def points_of(entries: Iterable[Mapping[str, Any]]) -> list[InjectionPoint]:
    """The calls that a journal (``GET /__admin/journal``) holds, in their order. Requests that are not operations of
    the service, and those refused unread, are left out."""
    return [
        InjectionPoint(entry["op"], entry["call"], bool(entry["webhooks"]))
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


class Verdict(StrEnum):
    """Verdicts, the worst last."""

    SURVIVED = "survived"
    NOT_REACHED = "not reached"
    FAILED = "failed"
    HUNG = "hung"
    UNSAFE = "unsafe"

    @property
    def rank(self) -> int:
        """Its place among all."""
        return list(Verdict).index(self)

    def reaches(self, least: Verdict) -> bool:
        """Whether it is at least as bad as another."""
        return self.rank >= least.rank


def verdict(code: int | None, findings: Iterable[Mapping[str, Any]], *, has_fired: bool) -> Verdict:
    """The verdict on a run: its exit code (None: not done in time), what the sandbox found, whether the fault struck.

    Money that moved wrongly counts whatever else is true. A fault that never struck says nothing of the command.
    """
    if any(row["severity"] == "error" for row in findings):
        return Verdict.UNSAFE
    if not has_fired:
        return Verdict.NOT_REACHED
    if code is None:
        return Verdict.HUNG
    return Verdict.SURVIVED if code == 0 else Verdict.FAILED


_LONGEST_OUTPUT = 20_000
"""Characters of a command's output, the last ones, that a report shows."""

_CLAIM = "exploring-"
"""How the scenarios begin that say who is at work on a server; they hold no rules."""

_READ = 4 * _LONGEST_OUTPUT + 1_000
"""Bytes that are read for them: what is cut in two is masked no more, so the cut comes long before."""


@record
class Trial:
    """What was seen of one run. ``entries`` is the journal, ``findings`` what the sandbox holds against the command,
    ``fired`` the rules that fired; ``is_manual`` says that its clock was set by hand."""

    ended: Ended
    entries: Sequence[Mapping[str, Any]]
    findings: Sequence[Mapping[str, Any]]
    fired: frozenset[str]
    timeline: str
    output: Path
    is_manual: bool

    @property
    def points(self) -> list[InjectionPoint]:
        """The calls that it made."""
        return points_of(self.entries)

    @property
    def has_called(self) -> bool:
        """Whether any call of the service came in."""
        return any(entry["call"] is not None for entry in self.entries)

    def printed(self) -> str:
        """The end of what it printed, card numbers, ccv and keys masked."""
        with self.output.open("rb") as file:
            file.seek(-min(_READ, file.seek(0, SEEK_END)), SEEK_END)
            return mask_printed(file.read().decode("utf-8", "replace"))[-_LONGEST_OUTPUT:]

    @property
    def words(self) -> str:
        """What it printed, to be added to a sentence."""
        said = self.printed().strip()
        return f"; it printed:\n{said}" if said else ""


@record
class TrialRunner:
    """Where a command is run: a server at ``url``, with its ``admin_token``, and a temporary ``folder`` for its
    output, unmasked. ``run`` distinguishes runs of one program from those of another at the same time; ``salt``
    is part of the names of sandboxes while another uses the same server with the same seed."""

    url: str
    argv: Sequence[str]
    commands: Commands
    folder: Path
    seed: int
    run: str
    admin_token: str | None = None
    salt: str = ""

    def try_out(self, name: str, scenario: Mapping[str, Any], timeout: float, key: str | None = None) -> Trial:
        """Run the command once in a fresh sandbox, for ``timeout`` seconds at most. ``name`` decides the sandbox's
        ``key``, unless that is given, and with the seed all that happens in it.

        Raises ``OSError`` for an unknown command, ``Interrupted`` when it was ended from outside,
        ``ControlRefused`` and ``httpx.HTTPError`` when the server refuses the scenario or is gone.
        """
        key = key or _key(self.seed, name, self.salt)
        sandbox = RemoteSandbox(self.url, key, admin_token=self.admin_token)
        # Another exploration may have used the server before.
        sandbox.call("POST", "/__admin/reset", params={"scenario": "true"})
        sandbox.call("POST", "/__admin/scenarios", content=scenario_text(scenario))
        given = {"url": self.url, "secret_key": key, "public_key": sandbox.public_key}
        output = self.folder / f"{name}.log"
        try:
            ended = self.commands.run(
                [_filled(word, given) for word in self.argv],
                {f"MOCKSERVER_{word.upper()}": value for word, value in given.items()},
                f"{self.run}-{name}",
                output,
                timeout,
            )
            return _seen(sandbox, ended, output)
        finally:
            sandbox.call("POST", "/__admin/reset", params={"scenario": "true"})
            sandbox.close()


@contextmanager
def isolated(runner: TrialRunner) -> Iterator[TrialRunner]:
    """A runner whose sandboxes no one else uses. Alone with its seed on its server it stays as it is, so that the
    same run gives the same ids; beside another, its sandboxes have names of their own.

    Raises ``ControlRefused`` and ``httpx.HTTPError`` when the server refuses or is gone.
    """
    from httpx import HTTPError

    here = RemoteSandbox(runner.url, _key(runner.seed), admin_token=runner.admin_token)
    claim = f"{_CLAIM}{digest(runner.run).hex()[:16]}"
    # Of two that come at once the server takes one after the other: each sees all that came before it.
    named = here.call("POST", "/__admin/scenarios", content=scenario_text({"version": 1, "name": claim}))["scenarios"]
    try:
        others = [one for one in named if one["name"].startswith(_CLAIM) and one["name"] != claim]
        yield replace(runner, salt=runner.run) if others else runner
    finally:
        with suppress(HTTPError, ControlRefused):
            here.call("DELETE", "/__admin/scenarios", params={"name": claim})
        here.close()


def _key(*parts: object) -> str:
    """The key of the sandbox that is known by these; empty ones do not count."""
    return f"sk_explore_{digest('explore', *(part for part in parts if part != '')).hex()[:24]}"


def _seen(sandbox: RemoteSandbox, ended: Ended, output: Path) -> Trial:
    entries = sandbox.journal()
    story = timeline(sandbox, entries)
    fired = frozenset(rule["id"] for rule in sandbox.rules() if rule["hits"])
    is_manual = sandbox.call("GET", "/__admin/clock")["mode"] == "manual"
    # Judged last: that the command has hung up is seen by then.
    return Trial(ended, entries, sandbox.findings(finish=True), fired, story, output=output, is_manual=is_manual)


def _filled(word: str, given: Mapping[str, str]) -> str:
    for name, value in given.items():
        word = word.replace(f"{{{name}}}", value)
    return word
