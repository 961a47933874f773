"""Sandboxes as a whole: list, name and reset (``/__admin/sandboxes``, ``/__admin/reset``)."""

from __future__ import annotations

import asyncio
from heapq import nlargest

from mockserver.domain.codes import Code
from mockserver.domain.errors import Invalid, NotFound, Unauthorised
from mockserver.domain.masking import mask_text
from mockserver.engine.sandbox import Sandbox, masked_key, sandbox_id_of
from mockserver.engine.sandboxes import MOST_ASIDE
from mockserver.engine.tables import ROW_CLASSES
from mockserver.web.activity import SERVER
from mockserver.web.control.call import ControlCall
from mockserver.wire.dates import moment

_SLICE = 20
"""Sandboxes that are reset before others have their turn."""


async def listing(call: ControlCall) -> tuple[int, object]:
    """Sandboxes, the last used first, and ``count``, how many there are: after the first ``skip`` at most ``limit``,
    each with id, name, masked keys, clock, scenarios and number of objects."""
    query, sandboxes = call.query, call.world.sandboxes
    every = sandboxes.known_keys
    latest = nlargest(query.skip + query.limit, reversed(every), key=sandboxes.used)
    shown = []
    for key in latest[query.skip :]:
        sandbox = sandboxes.get(key)
        if sandbox is None:
            continue
        await call.world.runner.catch_up(sandbox)
        shown.append(_shown(call, sandbox, masked_key(sandbox.public_key)))
        await asyncio.sleep(0)
    return 200, {"count": len(every), "sandboxes": shown}


def one(call: ControlCall) -> tuple[int, object]:
    """The sandbox of the call's key, opened on first use; the public key in full for those who have a key."""
    sandbox = call.sandbox()
    is_known = sandbox.key == call.headers.get("x-secretkey") or sandbox.public_key == call.headers.get("x-publickey")
    return 200, _shown(call, sandbox, sandbox.public_key if is_known else masked_key(sandbox.public_key))


async def name(call: ControlCall) -> tuple[int, object]:
    """Give the sandbox of a key a name, and open it if need be. Raises ``Invalid`` (90) naming what is wrong with
    both."""
    world, key, given = call.world, call.body.key, call.body.name
    faults = {}
    try:
        world.sandboxes.admit(key)
    except Unauthorised as refused:
        faults["Key"] = "; ".join((refused.details or {}).values())
    if mask_text(given) != given or key in given:
        faults["Name"] = "a name is shown to all: it must not contain the key or a card number"
    if faults:
        raise Invalid(Code.VALIDATION_ERROR, faults)
    sandbox = world.sandboxes.open(key, world.real_clock())
    await world.runner.catch_up(sandbox)
    world.sandboxes.name(sandbox, given.strip())
    world.runner.activity.notify(SERVER)
    return 201, _shown(call, sandbox, sandbox.public_key)


async def reset(call: ControlCall) -> tuple[int, object]:
    """Empty this sandbox, or with ``all=true`` all of them; scenarios and overrides stay unless ``scenario=true``.
    With ``undo=true`` the old content is kept for ``POST /__admin/undo``."""
    world, real = call.world, call.world.real_clock()
    keys, anew = world.sandboxes.known_keys if call.query.all else (call.sandbox().key,), call.query.scenario
    opened = []
    for number, key in enumerate(keys):
        if number % _SLICE == _SLICE - 1:
            await asyncio.sleep(0)
        sandbox = world.sandboxes.get(key)
        if sandbox is None:
            # It was dropped meanwhile.
            continue
        if call.query.undo:
            world.sandboxes.keep_aside(sandbox)
        if anew:
            opened.append(world.sandboxes.reopen(sandbox, world.directory.config, real))
        else:
            opened.append(world.sandboxes.reopen(sandbox, sandbox.config, real, own=sandbox.own))
        world.runner.activity.notify(sandbox.key)
    if world.store is not None:
        # Each slice has a commit of its own, which may fail.
        for sandbox in opened:
            await world.store.kept(sandbox)
    return 200, {"reset": len(keys)}


def undo(call: ControlCall) -> tuple[int, object]:
    """Undo a reset or an import that had ``undo=true``. Raises ``NotFound`` (1) when nothing is kept."""
    sandbox = call.sandbox()
    back = call.world.sandboxes.take_back(sandbox.key)
    if back is None:
        reason = (
            f"nothing is kept aside for this sandbox; reset with undo=true keeps it ({MOST_ASIDE} for all sandboxes)"
        )
        raise NotFound(Code.UNKNOWN_ERROR, {"Undo": reason}, message="Not Found")
    call.world.runner.changed(back)
    return 200, {"requests": back.journal.last, "objects": object_counts(back)}


def _shown(call: ControlCall, sandbox: Sandbox, public_key: str) -> dict[str, object]:
    # A public key shown in full would give the secret one away: pk_X pairs with sk_X.
    return {
        "id": sandbox_id_of(sandbox.key),
        "name": call.world.sandboxes.name_of(sandbox.key),
        "key": masked_key(sandbox.key),
        "publicKey": public_key,
        "now": moment(sandbox.now),
        "clock": sandbox.clock.mode.value,
        "profile": sandbox.assumed.profile.value,
        "scenarios": [scenario.name for scenario in sandbox.config.scenarios],
        "requests": sandbox.journal.last,
        "pending": len(sandbox.schedule.entries),
        "objects": object_counts(sandbox),
    }


def object_counts(sandbox: Sandbox) -> dict[str, int]:
    """How many objects of each kind a sandbox holds, whatever state they are in."""
    return {kind_of(name): len(getattr(sandbox, name)) for name in ROW_CLASSES}


def kind_of(name: str) -> str:
    """The rows of a table as documents name them."""
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)
