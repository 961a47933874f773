"""Sandboxes as a whole: list, name, reset, and what is assumed in them (``/__admin/sandboxes``,
``/__admin/reset``, ``/__admin/assumptions``); export, import, fork (``/__admin/state``,
``/__admin/fork``), as one stands or as it stood after an entry of its journal: opened anew and
taken through the same requests at the same instants; and two side by side (``/__admin/compare``).
Source: docs/control-api.md.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Annotated, Any

from pydantic import Field

from mockserver.assumptions import ROWS, Assumed, Profile, read
from mockserver.domain.batch import Batch
from mockserver.domain.clock import ClockMode, iso
from mockserver.domain.errors import MOST_FAULTS, Invalid, NotKept, Unauthorised, invalid
from mockserver.domain.masking import mask_start, mask_text
from mockserver.domain.reading import camel
from mockserver.domain.record import replace
from mockserver.engine import due, state_document
from mockserver.engine.config import Beginning
from mockserver.engine.delivery_log import DeliveryLog
from mockserver.engine.indexed_table import Table
from mockserver.engine.journal import Journal, JournalEntry
from mockserver.engine.sandbox import Sandbox, masked_key, sandbox_id_of
from mockserver.engine.sandboxes import MOST_ASIDE
from mockserver.engine.step import KINDS
from mockserver.engine.tables import ROW_CLASSES
from mockserver.web.control.call import LINES, AnyCall, ControlCall, ControlRoute, missing
from mockserver.web.journaled import operation_of, request_of
from mockserver.web.operation import OperationEndpoint
from mockserver.web.request import NO_STORE, NOSNIFF, Reply
from mockserver.web.runner import SERVER, for_each, in_thread
from mockserver.web.transport_faults import is_cut, upload_decision
from mockserver.web.world import World
from mockserver.wire.control_body import ControlBody, OpenBody
from mockserver.wire.field_types import PrintableName, ProfileWord, SecretKey, Switch, digits, whole
from mockserver.wire.jsonio import MalformedJson, loads
from mockserver.wire.replies import reply_of


class SandboxQuery(ControlBody):
    """Which sandboxes."""

    limit: Annotated[int, digits(1, 10000)] = Field(1000, description="at most this many")
    skip: Annotated[int, digits(0)] = Field(
        0,
        description="leave out this many of those that were used last",
    )


class NamedSandbox(ControlBody):
    """A name for the sandbox of a key."""

    key: SecretKey = Field(description="secret key of the sandbox")
    name: PrintableName = Field(description="name for people, shown to all")


class SandboxName(ControlBody):
    """A name for this sandbox."""

    name: PrintableName = Field(description="name for people, shown to all")


class ResetQuery(ControlBody):
    """What is emptied."""

    all: Switch = Field(False, description="every sandbox of the server; no key is needed then")
    scenario: Switch = Field(False, description="also forget its own scenarios and overrides")
    undo: Switch = Field(False, description="keep the old content for POST /__admin/undo")


class StateQuery(ControlBody):
    """What an export holds."""

    secrets: Switch = Field(False, description="card numbers and ccv too")


class UndoQuery(ControlBody):
    """Whether it can be undone."""

    undo: Switch = Field(False, description="keep the old content for POST /__admin/undo")


class StateDocument(OpenBody):
    """A sandbox as it was exported."""


class CompareQuery(ControlBody):
    """With what a sandbox is compared."""

    with_: str = Field("", description="id of the other sandbox")


class ForkTarget(ControlBody):
    """Where a copy of a sandbox goes."""

    to: SecretKey = Field(description="secret key of the copy; what it opened is lost")
    at: Annotated[int, whole(0)] | None = Field(
        None,
        description="journal entry after which the copy is made",
    )


class Overrides(OpenBody):
    """Values of assumptions by key; null follows the profile again."""

    profile: ProfileWord | None = Field(None, description="documented or sdk")


_PUBLIC = "a name is shown to all: it must not contain the key or a card number"


async def listing(call: ControlCall[ControlBody, SandboxQuery]) -> object:
    """Sandboxes, the last used first; ``count`` is how many there are."""
    query, sandboxes = call.query, call.world.sandboxes
    every = sandboxes.known_keys
    # Of those that were not used since they were opened or emptied, the last comes first.
    order = sorted(every, key=sandboxes.used)[::-1]
    found = []
    for key in order[query.skip : query.skip + query.limit]:
        # One whose rows cannot be read is counted, and its own calls say why.
        with suppress(NotKept):
            await sandboxes.storage.fetch([key])
            if (sandbox := sandboxes.get(key)) is not None:
                await call.world.runner.catch_up(sandbox)
                found.append(sandbox)
    shown = await for_each(
        found, lambda sandbox: _shown(call, sandbox, masked_key(sandbox.public_key))
    )
    return {"count": len(every), "sandboxes": shown}


def one(call: AnyCall) -> object:
    """The sandbox of the call's key, as it is or would open; the public key in full for those who
    have a key."""
    sandbox = call.sandbox()
    is_known = sandbox.key == call.headers.get(
        "x-secretkey"
    ) or sandbox.public_key == call.headers.get("x-publickey")
    return _shown(call, sandbox, sandbox.public_key if is_known else masked_key(sandbox.public_key))


async def name(call: ControlCall[NamedSandbox, ControlBody]) -> object:
    """Give the sandbox of a key a name, opening it if need be. Raises ``Invalid`` (90) for
    either."""
    world, key, given = call.world, call.body.key, call.body.name
    faults = {}
    try:
        world.sandboxes.admit(key)
    except Unauthorised as refused:
        faults["Key"] = "; ".join((refused.details or {}).values())
    if mask_text(given) != given or key in given:
        faults["Name"] = _PUBLIC
    if faults:
        raise invalid(faults)
    await world.sandboxes.storage.fetch([key])
    sandbox = world.sandboxes.open(key, world.real_clock())
    await world.runner.catch_up(sandbox)
    return _named(call, sandbox, given, sandbox.public_key)


def rename(call: ControlCall[SandboxName, ControlBody]) -> object:
    """Give this sandbox a name. Raises ``Invalid`` (90) for one that holds its key or a card
    number."""
    sandbox, given = call.sandbox(), call.body.name
    if mask_text(given) != given or sandbox.key in given:
        raise invalid({"Name": _PUBLIC})
    return _named(call, sandbox, given, masked_key(sandbox.public_key))


def _named(call: AnyCall, sandbox: Sandbox, given: str, public_key: str) -> dict[str, object]:
    call.world.sandboxes.name(sandbox, given.strip())
    call.world.runner.activity.notify(SERVER)
    return _shown(call, sandbox, public_key)


def delete(call: AnyCall) -> object:
    """Delete this sandbox, its name and what an undo would bring back: its key opens a new one.
    What waits in it is answered as after a reset."""
    world = call.world
    # A key that has opened nothing opens nothing here.
    is_known = world.sandboxes.named(call.headers) is not None
    sandbox = world.directory.of_control(call.headers, changes=is_known)
    is_open = world.sandboxes.is_live(sandbox)
    if is_open:
        world.sandboxes.drop(sandbox)
        if world.rate_limit is not None:
            world.rate_limit.forget(sandbox.key)
        world.runner.activity.notify(sandbox.key)
        world.runner.activity.notify(SERVER)
    return {"cleared": int(is_open)}


async def reset(call: ControlCall[ControlBody, ResetQuery]) -> object:
    """Empty this sandbox or all of them, scenarios and overrides only with ``scenario=true``."""
    keys = call.world.sandboxes.known_keys if call.query.all else (call.sandbox().key,)
    if call.query.undo:
        await call.world.sandboxes.storage.fetch(keys[-MOST_ASIDE:])
    # So many go into the store together.
    for start in range(0, len(keys), 200):
        await _reset(call, keys[start : start + 200])
    return {"reset": len(keys)}


async def _reset(call: ControlCall[ControlBody, ResetQuery], keys: Sequence[str]) -> None:
    """Empty some sandboxes. What stands in the store alone is not read, and stands there again
    afterwards."""
    world, real = call.world, call.world.real_clock()
    sandboxes, storage = world.sandboxes, world.sandboxes.storage
    beginnings = await storage.begun(keys)

    def emptied(key: str) -> Sandbox | None:
        sandbox = sandboxes.in_memory.get(key)
        beginning = sandbox.beginning if sandbox is not None else beginnings.get(key)
        if beginning is None:
            # It was dropped meanwhile.
            return None
        if call.query.scenario:
            beginning = Beginning(world.directory.config, marks=beginning.marks)
        world.runner.activity.notify(key)
        return sandboxes.reopen(key, beginning, real, aside=call.query.undo)

    opened = await for_each(keys, emptied)
    # Each lot has a commit of its own, which may fail.
    for sandbox in filter(None, opened):
        await storage.kept(sandbox)
        if (
            sandbox.key in beginnings
            and sandboxes.is_live(sandbox)
            and world.is_idle(sandbox, real)
        ):
            storage.put_away(sandbox)


def undo(call: AnyCall) -> object:
    """Undo a reset or an import that had ``undo=true``. Raises ``NotFound`` (1) when nothing is
    kept."""
    sandbox = call.sandbox()
    back = call.world.sandboxes.take_back(sandbox.key)
    if back is None:
        kept = f"reset with undo=true keeps it ({MOST_ASIDE} for all sandboxes)"
        raise missing("Undo", f"nothing is kept aside for this sandbox; {kept}")
    back.deliveries.resume(call.world.runner.sending(back))
    call.world.runner.changed(back)
    return {"requests": back.journal.last, "objects": object_counts(back)}


def _shown(call: AnyCall, sandbox: Sandbox, public_key: str) -> dict[str, object]:
    # A public key shown in full would give the secret one away: pk_X pairs with sk_X.
    return reply_of(
        "NamedSandboxAnswer",
        sandbox,
        id=sandbox_id_of(sandbox.key),
        name=call.world.sandboxes.names.get(sandbox.key),
        key=masked_key(sandbox.key),
        publicKey=public_key,
        scenarios=[scenario.name for scenario in sandbox.config.scenarios],
        pending=len(sandbox.schedule.entries),
        objects=object_counts(sandbox),
    )


def object_counts(sandbox: Sandbox) -> dict[str, int]:
    """How many objects of each kind a sandbox holds, whatever state they are in."""
    return {camel(name): len(getattr(sandbox, name)) for name in ROW_CLASSES}


def assumptions(call: AnyCall) -> object:
    assumed = call.sandbox().assumed
    rows = [
        reply_of(
            "AssumptionAnswer",
            row,
            value=row.kind.show(assumed[row.key]),
            overridden=row.key in assumed.overrides,
            documented=row.kind.show(row.documented),
            sdk=row.kind.show(row.sdk),
        )
        for row in ROWS.values()
    ]
    return {"profile": assumed.profile, "assumptions": rows}


def override(call: ControlCall[Overrides, ControlBody]) -> object:
    """Override rows of this sandbox: ``{key: value}``, null for the value of the profile;
    ``profile`` changes that.

    A row of null follows the profile again, unless a scenario overrides it: then it is held at the
    profile's value. Raises ``Invalid`` (90) naming every bad row; then nothing has changed.
    """
    sandbox = call.sandbox()
    values, faults = _values(
        {key: value for key, value in call.document.items() if key != "profile"}
    )
    profile: Profile = call.body_beside(faults).profile or sandbox.assumed.profile
    overrides = dict(sandbox.own.overrides) if sandbox.own is not None else {}
    for key, value in values.items():
        if value is not None:
            overrides[key] = value
            continue
        overrides.pop(key, None)
        if key in sandbox.config.assumed.overrides:
            overrides[key] = ROWS[key].kind.show(ROWS[key].value(profile))
    sandbox.settle(Assumed(profile, overrides))
    sandbox.journal.gap_reason = "assumptions were overridden"
    return assumptions(call)


def _values(given: Mapping[str, object]) -> tuple[dict[str, object], dict[str, str]]:
    """The values of rows by key, None where the profile's counts again; and every fault."""
    values: dict[str, object] = {}
    faults: dict[str, str] = {}
    for key, value in given.items():
        # To look for the nearest names of thousands takes minutes.
        if len(faults) >= MOST_FAULTS:
            break
        try:
            typed = read(key, value) if value is not None or key not in ROWS else None
            values[key] = None if value is None else ROWS[key].kind.show(typed)
        except Invalid as refused:
            faults.update(refused.details or {})
    return values, faults


