"""What can be tried, one table: ``faults.yaml``. Source: docs/explore.md, What it runs.

Each row is a rule of the scenario language. Where it fits follows from what the language lets happen there, and how
the command is run under it from the rule itself: crashes and second runs are rows like any other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from mockserver.adapters.strict_yaml import read
from mockserver.domain.clock import SECOND, Micros, duration_text
from mockserver.domain.errors import nearest
from mockserver.domain.record import record, replace
from mockserver.explore.trial import InjectionPoint
from mockserver.scenario.file_model import read_model
from mockserver.scenario.operations import ALL_OPERATIONS, MONEY, OPERATIONS, READS, UNREQUESTED
from mockserver.scenario.outcome import NOTIFYING, OutcomeMap, applicability

CLIENT_TIMEOUT: Micros = 30 * SECOND
"""How long a client is taken to wait for an answer, unless given."""

_CLIENT_TIMEOUT = "{client_timeout}"
"""Stands for that time in the table."""

_GIVEN_UP = {"transport": {"at": "answer", "delay": _CLIENT_TIMEOUT, "virtual": True, "reset": True}}
"""An answer that comes too late where the clock is set by hand: time passes, and the client that has given up by then
sees no answer."""


CRASH, TWICE = "crash", "twice"
OWN_AXES = (CRASH, TWICE)
"""Places of faults that an option of their own adds: the command is killed there and run again, or run a second time
beside itself. They strike calls that move money."""


@record
class Fault:
    """One way in which a call can fail. ``at`` is the place in the operation's life, ``what`` what happens, ``then``
    the outcome of a rule that makes it happen, ``weight`` how much it shows about a client, 10 the most; ``is_usual``
    that it is tried unless faults are named; ``waits`` the seconds of real time that the client waits without an
    answer."""

    name: str
    at: str
    what: str
    then: Mapping[str, Any]
    weight: int
    is_usual: bool = True
    waits: float = 0

    def fits(self, point: InjectionPoint) -> bool:
        """Whether it makes sense at a call; a webhook can only be spoilt where there was one."""
        return point.op in _operations(self.name) and ("webhook" not in self.then or point.notifies)

    def timed(self, client_timeout: Micros = CLIENT_TIMEOUT, *, is_manual: bool = False) -> Fault:
        """The fault for a client that waits so long, by a clock that is set by hand or by the machine's."""
        text, late = json.dumps(self.then), client_timeout + SECOND
        if _CLIENT_TIMEOUT not in text:
            return self
        text = json.dumps(_GIVEN_UP) if is_manual else text
        then = json.loads(text.replace(_CLIENT_TIMEOUT, duration_text(late)))
        return replace(self, then=then, waits=0 if is_manual else late / SECOND)

    def rule(self, point: InjectionPoint) -> dict[str, Any]:
        """A rule of a scenario file that makes it happen at one call, and nowhere else."""
        return {
            "id": f"{self.name}-{point.op}-{point.nth}",
            "when": {"op": point.op, "call": point.nth},
            "then": self.then,
        }


def _read() -> Mapping[str, Fault]:
    rows: Any = read(Path(__file__).with_name("faults.yaml").read_text("utf-8"), "faults.yaml").data
    return {name: Fault(name, is_usual=row.pop("default", True), **row) for name, row in rows.items()}


FAULTS = _read()
"""Every fault by its name, in the order in which reports show them."""


@record
class Trial:
    """What is tried in one run: faults at calls, one of each unless pairs are tried; in a run of a swarm those that its
    ``seed`` has drawn."""

    injections: tuple[tuple[InjectionPoint, Fault], ...]
    seed: int | None = None

    @property
    def name(self) -> str:
        """Unique in an exploration; what ``--replay`` takes: ``charge.create#1/lost_answer``, ``seed-17``."""
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
        return [fault.rule(point) for point, fault in self.injections]

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
        told = " and ".join(f"{fault.name} at {point}: {fault.what}" for point, fault in self.injections)
        return told if self.seed is None else f"seed {self.seed}: {told}"

    @property
    def priority(self) -> int:
        """How much the run is likely to show: money operations before others, these before reads; lost answers before
        slow ones; one fault before two."""
        return min(fault.weight * weight(point.op) for point, fault in self.injections) - 100 * len(self.injections)


