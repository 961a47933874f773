"""All sandboxes of one server, by secret key and by public key. A key opens its own on first use.

What a key opens may change: a reset, an import or an undo puts another sandbox in the place of the
one that had it (``install``), which may be kept aside for an undo. Work that still holds the old
one asks ``is_live`` or ``present``. With a store a sandbox may also leave the memory and come back
(``put_away``, ``put_back``): its key, its id and its name stay known meanwhile.

Source: settled fact ``keys``; the command line's ``--keys`` and ``--most-sandboxes``.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping

from mockserver.domain.clock import Micros
from mockserver.domain.codes import Code
from mockserver.domain.errors import Full, Unauthorised
from mockserver.engine.config import Beginning, SandboxConfig
from mockserver.engine.journal import JournalQuota
from mockserver.engine.sandbox import Sandbox, public_key_of, sandbox_id_of
from mockserver.engine.storage import SandboxStorage

LONGEST_KEY = 256

WAIT = 60
"""Seconds to wait for a key that would open one sandbox too many."""

MOST_ASIDE = 8
"""Sandboxes of one server that are kept for an undo."""

_MODE = re.compile(
    "(?i:(?<![a-z])(?:live|prod|production|test|demo|sandbox|dev|uat|staging|non|pre))(?![a-z])"
)
"""The word of a key that says for what it is: whatever but letters parts it from others, and
``liveKey`` has one, ``olive`` not. The first of them counts: ``sk_test_live_updates`` is a key for
tests."""
_FOR_TESTS = frozenset({"test", "demo", "sandbox", "dev", "uat", "staging", "non", "pre"})


def looks_live(key: str) -> bool:
    """Whether a key says that it is one for real payments."""
    mode = _MODE.search(key[:LONGEST_KEY])
    return mode is not None and mode[0].lower() not in _FOR_TESTS


def _ignore(sandbox: Sandbox) -> None:
    """What hears of sandboxes that have lost their keys where nobody wants to."""


class Sandboxes:
    """The sandboxes of one server, at most ``most``. ``config`` says how a new one begins;
    ``on_open`` prepares it; their journals and inboxes share ``quota``. ``on_leave`` hears of each
    that has lost its key and is not kept aside. ``in_memory`` are those that no storage has put
    away, by their secret keys, the oldest first; ``names`` those that sandboxes were given for
    people. ``named_times`` counts how often that was, ``dropped`` the sandboxes that were dropped
    or put away on the ``storage``."""

    def __init__(
        self,
        config: Callable[[], SandboxConfig],
        on_open: Callable[[Sandbox], None],
        keys: Collection[str],
        quota: JournalQuota,
        most: int,
    ) -> None:
        self.most = most
        self.quota = quota
        self._config = config
        self._on_open = on_open
        self._keys = frozenset(keys)
        self.in_memory: dict[str, Sandbox] = {}
        self._by_id: dict[str, str] = {}
        self._by_public_key: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self._aside: dict[str, Sandbox] = {}
        self.on_leave: Callable[[Sandbox], None] = _ignore
        self.named_times = 0
        self.dropped = 0
        self.storage = SandboxStorage()

    def __iter__(self) -> Iterator[Sandbox]:
        return iter(tuple(self.in_memory.values()))

    def __len__(self) -> int:
        return len(self._by_id)

    @property
    def known_keys(self) -> tuple[str, ...]:
        """The keys of all sandboxes, in memory or in the storage, the oldest first; one that was
        emptied, imported or forked to is as old as that."""
        return tuple(self._by_id.values())

    def used(self, key: str) -> int:
        """When the sandbox of a key was last used, as ``Sandbox.used`` counts."""
        sandbox = self.in_memory.get(key)
        if sandbox is None:
            return self.storage.used(key)
        return sandbox.used

    def is_live(self, sandbox: Sandbox) -> bool:
        """Whether a sandbox is still the one of its key."""
        return self.in_memory.get(sandbox.key) is sandbox

    def present(self, sandbox: Sandbox) -> Sandbox:
        """The sandbox that the key of one opens by now: a reset or an import may have put another
        in its place."""
        return self.in_memory.get(sandbox.key, sandbox)

    def name(self, sandbox: Sandbox, name: str) -> None:
        """Give the sandbox of a key a name for people. A reset or an import leaves it."""
        self.names[sandbox.key] = name
        self.named_times += 1
        self.storage.note(sandbox)

    def named(self, headers: Mapping[str, str]) -> Sandbox | None:
        """The sandbox of a secret key among the headers, else of an id, else of a public key, if it
        is open."""
        for key in self.keys_of(headers):
            sandbox = self.get(key)
            if sandbox is not None:
                return sandbox
        return None

    def keys_of(self, headers: Mapping[str, str]) -> list[str]:
        """The keys of the sandboxes that headers name: by a secret key, by an id, by a public
        key."""
        by_id, by_public_key = headers.get("x-sandbox", ""), headers.get("x-publickey", "")
        named = (
            headers.get("x-secretkey"),
            self._by_id.get(by_id),
            self._by_public_key.get(by_public_key),
        )
        return [key for key in named if key is not None]

    async def fetch_named(self, headers: Mapping[str, str]) -> None:
        """Put the sandboxes back that headers name, as ``fetch`` of the storage."""
        await self.storage.fetch(self.keys_of(headers))

    def with_id(self, sandbox_id: str) -> Sandbox | None:
        """The sandbox that lists name so, if it is open."""
        return self.get(self._by_id.get(sandbox_id))

    def get(self, key: str | None) -> Sandbox | None:
        """The sandbox of a secret key, if it is open."""
        if key is None:
            return None
        sandbox = self.in_memory.get(key)
        if sandbox is None:
            # It may have been put away: then it comes back.
            return self.storage.take(key)
        return sandbox

    def open(self, key: str | None, real: Micros, *, keep: bool = True) -> Sandbox:
        """The sandbox of a secret key, opened on first use. Who only looks opens none: without
        ``keep`` a new one is forgotten with the answer. Raises ``Unauthorised`` (40), ``Full``
        (37)."""
        sandbox = self.get(key)
        if sandbox is not None:
            return sandbox
        accepted_key = self._accepted(key)
        beginning = Beginning(self._config())
        if not keep:
            return self._prepared(accepted_key, beginning, real)
        return self.reopen(accepted_key, beginning, real)

    def open_by_public_key(
        self, public_key: str | None, real: Micros, *, keep: bool = True
    ) -> Sandbox:
        """The sandbox that a public key belongs to. ``pk_X`` also opens that of ``sk_X``, as
        ``open`` does, since a page in a browser may come before the shop's server. Raises
        ``Unauthorised`` (40), ``Full`` (37)."""
        sandbox = self.get(self._by_public_key.get(public_key or ""))
        if sandbox is not None:
            return sandbox
        if public_key is not None and public_key.startswith("pk_"):
            # The other way round than ``public_key_of``.
            return self.open("sk_" + public_key.removeprefix("pk_"), real, keep=keep)
        raise Unauthorised(
            Code.INVALID_AUTHENTICATION, {"XPublickey": "no sandbox has this public key"}
        )

    def reopen(
        self, key: str, beginning: Beginning, real: Micros, *, aside: bool = False
    ) -> Sandbox:
        """An empty sandbox in the place of a used one, in memory or in the storage, or of none. The
        used one is kept ``aside``, or stays when preparing the empty one fails."""
        sandbox = self._prepared(key, beginning, real)
        self.install(sandbox, aside=aside)
        return sandbox

    def _prepared(self, key: str, beginning: Beginning, real: Micros) -> Sandbox:
        """A new sandbox, after its set-up calls, which find it under its key. Raises what they
        raise."""
        before = self.in_memory.get(key)
        sandbox = self.in_memory[key] = Sandbox(key, beginning.config, real)
        self._by_public_key[sandbox.public_key] = key
        if beginning.own is not None:
            sandbox.settle(beginning.own)
        # What is judged since a mark goes on over a reset, which begins the journal anew.
        for name in beginning.marks:
            sandbox.journal.marks.put(name, 0)
        try:
            self._on_open(sandbox)
            sandbox.note_opened()
        finally:
            # It stood under its key for its set-up only: who installs it says what becomes of the
            # one before.
            if before is not None:
                self.in_memory[key] = before
            else:
                del self.in_memory[key]
            # A key that is new is known only once its sandbox is installed.
            if sandbox_id_of(key) not in self._by_id:
                del self._by_public_key[sandbox.public_key]
        return sandbox

    def take_back(self, key: str) -> Sandbox | None:
        """The sandbox that was kept aside for a key, again in its place, journal and all; None when
        there is none."""
        put_aside = self._aside.pop(key, None)
        if put_aside is not None:
            self.install(put_aside)
        return put_aside

    def admit(self, key: str | None) -> str:
        """The key of a sandbox that is open or may be opened. Raises ``Unauthorised`` (40),
        ``Full`` (37)."""
        if key is not None and sandbox_id_of(key) in self._by_id:
            return key
        return self._accepted(key)

    def install(self, sandbox: Sandbox, *, aside: bool = False) -> None:
        """Put a sandbox that was made elsewhere in its key's place; the one that had it is kept
        ``aside``."""
        before = self.in_memory.get(sandbox.key)
        if before is not None:
            self._leave(before)
            if aside:
                self._keep_aside(before)
            else:
                self.on_leave(before)
        self.put_back(sandbox)
        # It is the last of all from now on: so a store keeps it too.
        self._by_id.pop(sandbox_id_of(sandbox.key), None)
        self.know(sandbox.key)
        self.storage.note(sandbox)

    def put_back(self, sandbox: Sandbox) -> None:
        """A sandbox comes from the storage."""
        self.quota.enter(sandbox.journal)
        self.quota.enter(sandbox.inboxes)
        self.in_memory[sandbox.key] = sandbox

    def put_away(self, sandbox: Sandbox, *, kept: bool) -> None:
        """A sandbox leaves the memory. One that is ``kept`` stays in the storage: its name and its
        id stay known."""
        key = sandbox.key
        del self.in_memory[key]
        if not kept:
            del self._by_id[sandbox_id_of(key)], self._by_public_key[sandbox.public_key]
            self.names.pop(key, None)
        self._leave(sandbox)
        self.on_leave(sandbox)

    def know(self, key: str, name: str | None = None) -> None:
        """The key of a sandbox in memory or in the storage, and its name."""
        self._by_id[sandbox_id_of(key)] = self._by_public_key[public_key_of(key)] = key
        if name is not None:
            self.names[key] = name

    def drop(self, sandbox: Sandbox) -> None:
        """Forget an open sandbox, in the storage too, its name and what was kept aside for it: its
        key opens a new one."""
        self.storage.delete(sandbox)
        self._forget_aside(sandbox.key)
        self.dropped += 1
        self.put_away(sandbox, kept=False)

    def _keep_aside(self, sandbox: Sandbox) -> None:
        """Keep a sandbox that another has replaced; of each key one, and the last few of all."""
        self._forget_aside(sandbox.key)
        self._aside[sandbox.key] = sandbox
        while len(self._aside) > MOST_ASIDE:
            self._forget_aside(next(iter(self._aside)))

    def _forget_aside(self, key: str) -> None:
        """Let go of what was kept aside for a key: an undo is possible no more."""
        put_aside = self._aside.pop(key, None)
        if put_aside is not None:
            self.on_leave(put_aside)

    def _leave(self, sandbox: Sandbox) -> None:
        """A sandbox loses its key: nobody waits for it any more, and it takes nothing of the quota
        from others."""
        sandbox.holding.release()
        self.quota.leave(sandbox.journal)
        self.quota.leave(sandbox.inboxes)

    def _accepted(self, key: str | None) -> str:
        """A key that may open a sandbox. Raises ``Unauthorised`` (40), ``Full`` (37)."""
        if not key:
            raise Unauthorised(
                Code.INVALID_AUTHENTICATION, {"XSecretkey": "the header x-secretkey is required"}
            )
        fault = self._fault_of(key)
        if fault is not None:
            raise Unauthorised(Code.INVALID_AUTHENTICATION, {"XSecretkey": fault})
        if len(self) >= self.most:
            limit = f"this server has {self.most} sandboxes, its limit (--most-sandboxes)"
            words = f"{limit}; open ones keep working, and --sandbox-idle drops unused ones"
            raise Full(Code.RETRY_LATER, {"XSecretkey": words}, WAIT)
        return key

    def _fault_of(self, key: str) -> str | None:
        """Why a key opens no sandbox; None when it may. Where the server has a list of keys, that
        alone counts."""
        if self._keys:
            if key in self._keys:
                return None
            return "this server knows only the keys of --keys"
        # However long a key is, no more of it is searched.
        begin = key[:LONGEST_KEY]
        if begin.lower().startswith("invalid"):
            return "keys that begin with 'invalid' are always refused"
        if begin.startswith("pk_"):
            return "this is a public key; wanted the secret key, which begins with sk_"
        if looks_live(begin):
            return "this looks like a live key; a sandbox must never see one"
        if len(key) > LONGEST_KEY:
            return f"got a key of {len(key)} characters, wanted at most {LONGEST_KEY}"
        return None
