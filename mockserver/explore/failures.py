"""The failures that a client can meet, one table (``faults.csv``).

A failure is an outcome in the words of the scenario language: what exploration tries is what a user
can write in a file. So a row needs no code, and at which calls it makes sense is asked of the
language, which knows what can happen where (``operations_of``). A trial writes it as a rule for one
call (``Fault.rule``).

Source: docs/explore.md, What it runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import TypeGuard

from mockserver.domain.clock import SECOND, Micros, duration_text, parse_duration
from mockserver.domain.errors import nearest
from mockserver.domain.record import read_table, record, replace
from mockserver.explore.scenario_data import RuleData, part_of
from mockserver.scenario.file_model import read_model
from mockserver.scenario.operations import (
    ALL_OPERATIONS,
    MONEY,
    NOTIFYING,
    TAKING,
    UNREQUESTED,
    operations_like,
)
from mockserver.scenario.outcome import Outcome, OutcomeMap, applicability

PointRow = tuple[str, int, bool, str, str, int]
"""The fields of a call, in their order."""


@dataclass(frozen=True, slots=True, order=True)
class InjectionPoint:
    """One call of a run: its operation, and its number among the calls of that operation, from 1.

    ``notifies`` says that it caused webhooks in the run without faults, ``uses`` whether it needs a
    ``token``, an item of the ``vault`` or a ``hold`` that is still there; ``card`` are the first
    six and the last four digits of the card that it charged, ``rows`` how many rows its batch has.
    What comes due without a call is counted the same way.
    """

    op: str
    nth: int
    notifies: bool = False
    uses: str = ""
    card: str = ""
    rows: int = 0

    @property
    def number(self) -> tuple[str, int]:
        """What it is known by from run to run: what else is known of a call may differ."""
        return (self.op, self.nth)

    @property
    def row(self) -> PointRow:
        """What makes it again, as plain data."""
        return (self.op, self.nth, self.notifies, self.uses, self.card, self.rows)

    @property
    def is_counted(self) -> bool:
        """Whether a rule must count for itself to find it: it has no number among the calls."""
        return self.op in UNREQUESTED

    def __str__(self) -> str:
        return f"{self.op}#{self.nth}"


CLIENT_TIMEOUT: Micros = 30 * SECOND
"""How long a client is taken to wait for an answer, unless given."""

_CLIENT_TIMEOUT, _MIDDLE, _LAST = "{client_timeout}", "{middle}", "{last}"
"""What stands in the table for a moment later than that, and for rows of a batch."""

_GIVEN_UP = {
    "transport": {"at": "answer", "delay": _CLIENT_TIMEOUT, "virtual": True, "reset": True}
}
"""An answer that comes too late where the clock is set by hand. A real delay would take the time
that a manual clock saves: so the sandbox's clock moves on, and the client that has given up by then
sees no answer."""


CRASH, TWICE = "crash", "twice"
OWN_AXES = (CRASH, TWICE)
"""Places of faults that an option of their own adds: the command is killed there and run again, or
run a second time beside itself. They strike calls that move money."""


AT_START = "twice_at_start"
"""The fault that strikes two whole runs: the first call of each, whatever it is."""


@record
class Fault:
    """One way in which a call can fail. ``at`` is the place in the operation's life, ``what`` what
    happens, ``then`` the outcome of a rule that makes it happen, ``weight`` how much it shows about
    a client, 10 the most; ``is_usual`` that it is tried unless faults are named.

    It fits operations like ``ops`` that use a token, a vault item or a hold (``uses``), and batches
    of so many ``rows``. One that ``stays`` strikes later calls with the same card too: a lost card
    does not work again when it is tried again. It has struck when what ``comes_due`` has.
    ``moves_money``: it takes or withholds money itself, and the client is not to blame. ``waits``
    are the seconds of real time that nothing happens because of it."""

    name: str
    at: str
    what: str
    then: Mapping[str, object]
    weight: int
    is_usual: bool = True
    ops: str = ""
    uses: str = ""
    rows: int = 0
    stays: bool = False
    comes_due: str = ""
    moves_money: bool = False
    waits: float = 0

    @property
    def is_at_start(self) -> bool:
        """Whether it strikes the first calls of two runs, and no call in particular."""
        return self.name == AT_START

    def fits(self, point: InjectionPoint) -> bool:
        """Whether it makes sense at a call: the operation can fail so, and there is what would be
        spoilt, such as a webhook or a hold. Elsewhere it would strike nothing, or the same as
        another fault."""
        if "webhook" in self.then and not point.notifies:
            return False
        if self.uses and self.uses != point.uses:
            return False
        return point.op in operations_of(self.name) and point.rows >= self.rows

    def timed(self, client_timeout: Micros = CLIENT_TIMEOUT, *, is_manual: bool = False) -> Fault:
        """The fault for a client that waits so long, by a clock that is set by hand or by the
        machine's."""
        values = {_CLIENT_TIMEOUT: duration_text(client_timeout + SECOND)}
        then = _filled(self.then, values)
        waits_for_client = then != self.then
        if waits_for_client and is_manual:
            then = _filled(_GIVEN_UP, values)
        return replace(self, then=then, waits=_waits(then, is_manual=is_manual))

    @property
    def unforged(self) -> Fault | None:
        """The same without the forged webhook that it sends, but with the decline that this denies;
        None where it sends none."""
        webhook = part_of(self.then, "webhook")
        is_forged = webhook.get("bad_signature") or "signature" in webhook
        if not is_forged:
            return None
        then = {name: what for name, what in self.then.items() if name != "webhook"}
        if not then:
            # A forgery alone denies nothing: the run beside it is that without a fault.
            return None
        return replace(self, name=f"{self.name}-not", then=then)

    def rule(self, point: InjectionPoint) -> RuleData:
        """A rule of a scenario file that makes it happen at one call, and nowhere else."""
        rule: RuleData = {"id": self.rule_id(point), "when": self._when(point)}
        if point.is_counted:
            # Such rules count by themselves, each operation apart.
            rule["key"] = ["op"]
        rule["then"] = self.then_of(point.rows)
        return rule

    def rule_id(self, point: InjectionPoint) -> str:
        """The id of that rule."""
        return f"{self.name}-{point.op}-{point.nth}"

    def _when(self, point: InjectionPoint) -> Mapping[str, object]:
        """When the rule of a call fires."""
        if self.is_at_start:
            # The first run waits at its first call, so the next call is that of the second.
            return {"nth": {"lte": 2}}
        if point.is_counted:
            when: dict[str, object] = {"op": point.op, "nth": point.nth}
            if self.at == "provider":
                # Where a provider declines, a fallback may be asked: that is an attempt of the same
                # row, and must not be counted as the next one.
                when["attempt"] = 1
            return when
        if self.stays and point.card and point.op in TAKING:
            # From this call on, whatever else is tried with the card.
            card = {"bin": point.card[:6], "last4": point.card[-4:]}
            return {"op": point.op, "call": {"gte": point.nth}, "card": card}
        return {"op": point.op, "call": point.nth}

    def then_of(self, rows: int) -> Mapping[str, object]:
        """What happens to a batch of so many rows: the table names its middle and its last one."""
        return _filled(self.then, {_MIDDLE: (rows + 1) // 2, _LAST: rows})


def _filled(outcome: Mapping[str, object], values: Mapping[str, object]) -> dict[str, object]:
    """An outcome with values in the place of words that stand for them, however deep."""
    return {name: _filled_value(what, values) for name, what in outcome.items()}


def _filled_value(what: object, values: Mapping[str, object]) -> object:
    """The same for what stands under one key of an outcome."""
    if isinstance(what, Mapping):
        return _filled(what, values)
    if isinstance(what, list):
        return [_filled_value(one, values) for one in what]
    if isinstance(what, str):
        return values.get(what, what)
    return what


def _waits(then: Mapping[str, object], *, is_manual: bool) -> float:
    """The seconds of real time that nothing happens in a run because an outcome keeps an answer or
    a webhook back. A clock that is set by hand waits for no delay, but for a call that is held."""
    transport, webhook = part_of(then, "transport"), part_of(then, "webhook")
    lengths = [transport.get("hold")]
    if not is_manual:
        if not transport.get("virtual", False):
            lengths.append(transport.get("delay"))
        lengths += [webhook.get(name) for name in ("delay", "gap", "swap_with_next")]
    micros = sum(parse_duration(length) for length in lengths if _is_duration(length))
    return micros / SECOND


def _is_duration(word: object) -> TypeGuard[str]:
    """Whether a word of an outcome is so many seconds, and not until when."""
    return isinstance(word, str) and word[:1].isdigit()


def _fault(**row: str) -> Fault:
    """A row of the table; an empty cell is 0, or no."""
    return Fault(
        name=row["name"],
        at=row["at"],
        what=row["what"],
        then=json.loads(row["then"], parse_float=Decimal),
        weight=int(row["weight"]),
        is_usual=bool(row["is_usual"]),
        ops=row["ops"],
        uses=row["uses"],
        rows=int(row["rows"] or 0),
        stays=bool(row["stays"]),
        comes_due=row["comes_due"],
        moves_money=bool(row["moves_money"]),
    )


FAULTS: Mapping[str, Fault] = {
    row.name: row for row in read_table("faults", _fault, Path(__file__).parent)
}
"""Every fault by its name, in the order in which reports show them."""


def fault(name: str) -> Fault:
    """The fault of that name. Raises ``ValueError`` with the nearest known name."""
    found = FAULTS.get(name)
    if found is None:
        hint = nearest(name, FAULTS) or f", allowed: {', '.join(FAULTS)}"
        raise ValueError(f"got '{name[:60]}', which is not a fault{hint}")
    return found


_DUE = {
    "provider": frozenset({"batch.row"}),
    "later": frozenset({"subscription.renew"}),
    "notify": frozenset({"webhook.deliver"}),
}
"""What comes due without a call, and can fail there."""


@cache
def outcome_of(name: str) -> Outcome:
    """What a fault makes happen, to a batch of nine rows: so many that its first, middle and last
    one differ."""
    return read_model(OutcomeMap, FAULTS[name].timed().then_of(rows=9)).outcome


@cache
def operations_of(name: str) -> frozenset[str]:
    """The operations in which everything that a fault says can happen, and that a client can call,
    or that come due by themselves."""
    fault = FAULTS[name]
    outcome = outcome_of(name)
    called = ALL_OPERATIONS - UNREQUESTED
    if fault.at in OWN_AXES and not fault.is_at_start:
        # A crash, or a second run, between two reads shows nothing: what is at stake is money.
        called &= MONEY
    operations = called | _DUE.get(fault.at, frozenset())
    if fault.ops:
        named = [operations_like(pattern) for pattern in fault.ops.split()]
        operations &= frozenset[str]().union(*named)
    for _, fit in applicability(outcome):
        operations &= fit
    if outcome.webhook is not None:
        operations &= NOTIFYING
    return operations
