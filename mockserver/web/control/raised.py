"""What the findings of a sandbox say, for the calls and pages that show it: where the control API
meets the room of findings. Nothing else of the web knows what its observers are."""

from collections.abc import Iterable

from mockserver.engine.sandbox import Sandbox
from mockserver.findings.ledger import Finding
from mockserver.findings.watch import Watch


def watch_of(sandbox: Sandbox) -> Watch | None:
    """The judges of a sandbox, one of the observers that it was opened with; None with
    ``--findings off``."""
    for observer in sandbox.observers:
        if isinstance(observer, Watch):
            return observer
    return None


def raised(sandbox: Sandbox) -> Iterable[Finding]:
    """The findings of a sandbox, the oldest first; none with ``--findings off``."""
    watch = watch_of(sandbox)
    if watch is None:
        return ()
    return watch.ledger


def finding_counts(sandbox: Sandbox) -> dict[str, int] | None:
    """How often something was raised, and how often something was cleared: these change whenever
    the findings do, so that a page which shows them need not read them to see that they are the
    same. None with ``--findings off``."""
    watch = watch_of(sandbox)
    if watch is None:
        return None
    return {"raised": watch.ledger.raised, "cleared": watch.ledger.cleared}
