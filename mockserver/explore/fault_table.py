"""What is tried: failures of the table (``failures.py``) at the calls of a command, one by one or
drawn by a seed. Source: docs/explore.md, What it runs, Swarm.

How the command is run under one follows from its rule: crashes and second runs are rows like any
other. A seed draws the same faults for the same command each time: so it alone repeats its run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate
from typing import Any

from mockserver.domain.errors import nearest
from mockserver.domain.ids import digest
from mockserver.domain.record import record, replace
from mockserver.explore.failures import FAULTS, OWN_AXES, Fault, InjectionPoint, fault
from mockserver.scenario.operations import ALL_OPERATIONS, MONEY, OPERATIONS, READS, UNREQUESTED


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

    def struck_by(self, rules: Collection[str]) -> Trial:
        """What has struck of it: the faults whose rules have fired; all of it where none has."""
        struck = [pair for pair in self.injections if pair[1].rule(pair[0])["id"] in rules]
        return replace(self, injections=tuple(struck)) if struck else self

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
    def is_race(self) -> bool:
        """Whether chance decides which of two runs goes first: one red run proves nothing."""
        return any(fault.is_at_start for _, fault in self.injections)

    @property
    def waits(self) -> float:
        """Seconds of real time that nothing happens because of its faults."""
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
    those that an option of their own adds; ``-sent_twice`` takes one away again, alone from the
    usual ones. Raises ``ValueError`` with the nearest known name, or when none is left."""
    ordinary = [row for row in FAULTS.values() if row.at not in OWN_AXES]
    usual = [row for row in ordinary if row.is_usual]
    words = [] if chosen is None else [word.strip() for word in chosen.split(",")]
    taken_away = {fault(word.removeprefix("-")).name for word in words if word.startswith("-")}
    named = [word for word in words if not word.startswith("-")]
    rows = [] if named else usual
    for word in named:
        rows += ordinary if word == "all" else [fault(word)]
    by_name = {row.name: row for row in rows}
    left = [row for name, row in by_name.items() if name not in taken_away]
    if not left:
        raise ValueError(f"got '{(chosen or '')[:60]}', which leaves no fault to try")
    return left


def trials(points: Sequence[InjectionPoint], faults: Iterable[Fault]) -> list[Trial]:
    """Each fault at each call where it makes sense, the most weight first, else in the order of
    calls and table."""
    chosen = list(faults)
    found = [
        Trial(((point, fault),))
        for place, point in enumerate(points)
        for fault in chosen
        if fault.fits(point) and (place == 0 or not fault.is_at_start)
    ]
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
        if any(not _goes_with(first, row) for _, first in found):
            raise ValueError(f"{row.name} cannot come after {found[0][1].name} in one run")
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
    later, others = points[places[0] + 1 :], [other for other in faults if _goes_with(fault, other)]
    seconds = [(point, other) for point in later for other in others if other.fits(point)]
    if fault.at == "provider":
        seconds += [
            (struck, other) for other in others if other.at == "notify" and other.fits(struck)
        ]
    return [Trial(((struck, fault), second)) for second in seconds]


def _goes_with(first: Fault, second: Fault) -> bool:
    """Whether one fault can be the second after another. A command is held once, so it is not
    killed and run beside itself in one run; and that both of two runs begin at once is the first
    thing that happens to them."""
    is_held_twice = first.at in OWN_AXES and second.at in OWN_AXES
    return not is_held_twice and not second.is_at_start


def weight(op: str) -> int:
    """How much a fault of an operation shows about a client."""
    return 3 if op in MONEY else 1 if op in READS else 2


COMPENSATING = frozenset({"charge.refund", "charge.void"})
"""Operations by which a client makes good what it has taken."""


def compensated(
    first: Trial,
    points: Sequence[InjectionPoint],
    known: Sequence[InjectionPoint],
    faults: Iterable[Fault],
) -> list[Trial]:
    """A second fault where a command makes good: at each refund or void that it makes under the
    first fault, and that is not among the calls of the run without any."""
    own = {(point.op, point.nth) for point in known}
    makes_good = [
        point for point in points if point.op in COMPENSATING and (point.op, point.nth) not in own
    ]
    return [
        Trial((*first.injections, (point, fault)))
        for point in makes_good
        for fault in faults
        if fault.at not in OWN_AXES and fault.fits(point)
    ]


