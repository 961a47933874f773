"""From a chaotic run to the smallest set of faults that still fails. Source: docs/explore.md, Shrinking a chaotic run;
the published algorithm ddmin of Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, pairwise, starmap
from typing import Any, NamedTuple, TypeVar

from mockserver.domain.masking import mask_text
from mockserver.domain.record import record
from mockserver.explore.exploration import FIRST_TIMEOUT, NO_CALL
from mockserver.explore.trial import Laboratory, Trial
from mockserver.scenario.operations import PROVIDER_OPERATIONS
from mockserver.scenario.outcome import ThenMap
from mockserver.scenario.part import read_part
from mockserver.scenario.provider_outcome import Approve
from mockserver.scenario.webhook_plan import WebhookPlan

Source = Mapping[str, Any]
"""The plain data of a scenario file."""

_RENEWAL = "subscription.renew"
_SEQUENCE_ONLY = "times"
_NOT_AIMED = "replay"
"""An earlier answer again: a rule for one call has seen none."""

_REPLACED = ("version", "name", "description", "draws", "rules", "examples")


class Place(NamedTuple):
    """Where something struck: call ``nth`` of ``op``, as the provider of that try was asked (None: no provider), or
    while its body was sent."""

    op: str
    nth: int
    attempt: int | None = None
    is_upload: bool = False

    @property
    def is_counted(self) -> bool:
        """Whether a rule must count for itself to find it: the number of the call is not known there."""
        return self.op == _RENEWAL or self.is_upload

    def __str__(self) -> str:
        return f"{self.op}#{self.nth}"


@record
class Strike:
    """One part of what a rule made happen: ``level`` is a key of an outcome, ``what`` stands under it in the file."""

    rule: str
    place: Place
    level: str
    what: Any


def is_fault(level: str, what: object) -> bool:
    """Whether a part of an outcome is anything out of the ordinary."""
    outcome = read_part(ThenMap, {level: what}).outcome
    return outcome.provider != Approve() and outcome.webhook != WebhookPlan()


@record
class Struck:
    """What struck in a run. ``beyond`` names the rules that struck where no rule can be aimed: at rows of a batch, in
    work that came due, after a sequence had ended, or with an earlier answer."""

    strikes: tuple[Strike, ...]
    beyond: tuple[str, ...]


def struck(entries: Iterable[Mapping[str, Any]], source: Source) -> Struck:
    """What the rules of a scenario did, by the journal (``GET /__admin/journal``) of a sandbox in which it was in
    force."""
    rules = {str(rule["id"]): rule for rule in source.get("rules", ())}
    found: dict[tuple[Place, str], Strike] = {}
    beyond: dict[str, None] = {}
    for place, decision in _placed(entries):
        name = decision["rule"]
        if name not in rules:
            continue
        outcome = _outcome(rules[name], decision["choice"])
        if outcome is None or place is None or _NOT_AIMED in outcome:
            beyond |= {name: None} if outcome is None or any(starmap(is_fault, outcome.items())) else {}
            continue
        for level, what in outcome.items():
            drawn = decision["delay"] if level == "latency" else what
            # The first rule that says something of a level decides it.
            found.setdefault((place, level), Strike(name, place, level, drawn))
    return Struck(tuple(found.values()), tuple(beyond))


def _placed(entries: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Place | None, Mapping[str, Any]]]:
    """Each decision with its place, None where no rule can be aimed."""
    renewals: Counter[int] = Counter()
    for entry in entries:
        op, attempt = entry["op"], 0
        for decision in entry["decisions"]:
            if decision["stage"] != "provider":
                place = Place(op, entry["call"], is_upload=decision["stage"] == "upload")
                yield (None if entry["call"] is None else place), decision
                continue
            attempt += 1
            if op in PROVIDER_OPERATIONS:
                yield (None if entry["call"] is None else Place(op, entry["call"], attempt)), decision
            else:
                renewals[attempt] += 1
                yield Place(_RENEWAL, renewals[attempt], attempt), decision


def _outcome(rule: Source, choice: int | None) -> Source | None:
    """The outcome of a rule that was drawn; None where it is none of the file's."""
    if choice is None:
        return None
    if "sequence" in rule:
        said = rule["sequence"][choice - 1]
    elif "chance" in rule:
        chance = rule["chance"]
        said = (chance[choice - 1] if isinstance(chance, list) else chance)["then"]
    else:
        said = rule["then"]
    return {level: what for level, what in said.items() if what is not None and level != _SEQUENCE_ONLY}


def scenario_of(strikes: Sequence[Strike], source: Source, *, name: str, story: str) -> dict[str, Any]:
    """The plain data of a scenario in which this strikes and nothing else. What ``source`` says beside its rules stays,
    its examples apart."""
    kept = {key: value for key, value in source.items() if key not in _REPLACED}
    return {"version": 1, "name": name, "description": story, **kept, "rules": rules_of(strikes)}


