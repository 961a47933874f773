"""What is tried: failures of the table (``failures.py``) at the calls of a command, one by one or
drawn by a seed. Source: docs/explore.md, What it runs, Swarm.

How the command is run under one follows from its rule: crashes and second runs are rows like any
other. A seed draws the same faults for the same command each time: so it alone repeats its run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

from mockserver.domain.errors import nearest
from mockserver.domain.ids import digest
from mockserver.domain.record import record
from mockserver.explore.failures import FAULTS, OWN_AXES, Fault, InjectionPoint, fault
from mockserver.scenario.operations import MONEY, OPERATIONS, READS


@record
class Trial:
    """What is tried in one run: faults at calls, one of each unless pairs are tried; in a run of a
    swarm those that its ``seed`` has drawn."""

    injections: tuple[tuple[InjectionPoint, Fault], ...]
    seed: int | None = None

    @property
    def name(self) -> str:
        """Unique in an exploration; what ``--replay`` takes: ``charge.create#1/lost_answer``,
        ``seed-17``."""
        return name_of(self.file, self.point, self.fault)

    @property
    def file(self) -> str:
        """The same, fit for the name of a file: ``charge.create-1-lost_answer``."""
        if self.seed is not None:
            return f"{SEED}{self.seed}"
        return "--".join(f"{point.op}-{point.nth}-{fault.name}" for point, fault in self.injections)

    @property
    def point(self) -> str:
        """The calls: ``charge.create#1``."""
        return "+".join(str(point) for point, _ in self.injections)

    @property
    def fault(self) -> str:
        """The names of the faults: ``lost_answer``."""
        return "+".join(fault.name for _, fault in self.injections)

    @property
    def rules(self) -> list[dict[str, Any]]:
        """The rules that make it happen."""
        # A rule does not count what a rule before it has decided: the last comes first.
        ordered = sorted(
            self.injections, key=lambda pair: -pair[0].nth if pair[0].is_counted else 0
        )
        return [fault.rule(point) for point, fault in ordered]

    @property
    def is_ours(self) -> bool:
        """Whether one of the faults takes or withholds money itself."""
        return any(fault.is_ours for _, fault in self.injections)

    @property
    def unforged(self) -> Trial | None:
        """The same without the forged webhooks that its faults send; None where none does."""
        pairs = [(point, fault.unforged or fault) for point, fault in self.injections]
        if all(fault.unforged is None for _, fault in self.injections):
            return None
        return Trial(tuple(pairs), self.seed)

    @property
    def is_of(self) -> str:
        """The option that adds it; empty for faults of the usual kind."""
        return next((fault.at for _, fault in self.injections if fault.at in OWN_AXES), "")

    @property
    def waits(self) -> float:
        """Seconds of real time that the client waits without an answer."""
        return sum(fault.waits for _, fault in self.injections)

    @property
    def story(self) -> str:
        """What happens, in words."""
        told = " and ".join(
            f"{fault.name} at {point}: {fault.what}" for point, fault in self.injections
        )
        return told if self.seed is None else f"seed {self.seed}: {told}"

    @property
    def priority(self) -> int:
        """How much the run is likely to show: money operations before others, these before reads;
        lost answers before slow ones; one fault before two."""
        return min(fault.weight * weight(point.op) for point, fault in self.injections) - 100 * len(
            self.injections
        )


SEED = "seed-"
"""How the name of a run of a swarm begins."""


def name_of(file: str, point: str, fault: str) -> str:
    """The name of what was tried, by that of its file, its calls and its faults."""
    if file.startswith(SEED):
        return file
    return "+".join(map("/".join, zip(point.split("+"), fault.split("+"), strict=True)))


def faults_of(chosen: str | None) -> list[Fault]:
    """The faults that are named, parted by commas: None means the usual ones, ``all`` every one but
    those that an option of their own adds. Raises ``ValueError`` with the nearest known name."""
    if chosen is None or chosen.strip() == "all":
        rows = [row for row in FAULTS.values() if row.at not in OWN_AXES]
        return rows if chosen is not None else [row for row in rows if row.is_usual]
    return [fault(one.strip()) for one in chosen.split(",")]


