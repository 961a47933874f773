"""The whole of a sandbox: export, import, fork (``/__admin/state``, ``/__admin/fork``)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from functools import partial

from mockserver.domain.errors import invalid
from mockserver.engine import importing, snapshot, vault
from mockserver.engine.sandbox import Sandbox, masked_key
from mockserver.web.activity import SERVER
from mockserver.web.control.call import ControlCall
from mockserver.web.control.sandboxes import object_counts
from mockserver.web.long_work import MANY_RULES, with_pauses
from mockserver.web.replay import replay
from mockserver.wire.long_json import dumps_in_slices, loads_in_slices
from mockserver.wire.long_text import Parts

_SHORT = 1_000_000
"""Bytes that are put together and sent in one go."""


async def read(call: ControlCall) -> tuple[int, bytes | Parts]:
    """Everything as one document; card numbers and ccv only with ``secrets=true`` and the secret key itself.

    Others have their turn while it is written; it shows how things stood when it was asked for.
    """
    secrets = call.query.secrets
    sandbox = call.world.directory.of_secret_key(call.headers) if secrets else call.sandbox()
    return 200, await _text(await with_pauses(snapshot.export(sandbox, secrets=secrets)))


async def _text(document: snapshot.ExportedState) -> bytes | Parts:
    """The JSON text of a document, which is used up."""
    parts = await with_pauses(dumps_in_slices(document))
    return parts.whole() if parts.length <= _SHORT else parts


def _taken(parts: deque[bytes]) -> Iterator[bytes]:
    """The parts of a body, each of which is given back with the next."""
    while parts:
        yield parts.popleft()


async def write(call: ControlCall) -> tuple[int, object]:
    """Put an exported state in the place of this sandbox's. Raises ``ForeignDocument`` (90); then nothing changed.

    Others have their turn while it is read.
    """
    world = call.world
    # Who may change nothing is refused before anything is read.
    call.sandbox()
    is_blank = not any(part.strip() for part in call.parts)
    document = {} if is_blank else await with_pauses(loads_in_slices(_taken(call.parts), unique=True))
    if not isinstance(document, dict):
        raise invalid({"Body": "wanted a JSON object"})
    reading = await with_pauses(importing.read(document))
    make = partial(reading.config, call.sandbox().config, world.directory.config_of)
    config = await asyncio.to_thread(make) if reading.carried_rules >= MANY_RULES else make()
    made = await with_pauses(importing.sandbox_of(reading, call.sandbox().key, config, world.real_clock()))
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
        source = await with_pauses(replay(call.world, sandbox, at))
    copy = snapshot.copied(source, to, call.world.real_clock())
    await with_pauses(copy.vault.learning(vault.CCV_INDEX))
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