def rules_of(strikes: Sequence[Strike]) -> list[dict[str, Any]]:
    """A rule for each place, with all that strikes there."""
    places: dict[Place, list[Strike]] = {}
    for strike in strikes:
        places.setdefault(strike.place, []).append(strike)
    # A rule does not count what a rule before it has decided: the last comes first.
    counted = sorted((place for place in places if place.is_counted), key=lambda place: -place.nth)
    known = [place for place in places if not place.is_counted]
    return [_rule(place, places[place]) for place in (*known, *counted)]


def _rule(place: Place, strikes: Sequence[Strike]) -> dict[str, Any]:
    number, key = ("nth", {"key": ["op"]}) if place.is_counted else ("call", {})
    when = {"op": place.op, number: place.nth}
    if place.attempt is not None:
        when["attempt"] = place.attempt
    stage = "-upload" if place.is_upload else "" if place.attempt is None else f"-provider-{place.attempt}"
    return {
        "id": f"{place.op}-{place.nth}{stage}",
        "description": "from " + " and ".join(dict.fromkeys(strike.rule for strike in strikes)),
        "when": when,
        **key,
        "then": {strike.level: strike.what for strike in strikes},
    }


CONFIRMATIONS = 3
"""Runs in which the result must fail before it is believed."""

_RUN = "shrink"
"""Name of every run."""


class NoFailure(Exception):
    """The command does not fail under the scenario: there is nothing to shrink."""


class NotRepeated(Exception):
    """The failure does not follow from what struck: the text says how that showed."""


class Stopped(Exception):
    """It was interrupted after something smaller had been found: ``made`` fails, and may be larger than need be."""

    def __init__(self, made: Shrunk) -> None:
        super().__init__("interrupted")
        self.made = made


@record
class Failure:
    """How a run fails: a finding by its name, an exit code, or neither: it was not done in time."""

    finding: str | None = None
    exit: int | None = None

    @classmethod
    def of(cls, trial: Trial, finding: str | None) -> Failure | None:
        """The failure of a run, None when there is none: the finding that is looked for, when one is, else the exit
        code, else the first finding of severity error."""
        if finding is not None:
            return cls(finding) if finding in _names(trial) else None
        if trial.ended.exit != 0:
            return cls(exit=trial.ended.exit)
        errors = [row["finding"] for row in trial.findings if row["severity"] == "error"]
        return cls(errors[0]) if errors else None

    def is_in(self, trial: Trial) -> bool:
        """Whether a run fails so."""
        return self.finding in _names(trial) if self.finding is not None else trial.ended.exit == self.exit

    @property
    def name(self) -> str:
        """A word for the name of a file."""
        return self.finding or ("hung" if self.exit is None else f"exit-{self.exit}")

    def __str__(self) -> str:
        if self.finding is not None:
            return f"has the finding {self.finding}"
        return "is not done in time" if self.exit is None else f"ends with exit code {self.exit}"


def _names(trial: Trial) -> set[str]:
    return {row["finding"] for row in trial.findings}


@record
class Shrunk:
    """What is left: ``strikes`` of ``faults`` faults that struck, and the plain data of the scenario file."""

    failure: Failure
    faults: int
    strikes: tuple[Strike, ...]
    scenario: dict[str, Any]


