"""Which assumptions settle what differs: tried, each with its other values, in local sandboxes that play the same walk.

No table says which assumption shapes which answer. A value settles a difference when the walk, played under it, gives
the answer of the other server.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from operator import itemgetter

from mockserver.assumptions import ROWS, Assumption, Profile
from mockserver.domain.record import mutable, record
from mockserver.drift.differences import Discrepancy, Run, Told, compare
from mockserver.drift.walk import Played

Overrides = Mapping[str, object]
"""Values by the key of their assumption, as a scenario writes them."""

_DURATION = "a duration, such as 5m"
_MOST_SHOWN = 24
_TIMES = ("0s", "1d")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@mutable
class Settled:
    """What came of it: the ``overrides`` that were found, the differences with the key that settles each, those that
    are ``left``, and calls that only one of the two could make."""

    overrides: dict[str, object]
    by_key: list[tuple[Discrepancy, str]]
    left: list[Discrepancy]
    alone: set[str]


@record
class _Gap:
    """How far two walks are apart: the places, and the calls of only one."""

    differences: tuple[Discrepancy, ...]
    alone: frozenset[str]

    @property
    def places(self) -> set[tuple[str, str]]:
        return {(one.call, one.place) for one in self.differences} | {(call, "") for call in self.alone}


class Settling:
    """Looks for the overrides under which a walk, as ``play`` plays it, equals that of the other server."""

    def __init__(self, play: Callable[[Overrides], Awaitable[Played]], there: Played, run: Run, profile: str) -> None:
        self._play = play
        self._there = there
        self._run = run
        self._profile = Profile(profile)
        self._gaps: dict[frozenset[tuple[str, str]], _Gap] = {}
        self._told: Told = {}

    async def settle(self) -> Settled:
        """Take, again and again, the value that settles most, until none settles any more."""
        chosen: dict[str, object] = {}
        first = gap = await self._gap(chosen)
        found: list[tuple[Discrepancy, str]] = []
        while gap.places:
            ranked = list[tuple[int, str, object]]()
            for key, value in self._values(gap, chosen):
                places = (await self._gap({**chosen, key: value})).places
                if len(places) < len(gap.places):
                    ranked.append((len(places), key, value))
                if not places:
                    break
            for _, key, value in sorted(ranked, key=itemgetter(0)):
                tried = await self._gap({**chosen, key: value})
                if len(tried.places) < len(gap.places):
                    settled = gap.places - tried.places
                    found += [(one, key) for one in gap.differences if (one.call, one.place) in settled]
                    chosen[key], gap = value, tried
            if not ranked:
                break
        chosen = await self._needed(chosen, gap)
        known = {(one.call, one.place): key for one, key in found if key in chosen}
        by_key = [(one, known[one.call, one.place]) for one in first.differences if (one.call, one.place) in known]
        return Settled(chosen, by_key, list(gap.differences), set(gap.alone))

    async def _needed(self, chosen: Overrides, gap: _Gap) -> dict[str, object]:
        """The overrides without those that change nothing any more."""
        kept = dict(chosen)
        for key in chosen:
            fewer = {other: value for other, value in kept.items() if other != key}
            if len((await self._gap(fewer)).places) <= len(gap.places):
                kept = fewer
        return kept

    async def _gap(self, overrides: Overrides) -> _Gap:
        known = frozenset((key, str(value)) for key, value in overrides.items())
        if known not in self._gaps:
            here = await self._play(overrides)
            ours, theirs = {*here.answers}, {*self._there.answers}
            alone = set() if self._there.broken else theirs - ours if self._there.is_partial else ours ^ theirs
            self._gaps[known] = _Gap(tuple(compare(here, self._there, self._run, self._told)), frozenset(alone))
        return self._gaps[known]

    def _values(self, gap: _Gap, chosen: Overrides) -> Iterator[tuple[str, object]]:
        """Every other value of every assumption that may be the one."""
        shown = list(dict.fromkeys(text for one in gap.differences for text in _shown(one)))[:_MOST_SHOWN]
        for key, row in ROWS.items():
            current = chosen.get(key, row.kind.show(row.value(self._profile)))
            for value in dict.fromkeys(map(str, _candidates(row, shown))):
                with suppress(ValueError):
                    if str(row.kind.show(row.kind.read(value))) != str(current):
                        yield key, row.kind.show(row.kind.read(value))


def _shown(difference: Discrepancy) -> Iterable[str]:
    """What the other server has shown at a place, and the numbers in it."""
    text = difference.there.strip('"')
    return [text, *_NUMBER.findall(text)]


def _candidates(row: Assumption, shown: Iterable[str]) -> Iterable[object]:
    """The values of a row that are tried; of a text or a number those that the other server has shown."""
    allowed = row.kind.allowed
    bounds = re.fullmatch(r"(\d+) to (\d+)", allowed)
    if bounds is not None:
        return [bounds[1], bounds[2], *shown, *(len(text) for text in shown)]
    if " | " in allowed:
        return allowed.split(" | ")
    if allowed == _DURATION:
        return _TIMES
    return [word for word in allowed.split(",")[:1] if word.isidentifier()] + list(shown)
