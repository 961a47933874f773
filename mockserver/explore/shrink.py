"""From a chaotic run to the fewest faults that still fail.

A scenario of chance strikes dozens of calls, and a run fails. Which of the faults has done it? What
struck by chance is written down as rules for single calls (``fired_faults``). A run under these
must fail in the same way: then chance plays no part any more, and halves of them can be tried until
none can be left out (``minimise``). The result is an ordinary scenario file.

Every run is made in a sandbox of the same key: all ids and draws follow from that, so a webhook or
a row is found again by its id. Rules of a command that does not make the same calls each time do
not strike what they did, and that is said (``NotRepeated``).

Source: docs/explore.md, Shrinking a chaotic run.
"""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mockserver.domain.masking import mask_text
from mockserver.explore.fired_faults import FiredFault, Source, fired_faults, scenario_of
from mockserver.explore.minimise import minimise
from mockserver.explore.run_answers import EntryRow
from mockserver.explore.trial import FIRST_TIMEOUT, Observed, TrialRunner, no_call

CONFIRMATIONS = 3
"""Runs in which the result must fail before it is believed: a race may fail once by chance."""

_RUN = "shrink"
"""Name of every run."""

_LONGEST_NAME = 100
"""Characters that the name of a scenario may have."""


class NoFailure(Exception):
    """The command does not fail under the scenario: there is nothing to shrink."""


class NotRepeated(Exception):
    """The failure does not follow from what struck: the text says how that showed."""


class Stopped(Exception):
    """It was interrupted after something smaller had been found: the scenario ``made`` fails, and
    may be larger than need be."""

    def __init__(self, made: dict[str, object]) -> None:
        super().__init__("interrupted")
        self.made = made


def failure_of(seen: Observed, finding: str | None) -> str | None:
    """How a run fails, as a word for the name of a file; None when it does not: by the finding that
    is looked for, when one is, else by its exit code, else by its first error. A command that says
    itself that it failed is shrunk for that; warnings are no failure, as correct clients have
    some."""
    if finding is not None:
        return finding if finding in _failures(seen) else None
    if seen.ended.exit != 0:
        return _ending(seen)
    for row in seen.after.findings:
        if row["severity"] == "error":
            return row["finding"]
    return None


def _failures(seen: Observed) -> list[str]:
    """Every way in which a run fails: its exit code, then its findings. Code 0 is among them, and
    no failure that anybody looks for."""
    return [_ending(seen), *(row["finding"] for row in seen.after.findings)]


def _ending(seen: Observed) -> str:
    """How its command ended, as a word: one that had to be stopped has no exit code."""
    code = seen.ended.exit
    if code is None:
        return "hung"
    return f"exit-{code}"


def _in_words(failure: str) -> str:
    """How a command fails, to follow its name in a sentence."""
    if failure == "hung":
        return "is not done in time"
    if failure.startswith("exit-"):
        return f"ends with exit code {failure.removeprefix('exit-')}"
    return f"has the finding {failure}"


class _FirstRun(NamedTuple):
    """The run under the scenario as it is: how it failed, what fired, and ``doubts``, why the
    failure may not follow from what has fired, to be added to a sentence."""

    failure: str
    fired: Sequence[FiredFault]
    doubts: str


