"""Where sandboxes are kept beside the memory: what the house asks of a store (``--store``).

Nothing in here knows how a store keeps them. A server without one has this class itself, which
keeps nothing; ``mockserver/store/writer.py`` has one that writes a file.

The promise is one: what was answered is kept. So what changes a sandbox says so (``note``), and
its answer waits until that is kept (``kept``), or is refused when it cannot be.
"""

from collections.abc import Iterable, Mapping, Sequence

from mockserver.engine.config import Beginning
from mockserver.engine.sandbox import Sandbox


class SandboxStorage:
    """``commits`` and ``failures`` count what was written and what could not be."""

    commits = 0
    failures = 0

    # Sandboxes that are not in memory.

    def take(self, key: str) -> Sandbox | None:
        """The sandbox of a key, made of what is kept of it; None when nothing is. Raises
        ``NotKept`` (43)."""
        return None

    def used(self, key: str) -> int:
        """When the sandbox of a key was last used, as ``Sandbox.used`` counts."""
        return 0

    def last_used(self) -> int:
        """When any sandbox was last used."""
        return 0

    async def fetch(self, keys: Iterable[str]) -> None:
        """Put the sandboxes of some keys back; others are served meanwhile. Raises ``NotKept``
        (43)."""

    async def fetch_with_page(self, page_id: str) -> Sequence[str]:
        """Put the sandboxes back in which an object of this id has a page: their keys. Raises
        ``NotKept`` (43)."""
        return ()

    async def begun(self, keys: Sequence[str]) -> Mapping[str, Beginning]:
        """How those of some sandboxes began that are not in memory; their content is not read.
        Raises ``NotKept`` (43)."""
        return {}

    def put_away(self, sandbox: Sandbox) -> bool:
        """Drop a sandbox from memory; False while something of it is still to be kept, and without
        a store, which has nothing to bring it back from."""
        return False

    # What is still to be kept.

    def note(self, sandbox: Sandbox) -> None:
        """A sandbox may have changed, or has taken the place of its key."""

    def delete(self, sandbox: Sandbox) -> None:
        """A sandbox is deleted."""

    async def kept(self, sandbox: Sandbox) -> None:
        """What has happened in a sandbox until now is kept. Raises ``NotKept`` (43): then nothing
        of it is."""

    async def all_kept(self, since: int) -> None:
        """What has happened in any sandbox is kept, since ``failures`` was so many. Raises
        ``NotKept`` (43)."""

    async def is_kept(self, sandbox: Sandbox) -> bool:
        """Whether what has happened in a sandbox until now is kept: only then may a webhook go
        out."""
        return True

    async def fault(self) -> str | None:
        """Why nothing can be kept at present; None while it can."""
        return None

    async def turn(self, sandbox: Sandbox) -> None:
        """Serve other requests during the long work of a sandbox, until not much of it is still to
        be kept."""

    # The life of the server.

    async def run(self) -> None:
        """Wake sandboxes in which something comes due, until cancelled."""

    async def close(self) -> None:
        """Keep what is left, and let go."""