MOST_FAULTS = 4
"""Faults of one run at calls that are made without a fault too."""

BEYOND = 3
"""Calls of an operation that may be struck beyond those of the run without a fault: what is tried
again can fail too, and what only a recovery does."""

_ONE_IN = 3
"""Of the calls that only a run with faults makes, so many are struck."""

_LONGEST_WAIT = 5.0
"""Seconds that a client may wait for an answer in a run; with slower faults a thousand runs take a
day."""

Injection = tuple[InjectionPoint, Fault]


def drawn(
    seed: int,
    points: Sequence[InjectionPoint],
    faults: Iterable[Fault],
    operations: Collection[str] = ALL_OPERATIONS,
) -> Trial:
    """What a seed tries. One to four faults at different calls that are made for sure, the more
    telling ones more often; and which of the calls fail that only a recovery makes, should it make
    them. Each of these asks for itself, by seed, operation and number alone: so its fate is the
    same whatever came before it."""
    usual = [fault for fault in faults if fault.at not in OWN_AXES]
    chosen = [fault for fault in usual if fault.waits <= _LONGEST_WAIT] or usual
    at_known_calls = _at_known_calls(seed, points, chosen)
    if not at_known_calls:
        return Trial((), seed)
    # What takes money itself would make the verdict milder, though it may never strike.
    blameless = [fault for fault in chosen if not fault.is_ours]
    unforeseen = (
        _at_unforeseen_call(seed, point, blameless)
        for point in _unforeseen(points)
        if point.op in operations
    )
    return Trial((*sorted(at_known_calls, key=_point), *filter(None, unforeseen)), seed)


def _at_known_calls(
    seed: int, points: Sequence[InjectionPoint], faults: Sequence[Fault]
) -> list[Injection]:
    """One to four faults at different ones of some calls, as far as any makes sense there."""
    left = [(point, fault) for point in points for fault in faults if fault.fits(point)]
    injections: list[Injection] = []
    for turn in range(1 + _draw(seed, "count") % MOST_FAULTS):
        if not left:
            break
        point, fault = _weighted(left, _draw(seed, turn))
        injections.append((point, fault))
        left = [pair for pair in left if pair[0] != point]
    return injections


def _at_unforeseen_call(
    seed: int, point: InjectionPoint, faults: Sequence[Fault]
) -> Injection | None:
    """How a call that only a recovery makes fails, if it does."""
    is_struck = _draw(seed, point.op, point.nth) % _ONE_IN == 0
    possible = [(point, fault) for fault in faults if fault.fits(point)] if is_struck else []
    if not possible:
        return None
    return _weighted(possible, _draw(seed, point.op, point.nth, "fault"))


def _weighted(pairs: Sequence[Injection], number: int) -> Injection:
    """One of some, by a number that was drawn: the more telling ones more often."""
    ends = list(accumulate(fault.weight * weight(point.op) for point, fault in pairs))
    place = number % ends[-1]
    return next(pair for pair, end in zip(pairs, ends, strict=True) if place < end)


def _point(injection: Injection) -> InjectionPoint:
    return injection[0]


def _unforeseen(points: Sequence[InjectionPoint]) -> list[InjectionPoint]:
    """Calls that a run with faults may make beyond those of the one without: of each operation on a
    kind of object that the command works with, the next few."""
    kinds = {_kind(point.op) for point in points}
    notifying = {_kind(point.op) for point in points if point.notifies}
    last = {point.op: point.nth for point in points}
    return [
        InjectionPoint(op, last.get(op, 0) + more, _kind(op) in notifying)
        for op in sorted(ALL_OPERATIONS - UNREQUESTED)
        if _kind(op) in kinds
        for more in range(1, BEYOND + 1)
    ]


def _kind(op: str) -> str:
    """The kind of object that an operation is about: ``charge``."""
    return op.partition(".")[0]


def _draw(*parts: object) -> int:
    return int.from_bytes(digest("swarm", *parts, size=8))
