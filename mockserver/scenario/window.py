"""``clock`` in ``when``: a span of sandbox time, or of every day, as a file says it and as it is tested.

Source: docs/scenario-language.md, when.
"""

from __future__ import annotations

from typing import Annotated

from mockserver.domain.clock import DAY, UTC_ZONE, Micros, Zone, duration_text, iso
from mockserver.domain.field_metadata import FileKey
from mockserver.domain.record import record
from mockserver.scenario.matching import Difference
from mockserver.scenario.part import part, read_part
from mockserver.scenario.problems import Problems
from mockserver.scenario.scalars import Duration, Point


@part
class ClockWindow:
    """A span of sandbox time. Times of day repeat every day; ``for`` alone counts from the scenario's start."""

    from_: Annotated[Point | None, FileKey("from")] = None
    to: Point | None = None
    for_: Annotated[Duration | None, FileKey("for")] = None

    def __post_init__(self) -> None:
        points = [point for point in (self.from_, self.to) if point is not None]
        start, end = self.from_ and self.from_[0], self.to and self.to[0]
        if not points and self.for_ is None:
            raise ValueError("got nothing, wanted at least one of from, to, for")
        if end is not None and self.for_ is not None:
            raise ValueError("got to and for, only one of them is allowed")
        if len({is_daily for _, is_daily in points}) > 1:
            raise ValueError("got a time of day and a date-time, wanted both bounds of one kind")
        daily = any(is_daily for _, is_daily in points)
        if not daily and start is not None and end is not None and end <= start:
            raise ValueError("got an end that is not after the start")
        if daily and end is not None and end == (start or 0):
            raise ValueError("got an end that is the start: no time of day lies between them")
        if self.for_ == 0 or (daily and self.for_ is not None and self.for_ > DAY):
            most = ", and at most 24h after a time of day, which comes every day" if daily else ""
            raise ValueError(f"got for: {duration_text(self.for_)}, wanted more than 0{most}")


@record
class Window:
    """``clock``: a span of sandbox time, or of every day. ``start`` included, ``end`` excluded; all in microseconds.

    ``daily`` bounds count from midnight in ``zone`` and may wrap over it. ``lasts`` counts from ``start``, or, without
    one, from ``begins`` (the scenario's clock start), or else from the first decision that the sandbox took.
    """

    start: Micros | None = None
    end: Micros | None = None
    lasts: Micros | None = None
    daily: bool = False
    begins: Micros | None = None
    zone: Zone = UTC_ZONE

    def difference(self, now: Micros, first: Micros) -> Difference | None:
        """Why ``now`` lies outside, when the sandbox took its first decision at ``first``."""
        if self.daily:
            return None if self._holds_daily(now) else self._outside(now)
        start = self.start
        if start is None and self.lasts is not None:
            start = first if self.begins is None else self.begins
        if start is not None and now < start:
            return self._outside(now)
        end = self.end if self.lasts is None or start is None else start + self.lasts
        return self._outside(now) if end is not None and now >= end else None

    def _holds_daily(self, now: Micros) -> bool:
        zone, start = self.zone, self.start or 0
        end = self.end if self.end is not None else DAY
        wall = zone.wall(now)
        midnight = wall - wall % DAY
        for day in (midnight, midnight - DAY):
            begin = zone.instant(day + start)
            until = zone.instant(day + end + (0 if start < end else DAY)) if self.lasts is None else begin + self.lasts
            if begin <= now < until:
                return True
        return False

    @property
    def wanted(self) -> str:
        """The span in words."""

        def point(instant: Micros) -> str:
            return f"{duration_text(instant)} after midnight" if self.daily else iso(instant)

        place = f" in {self.zone.name}" if self.daily and self.zone is not UTC_ZONE else ""

        parts = [f"from {point(self.start)}"] if self.start is not None else []
        parts += [f"to {point(self.end)}"] if self.end is not None else []
        parts += [f"for {duration_text(self.lasts)}"] if self.lasts is not None else []
        return " ".join(parts) + place

    def _outside(self, now: Micros) -> Difference:
        return Difference("clock", self.wanted, iso(now))


def window_of(wanted: object, problems: Problems, begins: Micros | None, zone: Zone = UTC_ZONE) -> Window | None:
    """The span of time that ``clock`` means, or None when ``problems`` got a fault of it."""
    from pydantic_core import ValidationError

    try:
        span = read_part(ClockWindow, wanted)
    except ValidationError as refused:
        for fault in refused.errors(include_url=False):
            problems.add(fault["loc"], str(fault.get("ctx", {}).get("error") or fault["msg"]))
        return None
    start, end = span.from_ or (None, False), span.to or (None, False)
    return Window(start[0], end[0], span.for_, start[1] or end[1], begins, zone)
