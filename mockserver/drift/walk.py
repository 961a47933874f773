"""The walk: calls of ``walk.yaml``, played against a server, and all that they made taken back at
the end.

Source: docs/drift.md, What it sends.
"""

import asyncio
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml

from mockserver.adapters.exit_codes import Exit
from mockserver.domain.clock import DAY, SECOND, iso, parse_duration
from mockserver.domain.record import mutable, read_table
from mockserver.drift.peers import Answer, NotCompared, Peer
from mockserver.scenario.answers import placeholders, ready
from mockserver.scenario.scenario import AdvanceMap, CallMap
from mockserver.scenario.values import json_text
from mockserver.web.routes import operation_of
from mockserver.wire.jsonio import loads

FIRST, OFFERED = "key", "offered"
"""The calls that show whether the key is right, and which providers the account has."""

DUMMY = "a26c371f-94f6-40da-add2-28ec8e9da8ed"
"""Provider of published samples, where the account shows none (published facts, 10)."""

WALK_SECONDS = 300.0
"""How long a walk may take; taking back may take as long again."""

_MOST_SILENCES = 3
"""Calls in a row without an answer after which the walk is broken off."""

_DEEP = 70
_UNDONE = {
    op: row
    for op, *row in read_table("undone", lambda **row: tuple(row.values()), Path(__file__).parent)
}
"""By operation: the id of what it makes, the call that removes that, and the parameter that finds
its charges."""

_RETURNED = {"REFUND", "AUTHORISE_CANCELLED", "FAILED"}


Step = CallMap | AdvanceMap


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


def steps(operations: Collection[str] | None = None, calls: Collection[str] = ()) -> list[Step]:
    """The steps of the walk: some calls and those of some operations, with the calls that they
    need, or all."""
    stages: Any = yaml.safe_load((Path(__file__).parent / "walk.yaml").read_text("utf-8"))
    rows = [row for stage in stages.values() for row in stage]
    made = [
        AdvanceMap(parse_duration(row["advance"])) if "advance" in row else CallMap(**row)
        for row in rows
    ]
    if operations is None and not calls:
        return made
    kept, asked = {FIRST, OFFERED, *calls}, operations or ()
    for step in reversed(made):
        if isinstance(step, CallMap) and (
            step.id in kept or operation_of(step.method, step.path) in asked
        ):
            needed = placeholders([step.call, step.headers, step.body])
            kept |= {str(step.id), *(name for name, _ in needed)}
    return [step for step in made if isinstance(step, AdvanceMap) or step.id in kept]


def calls_of(walk: Sequence[Step]) -> list[CallMap]:
    """The steps that call a server; at the others time passes."""
    return [step for step in walk if isinstance(step, CallMap)]


def printed(walk: Sequence[Step]) -> Iterator[str]:
    """The walk in words, a line each."""
    calls = calls_of(walk)
    for step in walk:
        yield (
            f"wait {step.advance // SECOND} s"
            if isinstance(step, AdvanceMap)
            else f"{step.id}: {step.call}"
        )
    charged = [
        step.body for step in calls if operation_of(step.method, step.path) == "charge.create"
    ]
    amounts = [
        Decimal(str(body["amount"])) for body in charged if type(body.get("amount")) in (int, float)
    ]
    yield (
        f"{len(calls)} calls in at most {WALK_SECONDS:.0f} s, charges of {sum(amounts)} in all; "
        "then what was made is "
        "voided, refunded or deleted"
    )


def unseen() -> Iterator[str]:
    """What no walk can show, with the reason."""
    yield "not shown by it:"
    yield from read_table("unseen", lambda key, reason: f"  {key}: {reason}", Path(__file__).parent)


async def play(walk: Sequence[Step], server: Peer, name: str, *, undoes: bool = True) -> Played:
    """Play a walk as the run of a name, and take back what it made, also when it breaks off.

    Raises ``NotCompared`` when the first call is not answered, or the key is not taken.
    """
    played, made = Played(), dict[tuple[str, str], None]()
    try:
        async with asyncio.timeout(WALK_SECONDS):
            await _play(walk, server, name, played, made)
    except TimeoutError:
        played.broken = f"not done within {WALK_SECONDS:.0f} s"
    finally:
        if undoes:
            try:
                async with asyncio.timeout(WALK_SECONDS):
                    for op, made_id in reversed(made):
                        await _undo(server, op, made_id, name, played.left)
            except TimeoutError:
                played.left.append(f"what was not taken back within {WALK_SECONDS:.0f} s")
    return played


