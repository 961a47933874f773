"""Is the mock right? What a walk shows beside this product, in words, and the assumptions that make
both equal.

No table says which assumption shapes which answer: each is tried with its other values, in local
sandboxes that play the same walk. A value settles a difference when the walk, played under it,
gives the answer of the other server.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from operator import itemgetter

from mockserver.adapters.strict_yaml import scenario_text
from mockserver.assumptions import ROWS, Assumption, Profile
from mockserver.domain.clock import iso
from mockserver.domain.record import record
from mockserver.drift.differences import Discrepancy, Tier, compare
from mockserver.drift.peers import opening
from mockserver.drift.traffic import Recording
from mockserver.drift.walk import play, steps

Overrides = Mapping[str, object]
"""Values by the key of their assumption, as a scenario writes them."""

_SHOWN = 3
"""Calls that are named of those that differ in the same way."""

_DURATION = "a duration, such as 5m"
_MOST_TRIED = 24
"""Texts and numbers of the other server that are tried as values."""

_TIMES = ("0s", "1d")
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
        played = self.recording.played
        known = {one: f" ({key}: {self.overrides[key]})" for one, key in self.by_key}
        every = [*known, *(one for one in self.left if one not in known)]
        count = f"{len(every) or 'no'} difference{'s' if len(every) > 1 else ''}"
        yield (
            f"{self.recording.url} on {self.date}, profile {self.profile}: "
            f"{len(played.answers)} calls, {count}"
        )
        for tier in Tier:
            calls: dict[str, list[str]] = {}
            for one in (one for one in every if one.tier is tier):
                settled = known.get(one, " (no assumption settles it)")
                words = f"{one.place}: {one.here} here, {one.there} there{settled}"
                calls.setdefault(words, []).append(one.call)
            yield from [f"{tier}:"] if calls else []
            for words, names in calls.items():
                more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
                yield f"  {', '.join(names[:_SHOWN])}{more}: {words}"
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


@record
class _Gap:
    """How far two walks are apart: the differences, and the calls of only one."""

    differences: list[Discrepancy]
    alone: set[str]

    @property
    def places(self) -> set[tuple[str, str]]:
        return {(one.call, one.place) for one in self.differences} | {
            (call, "") for call in self.alone
        }


class _Trials:
    """The walk of a recording, played here under any assumptions."""

    def __init__(self, recording: Recording, profile: str) -> None:
        self._recording = recording
        self._open_sandbox = opening(profile, recording.run.instant)
        self._walk = steps(calls={*recording.played.answers, *recording.played.skipped})
        self._gaps: dict[frozenset[tuple[str, str]], _Gap] = {}

    async def gap(self, overrides: Overrides) -> _Gap:
        known = frozenset((key, str(value)) for key, value in overrides.items())
        if known not in self._gaps:
            there, run = self._recording.played, self._recording.run
            here = await play(self._walk, self._open_sandbox(overrides), run.name, undoes=False)
            ours, theirs = {*here.answers}, {*there.answers}
            alone = set() if there.broken else theirs - ours if there.is_partial else ours ^ theirs
            self._gaps[known] = _Gap(compare(here, there, run), alone)
        return self._gaps[known]


async def judge(recording: Recording, profile: str) -> DriftReport:
    """Play the calls of a recording here, and look for the assumptions that settle what differs:
    again and again the value that settles most, until none settles any more."""
    trials, chosen = _Trials(recording, profile), dict[str, object]()
    first = gap = await trials.gap(chosen)
    found: list[tuple[tuple[str, str], str]] = []
    while gap.places:
        ranked = list[tuple[int, str, object]]()
        for key, value in _values(gap, chosen, Profile(profile)):
            places = (await trials.gap({**chosen, key: value})).places
            if len(places) < len(gap.places):
                ranked.append((len(places), key, value))
            if not places:
                break
        for _, key, value in sorted(ranked, key=itemgetter(0)):
            tried = await trials.gap({**chosen, key: value})
            if len(tried.places) < len(gap.places):
                found += [(place, key) for place in gap.places - tried.places]
                chosen[key], gap = value, tried
        if not ranked:
            break
    for key in [*chosen]:
        # A later value may have done what an earlier one did.
        fewer = {other: value for other, value in chosen.items() if other != key}
        if len((await trials.gap(fewer)).places) <= len(gap.places):
            chosen = fewer
    known = {place: key for place, key in found if key in chosen}
    by_key = [
        (one, known[one.call, one.place])
        for one in first.differences
        if (one.call, one.place) in known
    ]
    return DriftReport(recording, profile, chosen, by_key, gap.differences, gap.alone)


def _values(gap: _Gap, chosen: Overrides, profile: Profile) -> Iterator[tuple[str, object]]:
    """Every other value of every assumption that may be the one."""
    texts = [one.there.strip('"') for one in gap.differences]
    shown = list(dict.fromkeys(word for text in texts for word in (text, *_NUMBER.findall(text))))[
        :_MOST_TRIED
    ]
    for key, row in ROWS.items():
        current = chosen.get(key, row.kind.show(row.value(profile)))
        for value in dict.fromkeys(map(str, _candidates(row, shown))):
            with suppress(ValueError):
                made = row.kind.show(row.kind.read(value))
                if str(made) != str(current):
                    yield key, made


def _candidates(row: Assumption, shown: Iterable[str]) -> Iterable[object]:
    """The values of a row that are tried; of a text or a number those that the other server has
    shown."""
    allowed = row.kind.allowed
    bounds = re.fullmatch(r"(\d+) to (\d+)", allowed)
    if bounds is not None:
        return [bounds[1], bounds[2], *shown, *(len(text) for text in shown)]
    if " | " in allowed:
        return allowed.split(" | ")
    if allowed == _DURATION:
        return _TIMES
    return [word for word in allowed.split(",")[:1] if word.isidentifier()] + list(shown)
