"""The small parts of a kept sandbox, which are written whole whenever it has changed."""

from __future__ import annotations

from dataclasses import field

from mockserver.assumptions import Profile
from mockserver.domain.clock import Clock, Micros
from mockserver.domain.ids import Seed
from mockserver.domain.record import mutable
from mockserver.scenario.director import Tally
from mockserver.scenario.scenario import ClockPlan


@mutable
class KeptCounters:
    """The counters of the journal, and of the deliveries and inboxes beside it."""

    opened: Micros
    last: int
    given_up: int
    dropped: int
    stories: int
    gap_reason: str | None
    deliveries: tuple[int, int, int]
    inboxes: tuple[int, int]


@mutable
class Counted:
    """The counters of one rule."""

    calls: int
    hits: int
    exhausted: int
    first: Micros | None = None
    period: int | None = None
    fired: int | None = None


@mutable
class KeptConfig:
    """What a sandbox is opened with, beside the settings of the server."""

    seed: Seed
    profile: Profile
    overrides: dict[str, object]
    clock: ClockPlan
    scenarios: list[str]
    assumed: tuple[Profile, dict[str, object]]
    own: tuple[Profile, dict[str, object]] | None = None


@mutable
class Head:
    """The small parts of a sandbox. ``books`` are the scenarios of the rules that entries of the journal were decided
    by, by number."""

    origin: str
    salt: str
    config: KeptConfig
    clock: Clock
    is_held: bool
    now: Micros
    horizon: Micros
    counters: dict[str, int]
    order: int
    ran: int
    used: int
    journal: KeptCounters
    opened: tuple[dict[str, int], int] | None
    book: int
    books: dict[int, list[str]]
    lengths: dict[str, int]
    first_asked: Micros | None = None
    calls: dict[str, int] = field(default_factory=dict)
    rules: dict[str, Counted] = field(default_factory=dict)
    held: dict[str, list[str]] = field(default_factory=dict)
    warned: list[str] = field(default_factory=list)
    lag: Micros = 0
    judged: dict[str, int] = field(default_factory=dict)


def counted(tally: Tally) -> Counted:
    """The counters of a rule, without those of its keys."""
    return Counted(tally.calls, tally.hits, tally.exhausted, first=tally.first, period=tally.period, fired=tally.fired)


def tally_of(text: str, kept: Counted) -> Tally:
    """The counters of the rule of a text."""
    counts = kept.calls, kept.hits, kept.exhausted
    return Tally(text, *counts, first=kept.first, keys={}, period=kept.period, fired=kept.fired)