_LINES_HEADERS = ((b"content-type", LINES.encode()), NOSNIFF, NO_STORE)
_PART = 256 * 1024
"""Bytes of a part of an answer."""


async def export_state(call: ControlCall[ControlBody, StateQuery]) -> Reply | bytes:
    """Everything as one document, as it stood when it was asked for; card numbers and ccv only with
    ``secrets=true`` and the secret key itself. As lines for those who ask for them, else as one
    object. Others are served while it is written."""
    secrets = call.query.secrets
    # What else names a sandbox must not show its secrets.
    named = {"x-secretkey": call.headers.get("x-secretkey", "")} if secrets else call.headers
    sandbox = call.world.directory.of_control(named, changes=False)
    document = state_document.taken(sandbox, secrets=secrets)
    if LINES in call.headers.get("accept", "").lower():
        parts = await in_thread(partial(_in_parts, document))
        return Reply(200, b"", headers=_LINES_HEADERS, parts=parts)
    try:
        return await in_thread(document.whole)
    except state_document.TooLong:
        words = (
            f"got a sandbox of more than {state_document.LONGEST_OBJECT} bytes as one object, "
            f"wanted Accept: {LINES}, a document that is lines"
        )
        raise invalid({"Accept": words}) from None


def _in_parts(document: state_document.Document) -> deque[bytes]:
    parts: deque[bytes] = deque()
    part = bytearray()
    for line in document.lines():
        part += line
        if len(part) >= _PART:
            parts.append(bytes(part))
            part.clear()
    parts.append(bytes(part))
    return parts


