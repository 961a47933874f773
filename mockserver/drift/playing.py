"""A walk is played against a server, and all that it made is taken back at the end.

The other server may be the sandbox that a whole company uses, so nothing may stay in it. What an
operation makes, and how that is removed, is a row of ``undone.csv``. It is noted before anything
can go wrong: a charge by its reference as it is asked for, since it may be there when its answer is
lost, all else by the id in its answer. It is taken back in reverse order, also after a time-out, an
interruption or three silences; what could not be is named in the report (``Played.left``).

Source: docs/drift.md, What it sends.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import NamedTuple

from mockserver.adapters.exit_codes import Exit
from mockserver.domain.clock import DAY, SECOND, iso
from mockserver.domain.record import mutable, read_table, record
from mockserver.drift.peers import Answer, NotCompared, Peer
from mockserver.drift.walk import DUMMY, FIRST, OFFERED, WALK_SECONDS, Step
from mockserver.scenario.answers import ready
from mockserver.scenario.scenario import AdvanceMap, CallMap
from mockserver.scenario.values import json_text
from mockserver.web.routes import operation_of
from mockserver.wire.jsonio import loads

_MOST_SILENCES = 3
"""Calls in a row without an answer after which the walk is broken off."""

_DEEP = 70
"""Lists within lists of a body of the walk: deeper than servers read."""


@record
class _Undoing:
    """How what an operation makes is taken back: the field of its answer that has its id, the call
    that removes it, and the parameter of a search that finds its charges. Empty texts are none."""

    op: str
    id_field: str
    remove: str
    parameter: str


_UNDOING = {row.op: row for row in read_table("undone", _Undoing, Path(__file__).parent)}

_RETURNED = {"REFUND", "AUTHORISE_CANCELLED", "FAILED"}
"""States of charges that hold no money."""


@mutable
class Played:
    """What came of a walk: what was ``asked`` and answered by call, the calls that could not be
    made with what they lacked, what could not be taken back, and why the walk was broken off.
    ``is_partial`` says that answers hold only what a source shows."""

    asked: dict[str, CallMap] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    broken: str | None = None
    is_partial: bool = False


async def play(walk: Sequence[Step], server: Peer, name: str, *, undoes: bool = True) -> Played:
    """Play a walk as the run of a name, and take back what it made, also when it breaks off.

    Raises ``NotCompared`` when the first call is not answered, or the key is not taken.
    """
    walking = _Walking(server, name)
    try:
        async with asyncio.timeout(WALK_SECONDS):
            await walking.play(walk)
    except TimeoutError:
        walking.played.broken = f"not done within {WALK_SECONDS:.0f} s"
    finally:
        if undoes:
            await walking.take_back()
    return walking.played


class _Made(NamedTuple):
    """What an operation has made, by its id; a charge by its reference."""

    op: str
    id: str


class _Walking:
    """One walk at one server, as the run of a name; ``played`` is what came of it."""

    def __init__(self, server: Peer, run_name: str) -> None:
        self.played = Played()
        self._server, self._run_name = server, run_name
        self._made: dict[_Made, None] = {}
        """What is to be taken back, in order and once each."""
        self._silences = 0
        """How many calls in a row had no answer."""
        self._known: dict[str, object] = {}
        """Answers by call, as they came: later calls name their members."""
        self._run: dict[str, object] = {
            "id": run_name,
            "capitals": run_name.upper(),
            "begin": run_name[:-1],
            "end": run_name[1:],
            "provider": DUMMY,
            "deep": loads(b"[" * _DEEP + b"]" * _DEEP, _DEEP),
        }
        """What calls may name of the walk itself."""

    async def play(self, walk: Sequence[Step]) -> None:
        """Play the steps one after the other, until a server is silent for too long."""
        for step in walk:
            if isinstance(step, AdvanceMap):
                await self._server.rest(step.advance)
                continue
            await self._make(step)
            if self._silences == _MOST_SILENCES:
                calls = f"{self._silences} calls in a row"
                self.played.broken = f"{calls} had no answer, the last one was {step.id}"
                return

    async def _make(self, step: CallMap) -> None:
        """Make a call of the walk, and note what it made."""
        now, name = self._server.now(), str(step.id)
        self._run |= {
            "past": iso(now - 40 * DAY),
            "yesterday": iso(now - DAY + 3 * SECOND),
            "soon": iso(now + 2 * SECOND),
        }
        try:
            call = ready(step, {**self._known, "run": self._run})
        except LookupError as missing:
            # An earlier call has not given what this one names.
            self.played.skipped[name] = str(missing.args[0]).partition(":")[0]
            return
        self._note_before(call)
        answer = await self._server.ask(call)
        if name == FIRST:
            _check_key_is_taken(answer)
        self.played.asked[name], self.played.answers[name] = call, answer
        self._known[name] = answer.known
        if name == OFFERED:
            self._run["provider"] = _offered_provider(answer)
        self._note_after(call, answer)
        self._silences = 0 if answer.status else self._silences + 1

    def _note_before(self, call: CallMap) -> None:
        """Note a charge that is asked for: it may be there when its answer is lost."""
        op = operation_of(call.method, call.path)
        if op == "charge.create" and "reference" in call.body:
            self._made[_Made(op, call.body["reference"])] = None

    def _note_after(self, call: CallMap, answer: Answer) -> None:
        """Note what a call has made, by the id in its answer."""
        op = operation_of(call.method, call.path)
        if op is None or op not in _UNDOING or not answer.is_success:
            return
        made_id = _path_text(answer.known, _UNDOING[op].id_field)
        if made_id:
            self._made[_Made(op, made_id)] = None

    async def take_back(self) -> None:
        """Take back what the walk has made, in reverse order, as a customer can be removed when its
        cards are gone."""
        try:
            async with asyncio.timeout(WALK_SECONDS):
                for made in reversed(self._made):
                    await self._undo(made)
        except TimeoutError:
            self.played.left.append(f"what was not taken back within {WALK_SECONDS:.0f} s")

    async def _undo(self, made: _Made) -> None:
        """Take back what an operation has made, and note what stays."""
        undoing = _UNDOING[made.op]
        if undoing.remove:
            answer = await self._server.ask(CallMap(call=undoing.remove.format(made.id)))
            # One that is refused was removed before, or is of no further use.
            is_refused = 400 <= answer.status < 500
            if not answer.is_success and not is_refused:
                what = undoing.remove.format("...")
                self.played.left.append(f"{what}: {answer.status or answer.body}")
        if undoing.parameter:
            await self._give_charges_back(made, undoing.parameter)

    async def _give_charges_back(self, made: _Made, parameter: str) -> None:
        """Give back the money of the charges that a search by a parameter finds. One of them is
        this run's when its reference or its subscription says so: a server may know the parameter
        by another name, and answer the charges of others."""
        search = CallMap(call=f"GET /charge?{parameter}={made.id}&Limit=50")
        page = (await self._server.ask(search)).known
        charges = page.get("charges") if isinstance(page, Mapping) else None
        if not isinstance(charges, list):
            return
        for charge in charges:
            charge_id, reference = _path_text(charge, "chargeId"), _path_text(charge, "reference")
            is_of_run = reference.startswith(self._run_name)
            is_of_subscription = _path_text(charge, "subscriptionId") == made.id
            if charge_id and (is_of_run or is_of_subscription):
                await self._give_back(charge_id, _path_text(charge, "status"))

    async def _give_back(self, charge_id: str, status: str) -> None:
        """Refund a charge, or void it when it is only authorised."""
        if status in _RETURNED:
            return
        # What is only authorised refuses a refund.
        for call in (f"DELETE /refund/{charge_id}", f"DELETE /charge/{charge_id}/void"):
            answer = await self._server.ask(CallMap(call=call))
            if answer.is_success:
                return
        self.played.left.append(f"a charge {status or 'of unknown status'}")


def _offered_provider(answer: Answer) -> str:
    """The first provider of the account; where it shows none, that of published samples."""
    offered = re.findall(r'"providerId":"([\w-]+)"', json_text(answer.known))
    return offered[0] if offered else DUMMY


def _check_key_is_taken(answer: Answer) -> None:
    """Go no further where the first call got no answer, or the key opens nothing. Raises
    ``NotCompared``."""
    if answer.status in (401, 403):
        raise NotCompared(f"the key was refused with status {answer.status}")
    if not answer.status:
        raise NotCompared(str(answer.body), Exit.NOT_READY)


def _path_text(value: object, name: str) -> str:
    """A member of an answer that can stand in a path; empty when there is none."""
    member = value.get(name) if isinstance(value, Mapping) else None
    if isinstance(member, str) and re.fullmatch(r"[\w.~-]{1,100}", member):
        return member
    return ""
