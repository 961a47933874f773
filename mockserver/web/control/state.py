"""The whole of a sandbox: export, import, fork (``/__admin/state``, ``/__admin/fork``), as it stands or
as it stood after an entry of its journal: opened anew and taken through the same requests at the same instants; and two
sandboxes side by side (``/__admin/compare``). Source: docs/control-api.md.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any

from mockserver.domain.batch import Batch
from mockserver.domain.clock import ClockMode, iso
from mockserver.domain.errors import invalid
from mockserver.domain.masking import mask_start
from mockserver.engine import due, state_document
from mockserver.engine.codec import form
from mockserver.engine.delivery_log import DeliveryLog
from mockserver.engine.indexed_table import Table
from mockserver.engine.journal import JournalEntry
from mockserver.engine.sandbox import Sandbox, masked_key, sandbox_id_of
from mockserver.engine.state_facts import KINDS
from mockserver.web.control.call import ControlCall
from mockserver.web.control.sandboxes import object_counts
from mockserver.web.operation import OperationEndpoint
from mockserver.web.request import Reply, again
from mockserver.web.runner import SERVER, for_each, in_steps
from mockserver.web.transport_faults import is_cut, upload_decision
from mockserver.web.world import World
from mockserver.wire.long_json import dumps_in_slices, loads_in_slices

MANY_RULES = 300
"""Rules from which on making a config of them takes so long that others must not wait for it."""


async def read(call: ControlCall) -> bytes | deque[bytes]:
    """Everything as one document, as it stood when it was asked for; card numbers and ccv only with ``secrets=true``
    and the secret key itself. Others are served while it is written."""
    secrets = call.query.secrets
    # What else names a sandbox must not show its secrets.
    named = {"x-secretkey": call.headers.get("x-secretkey", "")} if secrets else call.headers
    sandbox = call.world.directory.of_control(named, changes=False)
    document = await in_steps(state_document.export(sandbox, secrets=secrets))
    parts = await in_steps(dumps_in_slices(document))
    return parts[0] if len(parts) == 1 else parts


async def write(call: ControlCall) -> object:
    """Put an exported state in the place of this sandbox's. Raises ``MalformedJson``, ``ForeignDocument`` (90),
    ``Invalid`` (90); then nothing changed. Others are served while it is read."""
    world = call.world
    # Who may change nothing is refused before anything is read.
    call.sandbox()
    is_blank = not any(await for_each(call.parts, bytes.strip))
    body = loads_in_slices(call.parts, unique=True, known=state_document.KNOWN)
    document = {} if is_blank else await in_steps(body)
    if not isinstance(document, dict):
        raise invalid({"Body": "wanted a JSON object"})
    reading = await in_steps(state_document.read(document))
    make = partial(reading.config, call.sandbox().config, world.directory.brought)
    config = await asyncio.to_thread(make) if reading.carried_rules >= MANY_RULES else make()
    made = await in_steps(state_document.sandbox_of(reading, call.sandbox().key, config, world.real_clock()))
    made.journal.gap_reason = "a state was imported"
    world.sandboxes.install(made, aside=call.query.undo)
    public_key = made.public_key if "x-secretkey" in call.headers else masked_key(made.public_key)
    return {**_summary(made, public_key), "rulesNotInForce": reading.rules_not_in_force(made)}


async def fork(call: ControlCall) -> object:
    """Copy this sandbox to the key ``to``: as it stands, or as it was after the journal entry ``at``.

    Raises ``Invalid`` (90) for a key that is this one's or opens nothing, and for an entry that cannot be gone back to.
    """
    # A copy gives the vault away to everybody who knows its key: it takes more than a public key.
    sandbox = call.world.directory.of_secret_key(call.headers)
    to, at, sandboxes = call.body.to, call.body.at, call.world.sandboxes
    if to == sandbox.key:
        raise invalid({"To": "wanted another key than that of this sandbox"})
    sandboxes.admit(to)
    source = sandbox
    if at is not None:
        source = await _replayed(call.world, sandbox, at)
    copy = await in_steps(state_document.copied(source, to, call.world.real_clock()))
    sandboxes.admit(to)
    copy.journal.gap_reason = "this sandbox was forked from another"
    sandboxes.install(copy)
    for key in (copy.key, SERVER):
        call.world.runner.activity.notify(key)
    return _summary(copy, copy.public_key)


async def _replayed(world: World, sandbox: Sandbox, number: int) -> Sandbox:
    """The sandbox as it was right after entry ``number``, its clock standing still there; no key opens it yet.

    Raises ``Invalid`` (90) when there is no such entry, or the journal no longer holds the whole story up to it.
    """
    journal = sandbox.journal
    if not 1 <= number <= journal.last:
        known = f"1 to {journal.last}" if journal.last else "none yet"
        raise invalid({"At": f"got {number}, entries of the journal: {known}"})
    if journal.dropped:
        raise invalid({"At": f"{journal.loss()}, so it cannot be replayed from the beginning"})
    if journal.gap_reason is not None:
        raise invalid({"At": f"{journal.gap_reason}, which the journal cannot repeat"})
    past = Sandbox(sandbox.key, sandbox.config, journal.opened)
    if sandbox.own is not None:
        past.settle(sandbox.own)
    past.clock.run(ClockMode.MANUAL, 1, journal.opened)
    world.prepare(past)
    past.forget_past()
    for entry in list(islice(journal.entries, number)):
        past.clock.move_to(max(entry.at, past.clock.virtual), journal.opened)
        due.run_slice(past, past.clock.virtual)
        while due.is_behind(past):
            await world.runner.turn(past)
            due.run_slice(past, past.clock.virtual)
        if isinstance(entry.endpoint, OperationEndpoint):
            _repeat(past, entry, entry.endpoint)
        await world.runner.turn(past)
    # What it caused was sent when it happened.
    past.deliveries = DeliveryLog(past.deliveries.limit)
    return past


def _repeat(past: Sandbox, entry: JournalEntry, operation: OperationEndpoint) -> None:
    """Take one request again, as far as it came then. Raises ``Invalid`` (90) when it is answered differently now."""
    request = again(entry, past)
    decision = request.decided = upload_decision(past, entry.asked.op, entry.asked.headers)
    if decision is not None and is_cut(decision):
        past.director.count(entry.asked.op)
        return
    step, arrived = operation.arrive(request, past)
    reply = arrived if isinstance(arrived, Reply) else operation.carry_out(request, step)
    if (reply.status, reply.text()) != (entry.status, entry.answer):
        words = f"entry {entry.number} would be answered differently: something happened before it besides requests"
        raise invalid({"At": words})


def _summary(sandbox: Sandbox, public_key: str) -> dict[str, object]:
    return {"key": masked_key(sandbox.key), "publicKey": public_key, "objects": object_counts(sandbox)}


_EARLIEST_SHOWN = 10**15
"""Whole numbers from here on are instants, in microseconds."""

_MOST = 200
"""Objects that are named of each kind and each way of differing; all are counted."""


async def compare(call: ControlCall) -> object:
    """What differs between this sandbox (``here``) and the one of the id ``with`` (``there``): clock, scenarios, and
    objects by kind. Card numbers and ccv are compared as an export without secrets shows them.

    Raises ``Invalid`` (90) for an id that no open sandbox has.
    """
    here, wanted = call.sandbox(), call.query.with_
    for key in call.world.sandboxes.keys_of({"x-sandbox": wanted}):
        await call.fetch(key)
    there = call.world.sandboxes.with_id(wanted)
    if there is None:
        known = ", ".join(sandbox_id_of(one.key) for one in list(call.world.sandboxes)[-5:])
        raise invalid({"With": f"got '{mask_start(wanted, 40)}', wanted the id of an open sandbox, such as {known}"})
    # Of the instant at which the comparison begins.
    sides, others = _facts(here), _facts(there)
    facts = {name: {"here": one, "there": others[name]} for name, one in sides.items() if one != others[name]}
    taken = {kind: (table(here).id_of, _rows(table(here)), _rows(table(there))) for kind, (_, table) in KINDS.items()}
    found = {kind: await _difference(*rows) for kind, rows in taken.items()}
    kinds = {kind: diff for kind, diff in found.items() if diff["onlyHere"] or diff["onlyThere"] or diff["changed"]}
    return {"equal": not kinds and not facts, "facts": facts, "kinds": kinds}


def _facts(sandbox: Sandbox) -> dict[str, object]:
    return {
        "now": iso(sandbox.now),
        "clock": sandbox.clock.mode,
        "profile": sandbox.assumed.profile,
        "seed": sandbox.config.seed,
        "pending": len(sandbox.schedule.entries),
        "scenarios": [scenario.name for scenario in sandbox.config.scenarios],
    }


async def _difference(id_of: Callable[[Any], str], mine: list[Any], theirs: list[Any]) -> dict[str, object]:
    """How the objects of one kind differ: ids that one side alone has, and fields whose values are not equal."""
    counts = dict.fromkeys(("onlyHere", "onlyThere", "changed", "equal"), 0)
    named: dict[str, dict[str, Mapping[str, object]]] = {name: {} for name in counts}
    others = dict[str, Any]()

    def note(name: str, row_id: str, fields: Mapping[str, object] | None = None) -> None:
        counts[name] += 1
        if len(named[name]) < _MOST:
            named[name][row_id] = fields or {}

    def compared(row: Any) -> None:
        other, write = others.pop(id_of(row), None), form(row.__class__).write
        if other is None:
            note("onlyHere", id_of(row))
        elif row != other and (fields := dict(_fields("", write(row, False), write(other, False)))):
            note("changed", id_of(row), fields)
        else:
            counts["equal"] += 1

    await for_each(theirs, lambda row: others.setdefault(id_of(row), row))
    await for_each(mine, compared)
    await for_each(others, lambda row_id: note("onlyThere", row_id))
    ids = {"onlyHereIds": list(named["onlyHere"]), "onlyThereIds": list(named["onlyThere"])}
    return {**counts, **ids, "changedFields": named["changed"]}


def _rows(table: Table[Any]) -> list[Any]:
    """The rows of a table as they are now, whatever comes of them."""
    rows = list(table)
    return [batch.copied() for batch in rows] if rows and isinstance(rows[0], Batch) else rows


def _fields(path: str, mine: Any, theirs: Any) -> Iterator[tuple[str, dict[str, object]]]:
    """Fields that differ by their dotted path, with the value on each side; None where a side has none."""
    if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
        for name in {**mine, **theirs}:
            one, other = mine.get(name), theirs.get(name)
            if one != other:
                yield from _fields(f"{path}.{name}" if path else str(name), one, other)
    else:
        yield path, {"here": _value(mine), "there": _value(theirs)}


def _value(value: object) -> object:
    return iso(value) if type(value) is int and value >= _EARLIEST_SHOWN else value
