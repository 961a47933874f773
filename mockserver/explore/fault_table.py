"""What is tried: failures of the table (``failures.py``) at the calls of a command, one by one or
drawn by a seed.

A *trial* is one run of the command with faults at some of its calls (``Trial``). The matrix has one
fault at one call in each, since then the fault alone explains what goes wrong. A second fault is
tried where the first has made the command do something new, which no run without a fault shows:
after a retry, or at the refund by which it makes good.

The command is run in the same way under any fault. That it is killed, or run a second time, follows
from the rule of the fault: crashes and second runs are rows like any other.

A swarm tries many faults at once, drawn by a seed. A draw is a hash of seed and call, so a seed
draws the same faults for the same command each time, and it alone repeats its run.

Source: docs/explore.md, What it runs, Swarm.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from mockserver.domain.errors import nearest
from mockserver.domain.ids import digest
from mockserver.domain.record import record, replace
from mockserver.explore.failures import FAULTS, OWN_AXES, Fault, InjectionPoint, fault
from mockserver.explore.scenario_data import RuleData
from mockserver.scenario.operations import ALL_OPERATIONS, MONEY, OPERATIONS, READS, UNREQUESTED


class Injection(NamedTuple):
    """A fault at a call."""

    point: InjectionPoint
    fault: Fault

    @property
    def weight(self) -> int:
        """How much it shows about a client: by the fault, and by what the call is about."""
        return self.fault.weight * weight(self.point.op)

    @property
    def rule(self) -> RuleData:
        """The rule of a scenario that makes it happen."""
        return self.fault.rule(self.point)

    @property
    def rule_id(self) -> str:
        """The id of that rule."""
        return self.fault.rule_id(self.point)


@record
class Trial:
    """What is tried in one run: faults at calls, one of each unless pairs are tried; in a run of a
    swarm those that its ``seed`` has drawn."""

    injections: tuple[Injection, ...]
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
    def rules(self) -> list[RuleData]:
        """The rules that make it happen. A rule that counts for itself does not count what a rule
        before it has decided: so of those the one for the last stands first."""
        numbered = [injection for injection in self.injections if not injection.point.is_counted]
        counted = [injection for injection in self.injections if injection.point.is_counted]
        counted.sort(key=lambda injection: -injection.point.nth)
        return [injection.rule for injection in (*counted, *numbered)]

    @property
    def rule_ids(self) -> set[str]:
        """The ids of these rules: to know which have fired, nobody needs the rules themselves."""
        return {injection.rule_id for injection in self.injections}

    def struck_by(self, rules: Collection[str]) -> Trial:
        """What has struck of it: the faults whose rules have fired; all of it where none has."""
        struck = [injection for injection in self.injections if injection.rule_id in rules]
        if not struck:
            return self
        return replace(self, injections=tuple(struck))

    @property
    def moves_money(self) -> bool:
        """Whether one of the faults takes or withholds money itself: the client is not to blame for
        that."""
        return any(fault.moves_money for _, fault in self.injections)

    @property
    def unforged(self) -> Trial | None:
        """The same without the forged webhooks that its faults send, for the run that a forgery is
        judged beside; None where none is forged."""
        if all(fault.unforged is None for _, fault in self.injections):
            return None
        pairs = [Injection(point, fault.unforged or fault) for point, fault in self.injections]
        return Trial(tuple(pairs), self.seed)

    @property
    def own_option(self) -> str:
        """The option that adds it (``crash``, ``twice``); empty for faults of the usual kind."""
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
        parts = [f"{fault.name} at {point}: {fault.what}" for point, fault in self.injections]
        story = " and ".join(parts)
        if self.seed is not None:
            story = f"seed {self.seed}: {story}"
        return story

    @property
    def priority(self) -> int:
        """How much the run is likely to show, so that a budget cuts off what shows least: one fault
        before two; money operations before others, these before reads; lost answers before slow
        ones. Of two faults the one that shows less counts."""
        least = min(injection.weight for injection in self.injections)
        return least - _BEYOND_ANY_WEIGHT * len(self.injections)


_BEYOND_ANY_WEIGHT = 100

SEED = "seed-"
"""How the name of a run of a swarm begins."""


def name_of(file: str, point: str, fault: str) -> str:
    """The name of what was tried, by that of its file, its calls and its faults: texts, as a folder
    keeps them."""
    if file.startswith(SEED):
        return file
    pairs = zip(point.split("+"), fault.split("+"), strict=True)
    return "+".join(f"{call}/{name}" for call, name in pairs)


def faults_of(chosen: str | None) -> list[Fault]:
    """The faults that are named, parted by commas: None means the usual ones, ``all`` every one but
    those that an option of their own adds; ``-sent_twice`` takes one away again, alone from the
    usual ones. Raises ``ValueError`` with the nearest known name, or when none is left."""
    ordinary = [row for row in FAULTS.values() if row.at not in OWN_AXES]
    usual = [row for row in ordinary if row.is_usual]
    if chosen is None:
        return usual
    taken_away, named = set[str](), list[Fault]()
    for word in chosen.split(","):
        word = word.strip()
        if word.startswith("-"):
            taken_away.add(fault(word.removeprefix("-")).name)
        elif word == "all":
            named += ordinary
        else:
            named.append(fault(word))
    # Each once, where names repeat what ``all`` has.
    by_name = {row.name: row for row in named or usual}
    left = [row for name, row in by_name.items() if name not in taken_away]
    if not left:
        raise ValueError(f"got '{chosen[:60]}', which leaves no fault to try")
    return left


def trials(points: Sequence[InjectionPoint], faults: Iterable[Fault]) -> list[Trial]:
    """Each fault at each call where it makes sense, the most weight first, else in the order of
    calls and table."""
    chosen, found = list(faults), list[Trial]()
    for point in points:
        for row in chosen:
            if row.is_at_start and point is not points[0]:
                # Two runs that start together are struck once, whatever they call first.
                continue
            if row.fits(point):
                found.append(Trial((Injection(point, row),)))
    return sorted(found, key=lambda trial: -trial.priority)


def named(name: str, points: Sequence[InjectionPoint], faults: Iterable[Fault]) -> Trial:
    """The trial of a name, for a command that makes these calls when nothing fails. Raises
    ``ValueError`` with what is wrong with the name."""
    by_name = {fault.name: fault for fault in faults}
    injections: list[Injection] = []
    for part in name.split("+"):
        call, _, given = part.partition("/")
        point = _called(call, points, has_struck=bool(injections))
        row = by_name[fault(given).name]
        if not row.fits(point):
            raise ValueError(f"{row.name} makes no sense at {call}: {row.what}")
        for first in injections:
            if not _goes_with(first.fault, row):
                raise ValueError(f"{row.name} cannot come after {first.fault.name} in one run")
        injections.append(Injection(point, row))
    return Trial(tuple(injections))


def _called(call: str, points: Sequence[InjectionPoint], *, has_struck: bool) -> InjectionPoint:
    """The call of this name. What a command does to recover is among the calls of no run without a
    fault: such a call may be named where a fault ``has_struck`` before. Raises ``ValueError``."""
    known = {str(point): point for point in points}
    if call in known:
        return known[call]
    op, _, nth = call.partition("#")
    may_be_recovery = has_struck and op in OPERATIONS and nth.isdecimal() and int(nth) > 0
    if not may_be_recovery:
        calls = ", ".join(known)
        raise ValueError(
            f"got '{call[:60]}', which the command does not make{nearest(call, known)}; its "
            f"calls: {calls}"
        )
    # Whether it sends webhooks no run has shown: so faults of webhooks may be named for it.
    return InjectionPoint(op, int(nth), notifies=True)


def followed(
    first: Trial, points: Sequence[InjectionPoint], faults: Iterable[Fault]
) -> list[Trial]:
    """A second fault after the first: at each of the calls that the command made under the first
    one, after that was struck. So also what it does to recover can fail. The webhook of a payment
    that its provider has not taken at once can fail at the same call: it may come when the next try
    has paid."""
    [struck] = first.injections
    numbers = [point.number for point in points]
    if struck.point.number not in numbers:
        return []
    others = [other for other in faults if _goes_with(struck.fault, other)]
    later = points[numbers.index(struck.point.number) + 1 :]
    seconds = injections_that_fit(later, others)
    if struck.fault.at == "provider":
        of_webhook = [other for other in others if other.at == "notify"]
        seconds += injections_that_fit([struck.point], of_webhook)
    return [Trial((struck, second)) for second in seconds]


def injections_that_fit(
    points: Iterable[InjectionPoint], faults: Sequence[Fault]
) -> list[Injection]:
    """Each of some faults at each of some calls where it makes sense."""
    return [Injection(point, row) for point in points for row in faults if row.fits(point)]


def _goes_with(first: Fault, second: Fault) -> bool:
    """Whether one fault can be the second after another. A command is held once, so it is not
    killed and run beside itself in one run; and that both of two runs begin at once is the first
    thing that happens to them."""
    is_held_twice = first.at in OWN_AXES and second.at in OWN_AXES
    return not is_held_twice and not second.is_at_start


def weight(op: str) -> int:
    """How much a fault of an operation shows about a client: what moves money can be done twice,
    while a read that failed is just asked again."""
    if op in MONEY:
        return 3
    if op in READS:
        return 1
    return 2


COMPENSATING = frozenset({"charge.refund", "charge.void"})
"""Operations by which a client makes good what it has taken."""


def compensated(
    first: Trial,
    points: Sequence[InjectionPoint],
    known: Sequence[InjectionPoint],
    faults: Iterable[Fault],
) -> list[Trial]:
    """A second fault where a command makes good: at each refund or void among the ``points`` that
    it calls under the first fault, and not when nothing fails (``known``). Shops try that code
    least, and a refund that fails there has nobody who looks after it."""
    usual = {point.number for point in known}
    new = [point for point in points if point.number not in usual]
    makes_good = [point for point in new if point.op in COMPENSATING]
    usual_kind = [fault for fault in faults if fault.at not in OWN_AXES]
    return [
        Trial((*first.injections, second)) for second in injections_that_fit(makes_good, usual_kind)
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
    usual_kind = [fault for fault in faults if fault.at not in OWN_AXES]
    chosen = [fault for fault in usual_kind if fault.waits <= _LONGEST_WAIT]
    if not chosen:
        # Only slow faults were asked for.
        chosen = usual_kind
    at_known_calls = _at_known_calls(seed, points, chosen)
    if not at_known_calls:
        return Trial((), seed)
    # What takes money itself would make the verdict milder, though it may never strike.
    blameless = [fault for fault in chosen if not fault.moves_money]
    injections = sorted(at_known_calls, key=lambda injection: injection.point)
    for point in _unforeseen(points):
        unforeseen = _at_unforeseen_call(seed, point, blameless)
        if unforeseen is not None and point.op in operations:
            injections.append(unforeseen)
    return Trial(tuple(injections), seed)


def _at_known_calls(
    seed: int, points: Sequence[InjectionPoint], faults: Sequence[Fault]
) -> list[Injection]:
    """One to four faults at different ones of some calls, as far as any makes sense there."""
    left = injections_that_fit(points, faults)
    injections: list[Injection] = []
    count = 1 + _draw(seed, "count") % MOST_FAULTS
    for turn in range(count):
        if not left:
            break
        drawn = _weighted(left, _draw(seed, turn))
        injections.append(drawn)
        left = [injection for injection in left if injection.point != drawn.point]
    return injections


def _at_unforeseen_call(
    seed: int, point: InjectionPoint, faults: Sequence[Fault]
) -> Injection | None:
    """How a call that only a recovery makes fails, if it does."""
    is_struck = _draw(seed, point.op, point.nth) % _ONE_IN == 0
    if not is_struck:
        return None
    possible = injections_that_fit([point], faults)
    if not possible:
        return None
    return _weighted(possible, _draw(seed, point.op, point.nth, "fault"))


def _weighted(injections: Sequence[Injection], number: int) -> Injection:
    """One of some, by a number that was drawn: each has as many of the numbers as it has weight, so
    the more telling ones come more often."""
    ends = list(accumulate(injection.weight for injection in injections))
    place = bisect_right(ends, number % ends[-1])
    return injections[place]


def _unforeseen(points: Sequence[InjectionPoint]) -> list[InjectionPoint]:
    """Calls that a run with faults may make beyond those of the one without: of each operation on a
    kind of object that the command works with, the next few. A shop that pays may refund; it makes
    no subscription all at once."""
    kinds = {_kind(point.op) for point in points}
    notifying = {_kind(point.op) for point in points if point.notifies}
    last = {point.op: point.nth for point in points}
    unforeseen: list[InjectionPoint] = []
    for op in sorted(ALL_OPERATIONS - UNREQUESTED):
        kind, known = _kind(op), last.get(op, 0)
        if kind in kinds:
            unforeseen += [
                InjectionPoint(op, known + more, notifies=kind in notifying)
                for more in range(1, BEYOND + 1)
            ]
    return unforeseen


def _kind(op: str) -> str:
    """The kind of object that an operation is about: ``charge``."""
    return op.partition(".")[0]


def _draw(*parts: object) -> int:
    """A number that is the same for the same parts on every machine."""
    return int.from_bytes(digest("swarm", *parts, size=8))
