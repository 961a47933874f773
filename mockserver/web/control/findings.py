"""What the client did wrong, and the marks that part one story from the next (``/__admin/findings``,
``/__admin/marks``). Source: docs/findings.md, Where findings appear."""

from __future__ import annotations

from mockserver.domain.errors import invalid
from mockserver.domain.masking import mask_text
from mockserver.engine.sandbox import Sandbox
from mockserver.findings.catalogue import Severity, kind_of, severity_of
from mockserver.findings.ledger import Finding
from mockserver.findings.watch import Watch
from mockserver.web.control.call import ControlCall
from mockserver.wire.profile import WireProfile, profile_of
from mockserver.wire.replies import reply_of


def listing(call: ControlCall) -> object:
    """The findings of this sandbox, oldest first: of at least a severity, of one kind, after a mark or an entry."""
    sandbox, watch = watched(call)
    watch.pace.look(sandbox.now, call.world.real_clock())
    query, faults = call.query, dict[str, str]()
    least, name = Severity.NOTE, query.finding
    try:
        least = severity_of(query.severity) if query.severity is not None else least
    except ValueError as fault:
        faults["Severity"] = str(fault)
    try:
        name = kind_of(name).name if name is not None else None
    except ValueError as fault:
        faults["Finding"] = str(fault)
    if faults:
        raise invalid(faults)
    found = watch.ledger.select(least=least, name=name, after=call.since(sandbox), raised=query.raised)
    profile = profile_of(sandbox.assumed)
    findings = [shown(finding, profile) for finding in found]
    counts = {"count": len(found), "last": sandbox.journal.last}
    return reply_of("FindingsAnswer", watch.ledger, **counts, idle=idle_of(sandbox), findings=findings)


def finish(call: ControlCall) -> object:
    end_story(call, watched(call)[0])
    return listing(call)


def end_story(call: ControlCall, sandbox: Sandbox) -> None:
    """Report what was left open, unless findings are off."""
    if sandbox.watch is not None:
        sandbox.watch.pace.look(sandbox.now, call.world.real_clock())
        sandbox.watch.finish(sandbox.now)


def clear(call: ControlCall) -> object:
    _, watch = watched(call)
    cleared = len(watch.ledger)
    watch.ledger.clear()
    return {"cleared": cleared}


def mark(call: ControlCall) -> object:
    """Name this place in the journal. A name that was used before moves here."""
    sandbox, name = call.sandbox(), call.body.name
    if name.isdecimal():
        raise invalid({"Name": f"got '{name}', wanted a name that is not a number"})
    sandbox.journal.mark(name)
    return {"name": name, "after": sandbox.journal.last}


def shown(finding: Finding, profile: WireProfile) -> dict[str, object]:
    evidence = [reply_of("EvidenceAnswer", one, line=profile.sentence(one.line)) for one in finding.evidence]
    return reply_of("FindingAnswer", finding, evidence=evidence)


def at_least(sandbox: Sandbox, severity: Severity, after: int) -> list[Finding]:
    """The findings of a sandbox of at least a severity, after an entry; none with ``--findings off``."""
    return sandbox.watch.ledger.select(least=severity, after=after) if sandbox.watch is not None else []


def idle_of(sandbox: Sandbox) -> list[str]:
    """A sentence on each scenario of which no rule has fired."""
    return [mask_text(one) for one in sandbox.director.idle(sandbox.config.scenarios)]


def watched(call: ControlCall) -> tuple[Sandbox, Watch]:
    sandbox = call.sandbox()
    if sandbox.watch is None:
        raise invalid({"Findings": "this server reports no findings (--findings off)"})
    return sandbox, sandbox.watch
