"""Is the mock right? What a walk shows beside this product, in words, and the assumptions that make
both equal.

No table says which assumption shapes which answer: each is tried with its other values, in local
sandboxes that play the same walk. A value settles a difference when the walk, played under it,
gives the answer of the other server.

The search is greedy (``_settle``): of all values of all assumptions those are ranked by how many
differences they leave, and taken as long as each makes the rest fewer; then the same again from
there, since one value may show a difference that another had hidden, until none makes them fewer.
At the end each value that is no longer needed is dropped (``_needed``). A walk here takes
milliseconds, and one that was played before under the same values is not played again
(``_Trials``).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from mockserver.adapters.strict_yaml import scenario_text
from mockserver.assumptions import ROWS, Assumption, Profile
from mockserver.domain.clock import iso
from mockserver.domain.record import record
from mockserver.drift.differences import Discrepancy, Tier, compare
from mockserver.drift.peers import opening
from mockserver.drift.playing import Played, play
from mockserver.drift.recordings import Recording
from mockserver.drift.walk import steps

Overrides = Mapping[str, object]
"""Values by the key of their assumption, as a scenario writes them."""

_SHOWN = 3
"""Calls that are named of those that differ in the same way."""

_DURATION = "a duration, such as 5m"
_MOST_TRIED = 24
"""Texts and numbers of the other server that are tried as values."""

_Place: TypeAlias = tuple[str, str]
"""A call, and the place of its answer at which two servers differ; empty where only one of them
could make the call."""

_TIMES = ("0s", "1d")
"""Durations that are tried: at once, and later than any walk takes."""

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@record
class DriftReport:
    """What came of a comparison with a profile of this product: the ``overrides`` that make both
    equal, as far as assumptions do it, the differences with the key that settles each, those that
    are ``left``, and the calls that only one of the two could make (``alone``)."""

    recording: Recording
    profile: str
    overrides: Overrides
    by_key: list[tuple[Discrepancy, str]]
    left: list[Discrepancy]
    alone: set[str]

    @property
    def is_equal(self) -> bool:
        return not (self.by_key or self.left or self.alone)

    @property
    def date(self) -> str:
        return iso(self.recording.run.instant)[:10]

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        """The report, a line for each way in which calls differ, those first that break clients."""
        played = self.recording.played
        settled = {difference: f"({key}: {self.overrides[key]})" for difference, key in self.by_key}
        unsettled = [difference for difference in self.left if difference not in settled]
        differences = [*settled, *unsettled]
        few = {0: "no difference", 1: "1 difference"}
        count = few.get(len(differences), f"{len(differences)} differences")
        yield (
            f"{self.recording.url} on {self.date}, profile {self.profile}: "
            f"{len(played.answers)} calls, {count}"
        )
        for tier in Tier:
            of_tier = [difference for difference in differences if difference.tier is tier]
            if of_tier:
                yield f"{tier}:"
                yield from _lines_of(of_tier, settled)
        if self.overrides:
            yield "assumptions that settle them:"
            yield from (f"  {key}: {value}" for key, value in self.overrides.items())
        if self.alone:
            yield f"made at one of the two only: {', '.join(sorted(self.alone))}"
        if played.left:
            yield f"left there: {', '.join(played.left)}"
        if played.broken:
            yield f"broken off: {played.broken}"

    def written(self) -> str:
        """The scenario under which this product answers as the other server, as far as assumptions
        do it."""
        words = f"Answers as {self.recording.url} did on {self.date}"
        return scenario_text(
            {"version": 1, "name": "drift", "description": words, "assumptions": self.overrides}
        )


def _lines_of(
    differences: Sequence[Discrepancy], settled: Mapping[Discrepancy, str]
) -> Iterator[str]:
    """A line for each way in which calls differ, with the assumption that settles it and the calls:
    most that differ do so alike."""
    calls: dict[str, list[str]] = {}
    for difference in differences:
        by_what = settled.get(difference, "(no assumption settles it)")
        sides = f"{difference.here} here, {difference.there} there"
        words = f"{difference.place}: {sides} {by_what}"
        calls.setdefault(words, []).append(difference.call)
    for words, names in calls.items():
        named = ", ".join(names[:_SHOWN])
        if len(names) > _SHOWN:
            named = f"{named} and {len(names) - _SHOWN} more"
        yield f"  {named}: {words}"


@record
class _Gap:
    """How far two walks are apart: the differences, and the calls of only one."""

    differences: list[Discrepancy]
    alone: set[str]

    @property
    def places(self) -> set[_Place]:
        """Where they are apart: a gap is smaller when it has fewer of these."""
        differing = {(difference.call, difference.place) for difference in self.differences}
        return differing | {(call, "") for call in self.alone}


class _Trials:
    """The walk of a recording, played here under any assumptions."""

    def __init__(self, recording: Recording, profile: str) -> None:
        self._recording = recording
        self._open_sandbox = opening(profile, recording.run.instant)
        # Also the calls that could not be made there: here they may be.
        self._walk = steps(calls={*recording.played.answers, *recording.played.skipped})
        self._gaps: dict[frozenset[tuple[str, str]], _Gap] = {}

    async def gap(self, overrides: Overrides) -> _Gap:
        """How far the recording and this product are apart under some assumptions."""
        key = frozenset((name, str(value)) for name, value in overrides.items())
        # The search asks for the same values again from each new place.
        if key not in self._gaps:
            there, run = self._recording.played, self._recording.run
            sandbox = self._open_sandbox(overrides)
            # Nothing has to be taken back: the next one begins anew.
            here = await play(self._walk, sandbox, run.name, undoes=False)
            differences = compare(here, there, run)
            self._gaps[key] = _Gap(differences, _calls_of_one_side(here, there))
        return self._gaps[key]


def _calls_of_one_side(here: Played, there: Played) -> set[str]:
    """The calls that only one of two walks could make. Those that a recording lacks say nothing
    where it was broken off, or shows only a part."""
    if there.broken:
        return set()
    if there.is_partial:
        return there.answers.keys() - here.answers.keys()
    return there.answers.keys() ^ here.answers.keys()


async def judge(recording: Recording, profile: str) -> DriftReport:
    """Play the calls of a recording here, and look for the assumptions that settle what differs."""
    trials = _Trials(recording, profile)
    first = await trials.gap({})
    found = await _settle(trials, first, Profile(profile))
    overrides = await _needed(trials, found)
    # Where several have settled one place, the last one of those that are needed.
    key_of = {settled.place: settled.key for settled in found.settled if settled.key in overrides}
    by_key: list[tuple[Discrepancy, str]] = []
    for difference in first.differences:
        key = key_of.get((difference.call, difference.place))
        if key is not None:
            by_key.append((difference, key))
    left, alone = found.gap.differences, found.gap.alone
    return DriftReport(recording, profile, overrides, by_key, left, alone)


class _Settled(NamedTuple):
    """A place at which nothing differs any more: by a value, and the key of its assumption."""

    place: _Place
    key: str


@record
class _Found:
    """What a search has found: the values that were ``chosen``, what differs under all of them, and
    what each has ``settled``, in this order."""

    chosen: Overrides
    gap: _Gap
    settled: Sequence[_Settled]


async def _settle(trials: _Trials, first: _Gap, profile: Profile) -> _Found:
    """Look for the values that settle what differs: again and again those that settle most, until
    none settles any more."""
    chosen: dict[str, object] = {}
    settled: list[_Settled] = []
    gap = first
    while gap.places:
        ranked = await _rank(trials, gap, chosen, profile)
        if not ranked:
            break
        for candidate in ranked:
            tried = await trials.gap({**chosen, candidate.key: candidate.value})
            # One before it may have settled the same.
            if len(tried.places) < len(gap.places):
                done = gap.places - tried.places
                settled += [_Settled(place, candidate.key) for place in done]
                chosen[candidate.key], gap = candidate.value, tried
    return _Found(chosen, gap, settled)


async def _needed(trials: _Trials, found: _Found) -> Overrides:
    """The chosen values without those that are no longer needed: a later one may have done what an
    earlier one did."""
    needed = found.chosen
    for key in found.chosen:
        fewer = {other: value for other, value in needed.items() if other != key}
        without = await trials.gap(fewer)
        if len(without.places) <= len(found.gap.places):
            needed = fewer
    return needed


class _Candidate(NamedTuple):
    """A value of an assumption, and how many places differ under it."""

    key: str
    value: object
    left: int


async def _rank(
    trials: _Trials, gap: _Gap, chosen: Overrides, profile: Profile
) -> list[_Candidate]:
    """The assumptions with a value each, beside those that are ``chosen``, under which less differs
    than in a gap: what leaves least comes first."""
    ranked: list[_Candidate] = []
    for key, value in _other_values(gap, chosen, profile):
        tried = await trials.gap({**chosen, key: value})
        left = len(tried.places)
        if left < len(gap.places):
            ranked.append(_Candidate(key, value, left))
        if not left:
            # Nothing can be better.
            break
    return sorted(ranked, key=attrgetter("left"))


def _other_values(gap: _Gap, chosen: Overrides, profile: Profile) -> Iterator[tuple[str, object]]:
    """Every other value of every assumption that may be the one, by the key of that. Where any text
    is possible, as for a name, it must be one that the other server has shown."""
    hints = _hints_of(gap)
    for key, row in ROWS.items():
        current = chosen.get(key, row.kind.show(row.value(profile)))
        candidates = [str(candidate) for candidate in _candidates(row, hints)]
        for candidate in dict.fromkeys(candidates):
            # Most hints are no values of most assumptions.
            with suppress(ValueError):
                value = row.kind.show(row.kind.read(candidate))
                if str(value) != str(current):
                    yield key, value


def _hints_of(gap: _Gap) -> list[str]:
    """What the other server has shown where the two differ: its texts, and the numbers in them."""
    hints: list[str] = []
    for difference in gap.differences:
        text = difference.there.strip('"')
        hints += [text, *_NUMBER.findall(text)]
    return list(dict.fromkeys(hints))[:_MOST_TRIED]


def _candidates(row: Assumption, hints: Sequence[str]) -> Sequence[object]:
    """The values of a row that are tried; of a text or a number the ``hints``, which the other
    server has shown. One that the row does not take is refused when it is tried, and left out."""
    allowed = row.kind.allowed
    bounds = re.fullmatch(r"(\d+) to (\d+)", allowed)
    if bounds is not None:
        # A limit shows at its ends; and a number may be how long a text is.
        lengths = [len(hint) for hint in hints]
        return [bounds[1], bounds[2], *hints, *lengths]
    if " | " in allowed:
        return allowed.split(" | ")
    if allowed == _DURATION:
        return _TIMES
    # A text that may also be a word, which its description begins with.
    word = allowed.partition(",")[0]
    if word.isidentifier():
        return [word, *hints]
    return hints