async def import_state(call: ControlCall[StateDocument, UndoQuery]) -> object:
    """Put an exported state in the place of this sandbox's. Raises ``MalformedJson``,
    ``ForeignDocument`` (90), ``Invalid`` (90); then nothing changed. Others are served while it is
    read."""
    world = call.world
    # Who may change nothing is refused before anything is read.
    call.sandbox()
    read = partial(_read_lines, call.parts)
    if LINES not in call.headers.get("content-type", "").lower():
        size = sum(map(len, call.parts))
        if size > state_document.LONGEST_OBJECT:
            words = (
                f"got {size} bytes, wanted at most {state_document.LONGEST_OBJECT} of one object, "
                f"or Content-Type: {LINES}, a document that is lines"
            )
            raise invalid({"Body": words})
        read = partial(_read_object, call.parts)
    reading = await in_thread(read)
    # It may have been reset meanwhile.
    sandbox, real = call.sandbox(), world.real_clock()
    key, in_force = sandbox.key, sandbox.config

    def make() -> Sandbox:
        config = reading.config(in_force, world.directory.brought)
        return state_document.sandbox_of(reading, key, config, real)

    made = await in_thread(make)
    made.journal.gap_reason = "a state was imported"
    world.sandboxes.install(made, aside=call.query.undo)
    public_key = made.public_key if "x-secretkey" in call.headers else masked_key(made.public_key)
    return {**_summary(made, public_key), "rulesNotInForce": reading.rules_not_in_force(made)}