@dataclass
class Shrinking:
    """Shrinks the failure of one command under one scenario. ``key`` is the secret key of the
    sandbox of every run, so that identifiers and draws are the same in each; None: one made of the
    seed. ``timeout`` counts seconds, None: 10 times what the command takes without faults, and 10;
    ``report`` gets a line on each run."""

    runner: TrialRunner
    source: Source
    report: Callable[[str], None]
    key: str | None = None
    finding: str | None = None
    timeout: float | None = None

    def shrink(self) -> dict[str, object]:
        """The plain data of a scenario with the smallest set of faults that still fails. Raises
        ``NoFailure``, ``NotRepeated``, ``Stopped``, and what ``TrialRunner.try_out`` raises."""
        plain = self._run_under(())
        failure = failure_of(plain, self.finding)
        if failure is not None:
            raise NotRepeated(
                f"without any fault the command {_in_words(failure)} too{plain.words}"
            )
        if not plain.has_called:
            raise NotRepeated(f"{no_call(self.runner.argv)}{plain.words}")
        self.report("without any fault: passes")
        # A fault may make a command retry and wait, but not for ever.
        self.timeout = self.timeout or 10 * plain.ended.seconds + 10
        first = self._first()
        failure, calls = first.failure, _calls_of(_faults_in(first.fired))
        smallest = self._repeated(first)

        def fails(chosen: Sequence[FiredFault]) -> bool:
            nonlocal smallest
            still_fails = self._fails(failure, chosen)
            self.report(f"{_parts(chosen)}: {'still fails' if still_fails else 'passes'}")
            if still_fails and len(chosen) < len(smallest):
                smallest = chosen
            return still_fails

        try:
            left = minimise(smallest, fails)
            # It may have failed by chance.
            self._confirm(failure, left)
        except KeyboardInterrupt:
            how = "interrupted, so there may be a smaller one"
            raise Stopped(self._made(failure, calls, smallest, how)) from None
        return self._made(failure, calls, left, f"confirmed in {CONFIRMATIONS} runs")

    def _confirm(self, failure: str, left: Sequence[FiredFault]) -> None:
        """Raises ``NotRepeated`` where the result does not fail each time: a race may have failed
        once by chance, and would send its reader to the wrong fault."""
        for turn in range(1, CONFIRMATIONS + 1):
            if not self._fails(failure, left):
                raise NotRepeated(
                    f"the smallest set of faults, {_parts(left)}, failed once and passed in run "
                    f"{turn} of {CONFIRMATIONS} that were to confirm it: the command does not do "
                    "the same every time"
                )
            self.report(f"{_parts(left)}: confirmed {turn} of {CONFIRMATIONS}")

    def _first(self) -> _FirstRun:
        """The run under the scenario as it is. Raises ``NoFailure``, and ``NotRepeated`` where
        nothing has struck that a rule could repeat."""
        seen = self._run(self.source, wants_journal=True)
        failure, name = failure_of(seen, self.finding), self.source["name"]
        if failure is None:
            why = "exit code 0, no finding of severity error"
            if self.finding is not None:
                why = f"{self.finding} is not found"
            raise NoFailure(f"the command does not fail under {name}: {why}")
        fired, beyond = fired_faults(seen.journal, self.source)
        self.report(f"under {name}, with {_parts(_faults_in(fired))}: {_in_words(failure)}")
        doubts = ""
        if beyond:
            doubts += (
                f"; rules that struck where none can be aimed at one call: {', '.join(beyond)}"
            )
        if _has_lost_entries(seen.journal):
            doubts += "; the journal of the server has dropped its first entries (--journal-limit)"
        if not fired:
            raise NotRepeated(
                f"the command {_in_words(failure)}, and no fault had struck a "
                f"call{doubts}{seen.words}"
            )
        return _FirstRun(failure, fired, doubts)

    def _repeated(self, first: _FirstRun) -> Sequence[FiredFault]:
        """What fails as the first run did when nothing else strikes: the faults alone, or all that
        fired. What is no fault, as an approval, may be needed: a rule behind it would have struck
        else. Raises ``NotRepeated``."""
        for chosen in (_faults_in(first.fired), first.fired):
            if chosen and self._fails(first.failure, chosen):
                self.report(f"{_parts(chosen)}, one rule for each call: still fails")
                return chosen
        raise NotRepeated(
            f"the command {_in_words(first.failure)} under {self.source['name']}, and not when the "
            "same faults strike the same calls: it does not make the same calls every "
            f"time{first.doubts}"
        )

    def _fails(self, failure: str, faults: Sequence[FiredFault]) -> bool:
        """Whether the command fails so when these strike and nothing else."""
        return failure in _failures(self._run_under(faults))

    def _made(
        self, failure: str, calls: int, left: Sequence[FiredFault], how: str
    ) -> dict[str, object]:
        """The scenario of what is left, of faults at so many calls; its description tells how it
        was found."""
        origin = str(self.source["name"])
        name = f"{origin}-{failure}"[:_LONGEST_NAME]
        if "seed" in self.source:
            origin += f" with seed {self.source['seed']}"
        places = list(dict.fromkeys(str(fault.place) for fault in left))
        are_enough = "this one is enough" if len(places) == 1 else "these are enough"
        story = (
            f"Of the faults of {origin} at {calls} calls, {are_enough} ({', '.join(places)}): "
            f"`{shlex.join(self.runner.argv)}` {_in_words(failure)}; {how}"
        )
        return scenario_of(left, self.source, name=name, story=mask_text(story))

    def _run_under(self, faults: Sequence[FiredFault]) -> Observed:
        """What is seen when these strike and nothing else."""
        name = str(self.source["name"])
        return self._run(scenario_of(faults, self.source, name=name, story=""))

    def _run(self, scenario: Source, *, wants_journal: bool = False) -> Observed:
        """What is seen under a scenario. What fired, and why, stands in the journal alone; of rules
        for single calls it is known."""
        limit = self.timeout or FIRST_TIMEOUT
        return self.runner.try_out(_RUN, scenario, limit, key=self.key, wants_journal=wants_journal)


def _faults_in(fired: Sequence[FiredFault]) -> list[FiredFault]:
    """Of what fired, all that is out of the ordinary."""
    return [fired_fault for fired_fault in fired if fired_fault.is_fault]


def _has_lost_entries(journal: Sequence[EntryRow]) -> bool:
    """Whether a journal, which begins with entry 1, has dropped its oldest."""
    return bool(journal) and journal[0]["id"] > 1


def _calls_of(faults: Sequence[FiredFault]) -> int:
    """How many calls are struck: one may be struck in several ways, and at several providers."""
    return len({(fault.place.op, fault.place.nth) for fault in faults})


def _parts(faults: Sequence[FiredFault]) -> str:
    """A set of faults, in words."""
    if not faults:
        return "no fault"
    if len(faults) == 1:
        return f"{faults[0].level} at {faults[0].place}"
    return f"{len(faults)} faults at {_calls_of(faults)} calls"
