"""Is the mock right? What a walk shows beside this product, in words, and the profile that makes both equal."""

from __future__ import annotations

from collections.abc import Iterator

from mockserver.adapters.strict_yaml import scenario_text
from mockserver.domain.clock import iso
from mockserver.domain.record import record
from mockserver.drift.differences import Tier
from mockserver.drift.peers import local
from mockserver.drift.settling import Overrides, Settled, Settling
from mockserver.drift.traffic import Recording
from mockserver.drift.walk import Played, play, steps

_SHOWN = 3
"""Calls that are named of those that differ in the same way."""


@record
class DriftReport:
    """What came of a comparison with a profile of this product."""

    recording: Recording
    profile: str
    settled: Settled

    @property
    def is_equal(self) -> bool:
        """Whether nothing differs."""
        return not (self.settled.by_key or self.settled.left or self.settled.alone)

    @property
    def date(self) -> str:
        """The day of the walk."""
        return iso(self.recording.run.instant)[:10]

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        found, played = self.settled, self.recording.played
        known = {one: f" ({key}: {found.overrides[key]})" for one, key in found.by_key}
        every = [*known, *(one for one in found.left if one not in known)]
        count = f"{len(every) or 'no'} difference{'s' if len(every) > 1 else ''}"
        yield f"{self.recording.url} on {self.date}, profile {self.profile}: {len(played.answers)} calls, {count}"
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
        if found.overrides:
            yield "assumptions that settle them:"
            yield from (f"  {key}: {value}" for key, value in found.overrides.items())
        if found.alone:
            yield f"made at one of the two only: {', '.join(sorted(found.alone))}"
        if played.left:
            yield f"left there: {', '.join(played.left)}"
        if played.broken:
            yield f"broken off: {played.broken}"

    def written(self) -> str:
        """The scenario under which this product answers as the other server, as far as assumptions do it."""
        words = f"Answers as {self.recording.url} did on {self.date}"
        head = {"version": 1, "name": "drift", "description": words}
        return scenario_text({**head, "assumptions": self.settled.overrides})


async def judge(recording: Recording, profile: str) -> DriftReport:
    """Play the calls of a recording here, and look for the assumptions that settle what differs."""
    there, run = recording.played, recording.run
    walk = steps(calls={*there.answers, *there.skipped})

    async def again(assumptions: Overrides) -> Played:
        return await play(walk, local(assumptions, profile, run.instant), run.name, undoes=False)

    return DriftReport(recording, profile, await Settling(again, there, run, profile).settle())
