"""Sandboxes as a whole: list, name, delete, reset and undo (``/__admin/sandboxes``,
``/__admin/sandbox``, ``/__admin/reset``, ``/__admin/undo``).

A sandbox is never emptied in place. A reset opens a new one under the same key, and the old one,
with whoever still works in it, is out of reach from then on: that is why a long call asks
``present`` or ``is_live`` after each wait. Source: docs/control-api.md.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated

from pydantic import Field

from mockserver.domain.errors import NotKept, Unauthorised, invalid
from mockserver.domain.masking import mask_text
from mockserver.domain.reading import camel
from mockserver.engine.config import Beginning
from mockserver.engine.sandbox import Sandbox, masked_key, sandbox_id_of
from mockserver.engine.sandboxes import MOST_ASIDE
from mockserver.engine.tables import ROW_CLASSES
from mockserver.web.control.call import AnyCall, ControlCall, ControlRoute, missing
from mockserver.web.runner import SERVER, for_each
from mockserver.wire.control_body import ControlBody
from mockserver.wire.field_types import PrintableName, SecretKey, Switch, digits
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


_PUBLIC = "a name is shown to all: it must not contain the key or a card number"


async def listing(call: ControlCall[ControlBody, SandboxQuery]) -> object:
    """Sandboxes, the last used first; ``count`` is how many there are."""
    query, sandboxes = call.query, call.world.sandboxes
    known_keys = sandboxes.known_keys
    # Of those that were not used since they were opened or emptied, the last comes first.
    last_used_first = sorted(known_keys, key=sandboxes.used)[::-1]
    page = []
    for key in last_used_first[query.skip : query.skip + query.limit]:
        # One whose rows cannot be read must not hide the others: it is counted, and its own calls
        # say why.
        with suppress(NotKept):
            await sandboxes.storage.fetch([key])
            sandbox = sandboxes.get(key)
            if sandbox is not None:
                await call.world.runner.catch_up(sandbox)
                page.append(sandbox)

    def masked_reply(sandbox: Sandbox) -> dict[str, object]:
        return _sandbox_reply(call, sandbox, masked_key(sandbox.public_key))

    replies = await for_each(page, masked_reply)
    return {"count": len(known_keys), "sandboxes": replies}


def get(call: AnyCall) -> object:
    """The sandbox of the call's key, as it is or would open; the public key in full for those who
    have a key."""
    sandbox = call.sandbox()
    has_key = (
        call.headers.get("x-secretkey") == sandbox.key
        or call.headers.get("x-publickey") == sandbox.public_key
    )
    public_key = masked_key(sandbox.public_key)
    if has_key:
        public_key = sandbox.public_key
    return _sandbox_reply(call, sandbox, public_key)


async def name(call: ControlCall[NamedSandbox, ControlBody]) -> object:
    """Give the sandbox of a key a name, opening it if need be. Raises ``Invalid`` (90) for
    either."""
    world, key, new_name = call.world, call.body.key, call.body.name
    # Both are looked at before either is refused.
    faults = {}
    try:
        world.sandboxes.admit(key)
    except Unauthorised as refused:
        faults["Key"] = "; ".join((refused.details or {}).values())
    if _tells_a_secret(new_name, key):
        faults["Name"] = _PUBLIC
    if faults:
        raise invalid(faults)
    await world.sandboxes.storage.fetch([key])
    sandbox = world.sandboxes.open(key, world.real_clock())
    await world.runner.catch_up(sandbox)
    # Who knows the secret key may know the public one.
    return _named(call, sandbox, new_name, sandbox.public_key)


def rename(call: ControlCall[SandboxName, ControlBody]) -> object:
    """Give this sandbox a name; its id, which many know, is enough for that. So the public key is
    masked. Raises ``Invalid`` (90) for a name that holds the key or a card number."""
    sandbox, new_name = call.sandbox(), call.body.name
    if _tells_a_secret(new_name, sandbox.key):
        raise invalid({"Name": _PUBLIC})
    return _named(call, sandbox, new_name, masked_key(sandbox.public_key))


def _tells_a_secret(name: str, key: str) -> bool:
    """Whether a name would show everybody what masking hides: a card number, or the key."""
    return mask_text(name) != name or key in name


def _named(call: AnyCall, sandbox: Sandbox, new_name: str, public_key: str) -> dict[str, object]:
    """Give a sandbox a name, and show it with its public key."""
    call.world.sandboxes.name(sandbox, new_name.strip())
    # Pages that list the sandboxes of the server show it.
    call.world.runner.activity.notify(SERVER)
    return _sandbox_reply(call, sandbox, public_key)


def delete(call: AnyCall) -> object:
    """Delete this sandbox, its name and what an undo would bring back: its key opens a new one.
    What waits in it is answered as after a reset."""
    world = call.world
    is_known = world.sandboxes.named(call.headers) is not None
    if not is_known and "x-secretkey" in call.headers:
        # A key that has opened nothing opens nothing here, but must be one that could.
        world.sandboxes.admit(call.headers["x-secretkey"])
        return {"cleared": 0}
    sandbox = world.directory.of_control(call.headers, changes=is_known)
    if not world.sandboxes.is_live(sandbox):
        return {"cleared": 0}
    world.sandboxes.drop(sandbox)
    if world.rate_limit is not None:
        world.rate_limit.forget(sandbox.key)
    world.runner.activity.notify(sandbox.key)
    world.runner.activity.notify(SERVER)
    return {"cleared": 1}


async def reset(call: ControlCall[ControlBody, ResetQuery]) -> object:
    """Empty this sandbox or all of them, scenarios and overrides only with ``scenario=true``."""
    keys = call.world.sandboxes.known_keys if call.query.all else (call.sandbox().key,)
    if call.query.undo:
        # What an undo brings back must be in memory; no more is kept than the last of them.
        await call.world.sandboxes.storage.fetch(keys[-MOST_ASIDE:])
    for start in range(0, len(keys), _RESET_TOGETHER):
        await _reset(call, keys[start : start + _RESET_TOGETHER])
    return {"reset": len(keys)}


_RESET_TOGETHER = 200
"""Sandboxes that are emptied in one commit of the store, which waits for the disk: the more, the
fewer waits, and the longer others wait for the commit."""


async def _reset(call: ControlCall[ControlBody, ResetQuery], keys: Sequence[str]) -> None:
    """Empty some sandboxes. What stands in the store alone is not read, and stands there again
    afterwards: of those the store tells how they began."""
    world, real = call.world, call.world.real_clock()
    sandboxes, storage = world.sandboxes, world.sandboxes.storage
    stored_beginnings = await storage.begun(keys)

    def open_anew(key: str) -> Sandbox | None:
        sandbox = sandboxes.in_memory.get(key)
        beginning = stored_beginnings.get(key)
        if sandbox is not None:
            beginning = sandbox.beginning
        if beginning is None:
            # It was dropped meanwhile.
            return None
        if call.query.scenario:
            # Without a config of its own it begins as a new one does.
            beginning = Beginning(world.directory.config, marks=beginning.marks)
        world.runner.activity.notify(key)
        return sandboxes.reopen(key, beginning, real, aside=call.query.undo)

    opened = await for_each(keys, open_anew)
    # Each lot has a commit of its own, which may fail.
    for sandbox in opened:
        if sandbox is None:
            continue
        await storage.kept(sandbox)
        # What was in the store alone was in nobody's use, and does not stay in memory.
        was_stored_alone = sandbox.key in stored_beginnings
        if was_stored_alone and sandboxes.is_live(sandbox) and world.is_idle(sandbox, real):
            storage.put_away(sandbox)


def undo(call: AnyCall) -> object:
    """Undo a reset or an import that had ``undo=true``. Raises ``NotFound`` (1) when nothing is
    kept."""
    sandbox = call.sandbox()
    restored = call.world.sandboxes.take_back(sandbox.key)
    if restored is None:
        hint = f"reset with undo=true keeps it ({MOST_ASIDE} for all sandboxes)"
        raise missing("Undo", f"nothing is kept aside for this sandbox; {hint}")
    # A try that was under way when it was reset may have ended since, with nobody to note it.
    restored.deliveries.resume(call.world.runner.sending(restored))
    call.world.runner.changed(restored)
    return {"requests": restored.journal.last, "objects": object_counts(restored)}


def _sandbox_reply(call: AnyCall, sandbox: Sandbox, public_key: str) -> dict[str, object]:
    """A sandbox as answers have it, with its public key as the caller may see it: shown in full it
    would give the secret one away, as pk_X pairs with sk_X."""
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


def install_reply(sandbox: Sandbox, public_key: str) -> dict[str, object]:
    """What is answered of a sandbox that an import or a fork has put in place, with its public key
    as the caller may see it."""
    return {
        "key": masked_key(sandbox.key),
        "publicKey": public_key,
        "objects": object_counts(sandbox),
    }


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
        get,
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
)
