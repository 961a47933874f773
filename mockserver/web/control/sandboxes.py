"""Sandboxes as a whole: list, name, reset, and what is assumed in them (``/__admin/sandboxes``, ``/__admin/reset``,
``/__admin/assumptions``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mockserver.assumptions import ROWS, Assumed, Profile, read
from mockserver.domain.errors import Invalid, Unauthorised, invalid
from mockserver.domain.masking import mask_text
from mockserver.domain.reading import camel
from mockserver.engine.config import Beginning
from mockserver.engine.sandbox import Sandbox, masked_key, sandbox_id_of
from mockserver.engine.sandboxes import MOST_ASIDE
from mockserver.engine.tables import ROW_CLASSES
from mockserver.web.control.call import ControlCall, missing
from mockserver.web.runner import SERVER, for_each
from mockserver.wire.fields import MOST_NAMED
from mockserver.wire.replies import reply_of

_PUBLIC = "a name is shown to all: it must not contain the key or a card number"
_AT_ONCE = 200
"""Sandboxes of which a reset goes into the store together."""


async def listing(call: ControlCall) -> object:
    """Sandboxes, the last used first; ``count`` is how many there are."""
    query, sandboxes = call.query, call.world.sandboxes
    every = sandboxes.known_keys
    # Of those that were not used since they were opened or emptied, the last comes first.
    order = sorted(every, key=sandboxes.used)[::-1]
    found = []
    for key in order[query.skip : query.skip + query.limit]:
        await call.fetch(key)
        sandbox = sandboxes.get(key)
        if sandbox is None:
            continue
        await call.world.runner.catch_up(sandbox)
        found.append(sandbox)
    shown = await for_each(found, lambda sandbox: _shown(call, sandbox, masked_key(sandbox.public_key)))
    return {"count": len(every), "sandboxes": shown}


def one(call: ControlCall) -> object:
    """The sandbox of the call's key, as it is or would open; the public key in full for those who have a key."""
    sandbox = call.sandbox()
    is_known = sandbox.key == call.headers.get("x-secretkey") or sandbox.public_key == call.headers.get("x-publickey")
    return _shown(call, sandbox, sandbox.public_key if is_known else masked_key(sandbox.public_key))


async def name(call: ControlCall) -> object:
    """Give the sandbox of a key a name, opening it if need be. Raises ``Invalid`` (90) for either."""
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
    await call.fetch(key)
    sandbox = world.sandboxes.open(key, world.real_clock())
    await world.runner.catch_up(sandbox)
    return _named(call, sandbox, given, sandbox.public_key)


def rename(call: ControlCall) -> object:
    """Give this sandbox a name. Raises ``Invalid`` (90) for one that holds its key or a card number."""
    sandbox, given = call.sandbox(), call.body.name
    if mask_text(given) != given or sandbox.key in given:
        raise invalid({"Name": _PUBLIC})
    return _named(call, sandbox, given, masked_key(sandbox.public_key))


def _named(call: ControlCall, sandbox: Sandbox, given: str, public_key: str) -> dict[str, object]:
    call.world.sandboxes.name(sandbox, given.strip())
    call.world.runner.activity.notify(SERVER)
    return _shown(call, sandbox, public_key)


def delete(call: ControlCall) -> object:
    """Delete this sandbox, its name and what an undo would bring back: its key opens a new one. What waits in it is
    answered as after a reset."""
    world = call.world
    # A key that has opened nothing opens nothing here.
    is_known = world.sandboxes.named(call.headers) is not None
    sandbox = world.directory.of_control(call.headers, changes=is_known)
    is_open = world.sandboxes.is_live(sandbox)
    if is_open:
        if world.store is not None:
            world.store.delete(sandbox)
        world.sandboxes.drop(sandbox)
        if world.rate_limit is not None:
            world.rate_limit.forget(sandbox.key)
        world.runner.activity.notify(sandbox.key)
        world.runner.activity.notify(SERVER)
    return {"cleared": int(is_open)}


async def reset(call: ControlCall) -> object:
    """Empty this sandbox or all of them, scenarios and overrides only with ``scenario=true``."""
    keys = call.world.sandboxes.known_keys if call.query.all else (call.sandbox().key,)
    if call.query.undo:
        for key in keys[-MOST_ASIDE:]:
            await call.fetch(key)
    for start in range(0, len(keys), _AT_ONCE):
        await _reset(call, keys[start : start + _AT_ONCE])
    return {"reset": len(keys)}


async def _reset(call: ControlCall, keys: Sequence[str]) -> None:
    """Empty some sandboxes. What stands in the store alone is not read, and stands there again afterwards."""
    world, real = call.world, call.world.real_clock()
    store, sandboxes = world.store, world.sandboxes
    beginnings = await store.begun(keys) if store is not None else {}

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
    if store is not None:
        # Each lot has a commit of its own, which may fail.
        for sandbox in filter(None, opened):
            await store.kept(sandbox)
            if sandbox.key in beginnings and sandboxes.is_live(sandbox) and world.is_idle(sandbox, real):
                store.put_away(sandbox)


def undo(call: ControlCall) -> object:
    """Undo a reset or an import that had ``undo=true``. Raises ``NotFound`` (1) when nothing is kept."""
    sandbox = call.sandbox()
    back = call.world.sandboxes.take_back(sandbox.key)
    if back is None:
        kept = f"reset with undo=true keeps it ({MOST_ASIDE} for all sandboxes)"
        raise missing("Undo", f"nothing is kept aside for this sandbox; {kept}")
    runner = call.world.runner
    back.deliveries.resume(runner.sending(back))
    runner.changed(back)
    return {"requests": back.journal.last, "objects": object_counts(back)}


def _shown(call: ControlCall, sandbox: Sandbox, public_key: str) -> dict[str, object]:
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


def assumptions(call: ControlCall) -> object:
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


def override(call: ControlCall) -> object:
    """Override rows of this sandbox: ``{key: value}``, null for the value of the profile; ``profile`` changes that.

    A row of null follows the profile again, unless a scenario overrides it: then it is held at the profile's value.
    Raises ``Invalid`` (90) naming every bad row; then nothing has changed.
    """
    sandbox = call.sandbox()
    values, faults = _values({key: value for key, value in call.document.items() if key != "profile"})
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
        if len(faults) >= MOST_NAMED:
            break
        try:
            typed = read(key, value) if value is not None or key not in ROWS else None
            values[key] = None if value is None else ROWS[key].kind.show(typed)
        except Invalid as refused:
            faults.update(refused.details or {})
    return values, faults