@dataclass
class Shrinking:
    """Shrinks the failure of one command under one scenario. ``key`` is the secret key of the sandbox of every run, so
    that identifiers and draws are the same in each; None: one made of the seed. ``timeout`` counts seconds, None: 10
    times what the command takes without faults, and 10; ``report`` gets a line on each run."""

    lab: Laboratory
    source: Source
    key: str | None = None
    finding: str | None = None
    timeout: float | None = None
    report: Callable[[str], None] = lambda line: None
    _beyond: str = field(default="", init=False)

    def shrink(self) -> Shrunk:
        """The smallest set of faults that still fails. Raises ``NoFailure``, ``NotRepeated``, ``Stopped``, and what
        ``Laboratory.try_out`` raises."""
        plain = self._run((), self.timeout or FIRST_TIMEOUT)
        failure = Failure.of(plain, self.finding)
        if failure is not None:
            raise NotRepeated(f"without any fault the command {failure} too{plain.words}")
        if not plain.has_called:
            raise NotRepeated(f"{NO_CALL}{plain.words}")
        self.report("without any fault: passes")
        self.timeout = self.timeout or 10 * plain.ended.seconds + 10
        failure, strikes = self._first()
        faults = [one for one in strikes if is_fault(one.level, one.what)]
        smallest: Sequence[Strike] = self._repeated(failure, strikes, faults)
        count = len({one.place[:2] for one in faults})

        def fails(chosen: Sequence[Strike]) -> bool:
            nonlocal smallest
            found = failure.is_in(self._run(chosen))
            self.report(f"{_parts(chosen)}: {'still fails' if found else 'passes'}")
            if found and len(chosen) < len(smallest):
                smallest = chosen
            return found

        try:
            left = minimise(smallest, fails)
            self._confirm(failure, left)
        except KeyboardInterrupt:
            raise Stopped(self._made(failure, count, smallest, "interrupted, so there may be a smaller one")) from None
        return self._made(failure, count, left, f"confirmed in {CONFIRMATIONS} runs")

    def _confirm(self, failure: Failure, left: Sequence[Strike]) -> None:
        for turn in range(1, CONFIRMATIONS + 1):
            if not failure.is_in(self._run(left)):
                raise NotRepeated(
                    f"the smallest set of faults, {_parts(left)}, failed once and passed in run {turn} of "
                    f"{CONFIRMATIONS} that were to confirm it: the command does not do the same every time"
                )
            self.report(f"{_parts(left)}: confirmed {turn} of {CONFIRMATIONS}")

    def _first(self) -> tuple[Failure, Sequence[Strike]]:
        """The failure under the scenario as it is, and what struck."""
        first = self._try(dict(self.source))
        failure = Failure.of(first, self.finding)
        if failure is None:
            why = (
                "exit code 0, no finding of severity error" if self.finding is None else f"{self.finding} is not found"
            )
            raise NoFailure(f"the command does not fail under {self.source['name']}: {why}")
        found = struck(first.entries, self.source)
        faults = [one for one in found.strikes if is_fault(one.level, one.what)]
        self.report(f"under {self.source['name']}, with {_parts(faults)}: {failure}")
        if found.beyond:
            names = ", ".join(found.beyond)
            self._beyond = f"; rules that struck where none can be aimed at one call: {names}"
        if first.entries[:1] and first.entries[0]["id"] > 1:
            self._beyond += "; the journal of the server has dropped its first entries (--journal-limit)"
        if not found.strikes:
            raise NotRepeated(f"the command {failure}, and no fault had struck a call{self._beyond}{first.words}")
        return failure, found.strikes

    def _repeated(self, failure: Failure, strikes: Sequence[Strike], faults: Sequence[Strike]) -> Sequence[Strike]:
        """Those that fail when nothing else strikes: the faults alone, or with what went its ordinary way."""
        for chosen in (faults, strikes):
            if chosen and failure.is_in(self._run(chosen)):
                self.report(f"{_parts(chosen)}, one rule for each call: still fails")
                return chosen
        raise NotRepeated(
            f"the command {failure} under {self.source['name']}, and not when the same faults strike the same calls: "
            f"it does not make the same calls every time{self._beyond}"
        )

    def _made(self, failure: Failure, faults: int, left: Sequence[Strike], how: str) -> Shrunk:
        name = f"{self.source['name']}-{failure.name}"[:100]
        places = list(dict.fromkeys(str(one.place) for one in left))
        seed = f" with seed {self.source['seed']}" if "seed" in self.source else ""
        story = (
            f"Of the faults of {self.source['name']}{seed} at {faults} calls, "
            f"{'this one is' if len(places) == 1 else 'these are'} enough ({', '.join(places)}): "
            f"`{shlex.join(self.lab.argv)}` {failure}; {how}"
        )
        return Shrunk(failure, faults, tuple(left), scenario_of(left, self.source, name=name, story=mask_text(story)))

    def _run(self, strikes: Sequence[Strike], timeout: float | None = None) -> Trial:
        scenario = scenario_of(strikes, self.source, name=str(self.source["name"]), story="")
        return self._try(scenario, timeout)

    def _try(self, scenario: dict[str, Any], timeout: float | None = None) -> Trial:
        return self.lab.try_out(_RUN, scenario, timeout or self.timeout or FIRST_TIMEOUT, key=self.key)


def _parts(strikes: Sequence[Strike]) -> str:
    if not strikes:
        return "no fault"
    if len(strikes) == 1:
        return f"{strikes[0].level} at {strikes[0].place}"
    return f"{len(strikes)} faults at {len({one.place[:2] for one in strikes})} calls"


T = TypeVar("T")


def minimise(things: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> list[T]:
    """Things that still fail together, in their order, of which none can be left out alone.

    ``things`` fail together, and nothing fails alone: neither is tried. ``fails`` is asked about each subset once at
    most, halves before smaller parts: with one culprit among n about 2 log2 n times, n squared times at the worst.
    """
    kept = list(range(len(things)))
    known = {(): False, tuple(kept): True}

    def fail(chosen: Sequence[int]) -> bool:
        key = tuple(chosen)
        if key not in known:
            known[key] = fails([things[place] for place in key])
        return known[key]

    parts = 2
    while len(kept) > 1:
        cut = _contiguous(kept, parts)
        rests = [list(chain(*cut[:place], *cut[place + 1 :])) for place in range(len(cut))]
        smaller = next(filter(fail, cut), None)
        rest = next(filter(fail, rests), None) if smaller is None else None
        if smaller is not None:
            kept, parts = smaller, 2
        elif rest is not None:
            kept, parts = rest, max(parts - 1, 2)
        elif parts < len(kept):
            parts = min(2 * parts, len(kept))
        else:
            break
    return [things[place] for place in kept]


def _contiguous(chosen: list[int], count: int) -> list[list[int]]:
    """Contiguous parts of nearly equal length, none of them empty."""
    size, more = divmod(len(chosen), count)
    ends = accumulate((size + (place < more) for place in range(count)), initial=0)
    return [chosen[start:end] for start, end in pairwise(ends)]