SEED = "seed-"
"""How the name of a run of a swarm begins."""


def name_of(file: str, point: str, fault: str) -> str:
    """The name of what was tried, by that of its file, its calls and its faults."""
    if file.startswith(SEED):
        return file
    return "+".join(map("/".join, zip(point.split("+"), fault.split("+"), strict=True)))


def at_place(*places: str) -> list[Fault]:
    """The faults at some places of an operation's life."""
    return [row for row in FAULTS.values() if row.at in places]


def faults_of(chosen: str | None) -> list[Fault]:
    """The faults that are named, parted by commas: None means the usual ones, ``all`` every one but those that an
    option of their own adds. Raises ``ValueError`` with the nearest known name."""
    if chosen is None or chosen.strip() == "all":
        rows = [row for row in FAULTS.values() if row.at not in OWN_AXES]
        return rows if chosen is not None else [row for row in rows if row.is_usual]
    return [fault(one.strip()) for one in chosen.split(",")]


def trials(points: Sequence[InjectionPoint], faults: Iterable[Fault]) -> list[Trial]:
    """Each fault at each call where it makes sense, the most weight first, else in the order of calls and table."""
    chosen = list(faults)
    found = [Trial(((point, fault),)) for point in points for fault in chosen if fault.fits(point)]
    return sorted(found, key=lambda one: -one.priority)


def named(name: str, points: Sequence[InjectionPoint], faults: Iterable[Fault]) -> Trial:
    """The trial of a name, for a command that makes these calls when nothing fails. Raises ``ValueError`` with what is
    wrong with the name."""
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
                f"got '{call[:60]}', which is no call of the command{nearest(call, known)}; it makes {calls}"
            )
        point, row = known.get(call) or InjectionPoint(op, int(nth), notifies=True), by_name[fault(given).name]
        if not row.fits(point):
            raise ValueError(f"{row.name} makes no sense at {call}: {row.what}")
        found.append((point, row))
    return Trial(tuple(found))


def followed(first: Trial, points: Sequence[InjectionPoint], faults: Iterable[Fault]) -> list[Trial]:
    """A second fault after the first: at each of the calls that the command made under the first one, after that was
    struck. So also what it does to recover can fail."""
    [(struck, fault)] = first.injections
    places = [place for place, point in enumerate(points) if (point.op, point.nth) == (struck.op, struck.nth)]
    later = points[places[0] + 1 :] if places else ()
    return [Trial(((struck, fault), (point, other))) for point in later for other in faults if other.fits(point)]


def fault(name: str) -> Fault:
    """The fault of that name. Raises ``ValueError`` with the nearest known name."""
    found = FAULTS.get(name)
    if found is None:
        hint = nearest(name, FAULTS) or f", allowed: {', '.join(FAULTS)}"
        raise ValueError(f"got '{name[:60]}', which is not a fault{hint}")
    return found


def weight(op: str) -> int:
    """How much a fault of an operation shows about a client."""
    return 3 if op in MONEY else 1 if op in READS else 2


@cache
def _operations(name: str) -> frozenset[str]:
    """The operations in which everything that a fault says can happen, and that a client can call."""
    outcome = read_model(OutcomeMap, FAULTS[name].timed().then).outcome
    operations = (MONEY if FAULTS[name].at in OWN_AXES else ALL_OPERATIONS) - UNREQUESTED
    for _, fit in applicability(outcome):
        operations &= fit
    return operations & NOTIFYING if outcome.webhook is not None else operations
