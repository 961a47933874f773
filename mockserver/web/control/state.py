"""The whole of a sandbox: export, import, fork (``/__admin/state``, ``/__admin/fork``)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from functools import partial

from mockserver.domain.errors import invalid
from mockserver.engine import importing, snapshot
from mockserver.engine.sandbox import Sandbox, masked_key
from mockserver.web.activity import SERVER
from mockserver.web.control.call import ControlCall
from mockserver.web.control.sandboxes import object_counts
from mockserver.web.replay import replay
from mockserver.web.runner import in_steps
from mockserver.wire.long_json import dumps_in_slices, loads_in_slices

MANY_RULES = 300
"""Rules from which on making a config of them takes so long that others must not wait for it."""


async def read(call: ControlCall) -> tuple[int, bytes | deque[bytes]]:
    """Everything as one document, as it stood when it was asked for; card numbers and ccv only with ``secrets=true``
    and the secret key itself. Others are served while it is written."""
    secrets = call.query.secrets
    # What else names a sandbox must not show its secrets.
    named = {"x-secretkey": call.headers.get("x-secretkey", "")} if secrets else call.headers
    sandbox = call.world.directory.of_control(named, changes=False)
    document = await in_steps(snapshot.export(sandbox, secrets=secrets))
    parts = await in_steps(dumps_in_slices(document))
    return 200, parts[0] if len(parts) == 1 else parts


def _taken(parts: deque[bytes]) -> Iterator[bytes]:
    """The parts of a body, each of which is given back with the next."""
    while parts:
        yield parts.popleft()


async def write(call: ControlCall) -> tuple[int, object]:
    """Put an exported state in the place of this sandbox's. Raises ``MalformedJson``, ``ForeignDocument`` (90),
    ``Invalid`` (90); then nothing changed. Others are served while it is read."""
    world = call.world
    # Who may change nothing is refused before anything is read.
    call.sandbox()
    is_blank = not any(part.strip() for part in call.parts)
    body = loads_in_slices(_taken(call.parts), unique=True, known=importing.KNOWN)
    document = {} if is_blank else await in_steps(body)
    if not isinstance(document, dict):
        raise invalid({"Body": "wanted a JSON object"})
    reading = await in_steps(importing.read(document))
    make = partial(reading.config, call.sandbox().config, world.directory.config_of)
    config = await asyncio.to_thread(make) if reading.carried_rules >= MANY_RULES else make()
    made = await in_steps(importing.sandbox_of(reading, call.sandbox().key, config, world.real_clock()))
    made.journal.gap_reason = "a state was imported"
    world.sandboxes.install(made, aside=call.query.undo)
    public_key = made.public_key if "x-secretkey" in call.headers else masked_key(made.public_key)
    return 200, {**_summary(made, public_key), "rulesNotInForce": reading.rules_not_in_force(made)}


async def fork(call: ControlCall) -> tuple[int, object]:
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
        source = await replay(call.world, sandbox, at)
    copy = await in_steps(snapshot.copied(source, to, call.world.real_clock()))
    sandboxes.admit(to)
    copy.journal.gap_reason = "this sandbox was forked from another"
    sandboxes.install(copy)
    for key in (copy.key, SERVER):
        call.world.runner.activity.notify(key)
    return 201, _summary(copy, copy.public_key)


def _summary(sandbox: Sandbox, public_key: str) -> dict[str, object]:
    return {
        "key": masked_key(sandbox.key),
        "publicKey": public_key,
        "objects": object_counts(sandbox),
    }