def _read_object(parts: deque[bytes]) -> state_document.ReadState:
    """What a document says that is one object. Raises ``MalformedJson``, ``Invalid`` (90),
    ``ForeignDocument`` (90)."""
    raw = b"".join(parts)
    parts.clear()
    document = loads(raw, unique=True) if raw.strip() else {}
    if not isinstance(document, dict):
        raise invalid({"Body": "wanted a JSON object"})
    return state_document.read(document)


def _read_lines(parts: deque[bytes]) -> state_document.ReadState:
    """What a document says that is lines. Raises ``MalformedJson`` and ``ForeignDocument`` (90),
    which name the line."""
    return state_document.read_lines(parts, _line_read)


def _line_read(line: bytes, number: int) -> object:
    try:
        return loads(line, unique=True)
    except MalformedJson as fault:
        raise MalformedJson(fault.message, number, fault.column) from None


async def fork(call: ControlCall[ForkTarget, ControlBody]) -> object:
    """Copy this sandbox to the key ``to``: as it stands, or as it was after the journal entry
    ``at``.

    Raises ``Invalid`` (90) for a key that is this one's or opens nothing, and for an entry that
    cannot be gone back to.
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
    make = state_document.copied(source, to, call.world.real_clock())
    copy = await in_thread(make)
    sandboxes.admit(to)
    copy.journal.gap_reason = "this sandbox was forked from another"
    sandboxes.install(copy)
    for key in (copy.key, SERVER):
        call.world.runner.activity.notify(key)
    return _summary(copy, copy.public_key)


async def _replayed(world: World, sandbox: Sandbox, number: int) -> Sandbox:
    """The sandbox as it was right after entry ``number``, its clock standing still there; no key
    opens it yet.

    Raises ``Invalid`` (90) when there is no such entry, or the journal no longer holds the whole
    story up to it.
    """
    journal = sandbox.journal
    if (reason := _why_untold(journal, number)) is not None:
        raise invalid({"At": reason})
    # It may have been opened before this server started.
    past = Sandbox(sandbox.key, replace(sandbox.config, started=journal.opened), journal.opened)
    past.config = sandbox.config
    if sandbox.own is not None:
        past.settle(sandbox.own)
    past.clock.run(ClockMode.MANUAL, 1, journal.opened)
    world.prepare(past)
    past.forget_past()
    for entry in list(islice(journal.entries, number)):
        past.clock.move_to(max(entry.at, past.clock.virtual), journal.opened)
        await world.runner.run_to(past, past.clock.virtual)
        operation = operation_of(entry, world)
        if operation is not None:
            repeat = _set_up_again if entry.is_setup else _repeat
            repeat(past, entry, operation)
        await world.runner.turn(past)
    # What it caused was sent when it happened.
    past.deliveries = DeliveryLog(past.deliveries.limit)
    return past


def _why_untold(journal: Journal, number: int) -> str | None:
    """Why a journal does not tell the whole story up to an entry; None when it does."""
    if not 1 <= number <= journal.last:
        known = f"1 to {journal.last}" if journal.last else "none yet"
        return f"got {number}, entries of the journal: {known}"
    if journal.dropped:
        return f"{journal.loss()}, so it cannot be replayed from the beginning"
    return (
        f"{journal.gap_reason}, which the journal cannot repeat"
        if journal.gap_reason is not None
        else None
    )


def _set_up_again(past: Sandbox, entry: JournalEntry, operation: OperationEndpoint) -> None:
    """Take one request of a set-up again, and what was due at once because of it. Raises as
    ``_repeat``."""
    with past.director.during_set_up():
        _repeat(past, entry, operation)
        due.run_due(past, past.now)


def _repeat(past: Sandbox, entry: JournalEntry, operation: OperationEndpoint) -> None:
    """Take one request again, as far as it came then. Raises ``Invalid`` (90) when it is answered
    differently now."""
    request = request_of(entry, past)
    decision = request.decided = upload_decision(past, entry.op, entry.headers)
    if decision is not None and is_cut(decision):
        past.director.count(entry.op)
        return
    step, arrived = operation.arrive(request, past)
    reply = arrived if isinstance(arrived, Reply) else operation.carry_out(request, step)
    if (reply.status, reply.text()) != (entry.status, entry.answer):
        words = (
            f"entry {entry.number} would be answered differently: something happened before "
            "it besides requests"
        )
        raise invalid({"At": words})


def _summary(sandbox: Sandbox, public_key: str) -> dict[str, object]:
    return {
        "key": masked_key(sandbox.key),
        "publicKey": public_key,
        "objects": object_counts(sandbox),
    }


_MOST = 200
"""Objects that are named of each kind and each way of differing; all are counted."""


async def compare(call: ControlCall[ControlBody, CompareQuery]) -> object:
    """What differs between this sandbox (``here``) and the one of the id ``with`` (``there``):
    clock, scenarios, and objects by kind. Card numbers and ccv are compared as an export without
    secrets shows them.

    Raises ``Invalid`` (90) for an id that no open sandbox has.
    """
    here, wanted = call.sandbox(), call.query.with_
    await call.world.sandboxes.fetch_named({"x-sandbox": wanted})
    there = call.world.sandboxes.with_id(wanted)
    if there is None:
        known = ", ".join(sandbox_id_of(one.key) for one in list(call.world.sandboxes)[-5:])
        raise invalid(
            {
                "With": f"got '{mask_start(wanted, 40)}', wanted the id of an open sandbox, such "
                f"as {known}"
            }
        )
    # Of the instant at which the comparison begins.
    sides, others = _facts(here), _facts(there)
    facts = {
        name: {"here": one, "there": others[name]}
        for name, one in sides.items()
        if one != others[name]
    }
    taken = {
        kind: (of.id_of, _rows(of.table(here)), _rows(of.table(there)))
        for kind, of in KINDS.items()
    }

    def differences() -> dict[str, dict[str, Any]]:
        return {kind: _difference(*rows) for kind, rows in taken.items()}

    found = await in_thread(differences)
    kinds = {
        kind: diff
        for kind, diff in found.items()
        if diff["onlyHere"] or diff["onlyThere"] or diff["changed"]
    }
    return {"equal": not kinds and not facts, "facts": facts, "kinds": kinds}


def _facts(sandbox: Sandbox) -> dict[str, object]:
    facts = {
        "now": iso(sandbox.now),
        "clock": sandbox.clock.mode,
        "profile": sandbox.assumed.profile,
    }
    scenarios = [scenario.name for scenario in sandbox.config.scenarios]
    return {
        **facts,
        "seed": sandbox.config.seed,
        "pending": len(sandbox.schedule.entries),
        "scenarios": scenarios,
    }


def _difference(id_of: Callable[[Any], str], mine: list[Any], theirs: list[Any]) -> dict[str, Any]:
    """How the objects of one kind differ: ids that one side alone has, and fields whose values are
    not equal."""
    counts = dict.fromkeys(("onlyHere", "onlyThere", "changed", "equal"), 0)
    named: dict[str, dict[str, Mapping[str, object]]] = {name: {} for name in counts}
    others = dict[str, Any]()

    def note(name: str, row_id: str, fields: Mapping[str, object] | None = None) -> None:
        counts[name] += 1
        if len(named[name]) < _MOST:
            named[name][row_id] = fields or {}

    def compared(row: Any) -> None:
        other = others.pop(id_of(row), None)
        if other is None:
            note("onlyHere", id_of(row))
        elif row == other:
            counts["equal"] += 1
        else:
            fields = dict(_fields("", *state_document.shown_pair(row, other)))
            if fields:
                note("changed", id_of(row), fields)
            else:
                counts["equal"] += 1

    for row in theirs:
        others.setdefault(id_of(row), row)
    for row in mine:
        compared(row)
    for row_id in others:
        note("onlyThere", row_id)
    ids = {"onlyHereIds": list(named["onlyHere"]), "onlyThereIds": list(named["onlyThere"])}
    return {**counts, **ids, "changedFields": named["changed"]}


def _rows(table: Table[Any]) -> list[Any]:
    """The rows of a table as they are now, whatever comes of them."""
    rows = list(table)
    return [batch.copied() for batch in rows] if rows and isinstance(rows[0], Batch) else rows


def _fields(path: str, mine: Any, theirs: Any) -> Iterator[tuple[str, dict[str, object]]]:
    """Fields that differ by their dotted path, with the value on each side; None where a side has
    none."""
    if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
        for name in {**mine, **theirs}:
            one, other = mine.get(name), theirs.get(name)
            if one != other:
                yield from _fields(f"{path}.{name}" if path else str(name), one, other)
    else:
        yield path, {"here": _value(mine), "there": _value(theirs)}


def _value(value: object) -> object:
    # Whole numbers as great as that are instants, in microseconds.
    return iso(value) if type(value) is int and value >= 10**15 else value


ROUTES = (
    ControlRoute(
        "GET",
        "/__admin/sandboxes",
        listing,
        query=SandboxQuery,
        reply="SandboxesAnswer",
        summary="Every sandbox, last used first, keys masked",
    ),
    ControlRoute(
        "POST",
        "/__admin/sandboxes",
        name,
        body=NamedSandbox,
        reply="NamedSandboxAnswer",
        success=201,
        example={"body": {"key": "sk_demo", "name": "Checkout tests"}},
        summary="Name the sandbox of a key, opening it if needed",
    ),
    ControlRoute(
        "GET",
        "/__admin/sandbox",
        one,
        keyed=True,
        reply="NamedSandboxAnswer",
        summary="This sandbox, key masked",
    ),
    ControlRoute(
        "PUT",
        "/__admin/sandbox",
        rename,
        body=SandboxName,
        keyed=True,
        reply="NamedSandboxAnswer",
        example={"body": {"name": "Checkout tests"}},
        summary="Name this sandbox",
    ),
    ControlRoute(
        "DELETE",
        "/__admin/sandbox",
        delete,
        keyed=True,
        reply="ClearedAnswer",
        example={"body": {}},
        summary="Delete this sandbox with its name; its key opens a new one",
    ),
    ControlRoute(
        "POST",
        "/__admin/reset",
        reset,
        query=ResetQuery,
        keyed=True,
        reply="ResetAnswer",
        example={"undo": "true", "body": {}},
        summary="Empty this sandbox, or with all=true every one",
    ),
    ControlRoute(
        "POST",
        "/__admin/undo",
        undo,
        keyed=True,
        reply="UndoAnswer",
        answers={404: "Nothing is kept aside"},
        example={"body": {}},
        summary="Undo a reset or an import that had undo=true",
    ),
    ControlRoute(
        "GET",
        "/__admin/state",
        export_state,
        query=StateQuery,
        keyed=True,
        reply="DocumentAnswer",
        lines=True,
        summary="Everything in this sandbox as one document",
    ),
    ControlRoute(
        "PUT",
        "/__admin/state",
        import_state,
        query=UndoQuery,
        body=StateDocument,
        keyed=True,
        reply="ImportAnswer",
        largest=500_000_000,
        lines=True,
        example={"undo": "true", "body": "$exported"},
        summary="Replace this sandbox by an exported document",
    ),
    ControlRoute(
        "GET",
        "/__admin/compare",
        compare,
        query=CompareQuery,
        keyed=True,
        reply="CompareAnswer",
        example={"with": "$other"},
        summary="What differs from another sandbox, object by object",
    ),
    ControlRoute(
        "POST",
        "/__admin/fork",
        fork,
        body=ForkTarget,
        keyed=True,
        reply="ForkAnswer",
        success=201,
        example={"body": {"to": "sk_copy"}},
        summary="Copy this sandbox to another key, now or at a journal entry",
    ),
    ControlRoute(
        "GET",
        "/__admin/assumptions",
        assumptions,
        keyed=True,
        reply="AssumptionsAnswer",
        summary="The assumption table of this sandbox",
    ),
    ControlRoute(
        "PUT",
        "/__admin/assumptions",
        override,
        body=Overrides,
        keyed=True,
        reply="AssumptionsAnswer",
        example={"body": {"vault.ccv_delay": "10s"}},
        summary="Override rows, or choose the profile",
    ),
)