def trials(points: Sequence[InjectionPoint], faults: Iterable[Fault]) -> list[Trial]:
    """Each fault at each call where it makes sense, the most weight first, else in the order of
    calls and table."""
    chosen = list(faults)
    found = [Trial(((point, fault),)) for point in points for fault in chosen if fault.fits(point)]
    return sorted(found, key=lambda one: -one.priority)


def named(name: str, points: Sequence[InjectionPoint], faults: Iterable[Fault]) -> Trial:
    """The trial of a name, for a command that makes these calls when nothing fails. Raises
    ``ValueError`` with what is wrong with the name."""
    known = {str(point): point for point in points}
    by_name = {one.name: one for one in faults}
    found: list[tuple[InjectionPoint, Fault]] = []
    for part in name.split("+"):
        call, _, given = part.partition("/")
        op, _, nth = call.partition("#")
        # What a command does to recover comes after the first fault only.
        if call not in known and not (found and op in OPERATIONS and nth.isdecimal() and int(nth)):
            calls = ", ".join(known)
            raise ValueError(
                f"got '{call[:60]}', which the command does not make{nearest(call, known)}; its "
                f"calls: {calls}"
            )
        point, row = (
            known.get(call) or InjectionPoint(op, int(nth), notifies=True),
            by_name[fault(given).name],
        )
        if not row.fits(point):
            raise ValueError(f"{row.name} makes no sense at {call}: {row.what}")
        found.append((point, row))
    return Trial(tuple(found))


def followed(
    first: Trial, points: Sequence[InjectionPoint], faults: Iterable[Fault]
) -> list[Trial]:
    """A second fault after the first: at each of the calls that the command made under the first
    one, after that was struck. So also what it does to recover can fail. The webhook of a payment
    that its provider has not taken at once can fail at the same call: it may come when the next try
    has paid."""
    [(struck, fault)] = first.injections
    places = [
        place
        for place, point in enumerate(points)
        if (point.op, point.nth) == (struck.op, struck.nth)
    ]
    if not places:
        return []
    later, others = points[places[0] + 1 :], list(faults)
    seconds = [(point, other) for point in later for other in others if other.fits(point)]
    if fault.at == "provider":
        seconds += [
            (struck, other) for other in others if other.at == "notify" and other.fits(struck)
        ]
    return [Trial(((struck, fault), second)) for second in seconds]


def weight(op: str) -> int:
    """How much a fault of an operation shows about a client."""
    return 3 if op in MONEY else 1 if op in READS else 2


MOST_FAULTS = 4
"""Faults of one run."""

BEYOND = 3
"""Calls of an operation that are struck beyond those of the run without a fault: what is tried
again can fail too."""

_LONGEST_WAIT = 5.0
"""Seconds that a client may wait for an answer in a run; with slower faults a thousand runs take a
day."""


def drawn(seed: int, points: Sequence[InjectionPoint], faults: Iterable[Fault]) -> Trial:
    """What a seed tries: one to four faults, at different calls, the more telling ones more
    often."""
    usual = [one for one in faults if one.at not in OWN_AXES]
    chosen = [one for one in usual if one.waits <= _LONGEST_WAIT] or usual
    # The first strikes a call that is made for sure.
    left = [(point, one) for point in points for one in chosen if one.fits(point)]
    more = [(point, one) for point in _reached(points) for one in chosen if one.fits(point)]
    found: list[tuple[InjectionPoint, Fault]] = []
    for turn in range(1 + _draw(seed, "count") % MOST_FAULTS):
        if not left:
            break
        ends = list(accumulate(one.weight * weight(point.op) for point, one in left))
        place = _draw(seed, turn) % ends[-1]
        point, one = next(pair for pair, end in zip(left, ends, strict=True) if place < end)
        found.append((point, one))
        left = more = [pair for pair in more if pair[0] != point]
    return Trial(tuple(sorted(found, key=lambda pair: pair[0])), seed)


def _reached(points: Sequence[InjectionPoint]) -> list[InjectionPoint]:
    """The calls, and some more of each operation."""
    notifies = {point.op for point in points if point.notifies}
    last = {point.op: point.nth for point in points}
    more = [
        InjectionPoint(op, end + one, op in notifies)
        for op, end in last.items()
        for one in range(1, BEYOND + 1)
    ]
    return [*points, *more]


def _draw(*parts: object) -> int:
    return int.from_bytes(digest("swarm", *parts, size=8))