async def _play(
    walk: Sequence[Step], server: Peer, name: str, played: Played, made: dict[tuple[str, str], None]
) -> None:
    """``made`` gets what is to be taken back: of a charge its reference, as it may be there when
    its answer is lost."""
    known: dict[str, object] = {}
    run: dict[str, object] = {
        "id": name,
        "capitals": name.upper(),
        "begin": name[:-1],
        "end": name[1:],
        "provider": DUMMY,
        "deep": loads(b"[" * _DEEP + b"]" * _DEEP, _DEEP),
    }
    silences = 0
    for step in walk:
        if isinstance(step, AdvanceMap):
            await server.rest(step.advance)
            continue
        now, name = server.now(), str(step.id)
        run |= {
            "past": iso(now - 40 * DAY),
            "yesterday": iso(now - DAY + 3 * SECOND),
            "soon": iso(now + 2 * SECOND),
        }
        try:
            call = ready(step, {**known, "run": run})
        except LookupError as missing:
            played.skipped[name] = str(missing.args[0]).partition(":")[0]
            continue
        op = operation_of(call.method, call.path)
        if op == "charge.create" and "reference" in call.body:
            made[op, call.body["reference"]] = None
        answer = await server.ask(call)
        if name == FIRST and answer.status in (401, 403):
            raise NotCompared(f"the key was refused with status {answer.status}")
        if name == FIRST and not answer.status:
            raise NotCompared(str(answer.body), Exit.NOT_READY)
        played.asked[name], played.answers[name], known[name] = call, answer, answer.known
        if name == OFFERED:
            run["provider"] = next(
                iter(re.findall(r'"providerId":"([\w-]+)"', json_text(answer.known))), DUMMY
            )
        if (
            answer.is_success
            and op
            and op in _UNDONE
            and (made_id := _text_in(answer.known, _UNDONE[op][0]))
        ):
            made[op, made_id] = None
        silences = 0 if answer.status else silences + 1
        if silences == _MOST_SILENCES:
            played.broken = f"{silences} calls in a row had no answer, the last one was {name}"
            return


def _text_in(value: object, name: str) -> str:
    """A member that can stand in a path; empty when it is not there."""
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, str) and re.fullmatch(r"[\w.~-]{1,100}", found) else ""


async def _undo(server: Peer, op: str, made_id: str, name: str, left: list[str]) -> None:
    """Take back what an operation made, by its id, and note what stays. A charge that is found is
    this run's when its reference or its subscription says so: a server may know a parameter of a
    search by another name."""
    _, remove, parameter = _UNDONE[op]
    if remove:
        answer = await server.ask(CallMap(call=remove.format(made_id)))
        if not (answer.is_success or 400 <= answer.status < 500):
            left.append(f"{remove.format('...')}: {answer.status or answer.body}")
    if parameter:
        found = (
            await server.ask(CallMap(call=f"GET /charge?{parameter}={made_id}&Limit=50"))
        ).known
        charges = found.get("charges") if isinstance(found, Mapping) else None
        for charge in charges if isinstance(charges, list) else ():
            charge_id, reference = _text_in(charge, "chargeId"), _text_in(charge, "reference")
            if charge_id and (
                reference.startswith(name) or _text_in(charge, "subscriptionId") == made_id
            ):
                await _give_back(server, charge_id, _text_in(charge, "status"), left)


async def _give_back(server: Peer, charge_id: str, status: str, left: list[str]) -> None:
    """Refund a charge, or void it when it is only authorised."""
    calls = (
        ()
        if status in _RETURNED
        else (f"DELETE /refund/{charge_id}", f"DELETE /charge/{charge_id}/void")
    )
    for call in calls:
        if (await server.ask(CallMap(call=call))).is_success:
            return
    if calls:
        left.append(f"a charge {status or 'of unknown status'}")
