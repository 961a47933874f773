"""What the client did wrong, and the marks that part one story from the next
(``/__admin/findings``, ``/__admin/marks``). Source: docs/findings.md, Where findings appear."""

from typing import Annotated

from pydantic import Field

from mockserver.domain.errors import invalid
from mockserver.domain.masking import mask_text
from mockserver.engine.sandbox import Sandbox
from mockserver.findings.catalogue import Severity, kind_of, severity_of
from mockserver.findings.ledger import Finding
from mockserver.findings.watch import Watch
from mockserver.web.control.call import AnyCall, ControlCall, ControlRoute
from mockserver.web.control.raised import watch_of
from mockserver.wire.control_body import ControlBody
from mockserver.wire.field_types import PrintableName, digits
from mockserver.wire.profile import WireProfile, profile_of
from mockserver.wire.replies import reply_of


class FindingQuery(ControlBody):
    """Which findings."""

    since: str | None = Field(
        None,
        description="after this mark, or after the journal entry of this number",
    )
    severity: str | None = Field(None, description="at least note, warning or error")
    finding: str | None = Field(None, description="one kind, such as double-charge")
    raised: Annotated[int, digits(0)] = Field(
        0,
        description="raised, or raised again, after so many raises: the field raised of an "
        "earlier answer",
    )


class Mark(ControlBody):
    """A place in the journal."""

    name: PrintableName = Field(description="name of the mark, no number")


def listing(call: ControlCall[ControlBody, FindingQuery]) -> object:
    """The findings of this sandbox, oldest first: of at least a severity, of one kind, after a mark
    or an entry."""
    sandbox, watch = watched(call)
    # That a client waits without end is raised by no call: time alone shows it.
    watch.pace.look(sandbox.now, call.world.real_clock())
    query = call.query
    least = Severity.NOTE
    name: str | None = None
    # Both are looked at before either is refused.
    faults: dict[str, str] = {}
    if query.severity is not None:
        try:
            least = severity_of(query.severity)
        except ValueError as fault:
            faults["Severity"] = str(fault)
    if query.finding is not None:
        try:
            name = kind_of(query.finding).name
        except ValueError as fault:
            faults["Finding"] = str(fault)
    if faults:
        raise invalid(faults)
    after = call.since(sandbox, query.since)
    selected = watch.ledger.select(least=least, name=name, after=after, raised=query.raised)
    profile = profile_of(sandbox.assumed)
    return reply_of(
        "FindingsAnswer",
        watch.ledger,
        count=len(selected),
        last=sandbox.journal.last,
        idle=idle_of(sandbox),
        findings=[finding_reply(finding, profile) for finding in selected],
    )


def finish(call: ControlCall[ControlBody, FindingQuery]) -> object:
    """As ``listing``, after a story has ended: what it left open is reported too."""
    sandbox, _ = watched(call)
    end_story(call, sandbox)
    return listing(call)


def end_story(call: AnyCall, sandbox: Sandbox) -> None:
    """Tell all who watch that a story has ended: findings report what it has left open. Only who
    runs the client knows that nothing more comes."""
    for observer in sandbox.observers:
        observer.finished(sandbox.now, call.world.real_clock())


def clear(call: AnyCall) -> object:
    """Delete the findings of this sandbox; how many that were. What the judges remember of the
    client stays: what comes next is judged as before."""
    _, watch = watched(call)
    cleared = len(watch.ledger)
    watch.ledger.clear()
    return {"cleared": cleared}


def mark(call: ControlCall[Mark, ControlBody]) -> object:
    """Name this place in the journal. A name that was used before moves here."""
    sandbox, name = call.sandbox(), call.body.name
    # ``since`` takes a mark or the number of an entry.
    if name.isdecimal():
        raise invalid({"Name": f"got '{name}', wanted a name that is not a number"})
    sandbox.journal.mark(name)
    return {"name": name, "after": sandbox.journal.last}


def finding_reply(finding: Finding, profile: WireProfile) -> dict[str, object]:
    """A finding as answers have it, its evidence in the words of a profile."""
    evidence = [
        reply_of("EvidenceAnswer", fact, line=profile.sentence(fact.line))
        for fact in finding.evidence
    ]
    return reply_of("FindingAnswer", finding, evidence=evidence)


def at_least(sandbox: Sandbox, severity: Severity, after: int) -> list[Finding]:
    """The findings of a sandbox of at least a severity, after an entry; none with ``--findings
    off``."""
    watch = watch_of(sandbox)
    if watch is None:
        return []
    return watch.ledger.select(least=severity, after=after)


def findings_since(call: AnyCall, sandbox: Sandbox, after: int) -> list[dict[str, object]]:
    """All findings after an entry as answers show them, oldest first; none with ``--findings
    off``."""
    watch = watch_of(sandbox)
    if watch is None:
        return []
    watch.pace.look(sandbox.now, call.world.real_clock())
    profile = profile_of(sandbox.assumed)
    return [finding_reply(finding, profile) for finding in at_least(sandbox, Severity.NOTE, after)]


def idle_of(sandbox: Sandbox) -> list[str]:
    """A sentence on each scenario of which no rule has fired: a test that passes because its fault
    never struck proves nothing."""
    return [mask_text(text) for text in sandbox.director.idle(sandbox.config.scenarios)]


def watched(call: AnyCall) -> tuple[Sandbox, Watch]:
    """The sandbox of a call, and its judges. Raises ``Invalid`` (90) with ``--findings off``: an
    empty answer would say that the client has done nothing wrong."""
    sandbox = call.sandbox()
    watch = watch_of(sandbox)
    if watch is None:
        raise invalid({"Findings": "this server reports no findings (--findings off)"})
    return sandbox, watch


ROUTES = (
    ControlRoute(
        "GET",
        "/__admin/findings",
        listing,
        query=FindingQuery,
        keyed=True,
        reply="FindingsAnswer",
        example={"severity": "warning"},
        summary="What the client did wrong, oldest first",
    ),
    ControlRoute(
        "POST",
        "/__admin/findings/finish",
        finish,
        query=FindingQuery,
        keyed=True,
        reply="FindingsAnswer",
        example={"body": {}},
        summary="Finish: report what was left open, then list",
    ),
    ControlRoute(
        "DELETE",
        "/__admin/findings",
        clear,
        keyed=True,
        reply="ClearedAnswer",
        example={"body": {}},
        summary="Delete the findings of this sandbox",
    ),
    ControlRoute(
        "POST",
        "/__admin/marks",
        mark,
        body=Mark,
        keyed=True,
        reply="MarkAnswer",
        success=201,
        example={"body": {"name": "checkout"}},
        summary="Name this place in the journal, for since=NAME",
    ),
)
