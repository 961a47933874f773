"""What the client did wrong, and the marks that part one story from the next
(``/__admin/findings``, ``/__admin/marks``); and the same with timeline and books as text
(``/__admin/report``), as a test that fails prints it. Source: docs/findings.md, Where findings
appear."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any

from pydantic import Field

from mockserver.books.orders import key_of, orders_of, touched
from mockserver.domain.clock import iso
from mockserver.domain.errors import invalid, nearest
from mockserver.domain.figures import money_text
from mockserver.domain.masking import (
    mask_field,
    mask_printed,
    mask_query,
    mask_text,
    printable,
)
from mockserver.domain.states import Event
from mockserver.engine.journal import JournalEntry
from mockserver.engine.sandbox import Sandbox
from mockserver.findings.catalogue import Severity, kind_of, lines_of, severity_of
from mockserver.findings.ledger import Finding
from mockserver.findings.watch import Watch
from mockserver.scenario.decisions import fired_in
from mockserver.scenario.operations import MONEY
from mockserver.web.control import journal
from mockserver.web.control.call import AnyCall, ControlCall, ControlRoute
from mockserver.web.control.entry_facts import faults_of, problem_of, status_of
from mockserver.web.control.raised import watch_of
from mockserver.web.runner import for_each
from mockserver.wire.control_body import ControlBody
from mockserver.wire.field_types import PrintableName, digits
from mockserver.wire.masked_bodies import mask_body
from mockserver.wire.profile import WireProfile, profile_of
from mockserver.wire.replies import reply_of
from mockserver.wire.webhooks import delivery_reply


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


class ReportQuery(ControlBody):
    """What a report holds."""

    since: str | None = Field(
        None,
        description="after this mark, or after the journal entry of this number",
    )
    parts: str = Field(
        "timeline,findings,books",
        description="these of timeline, findings and books, parted by commas",
    )


def listing(call: ControlCall[ControlBody, FindingQuery]) -> object:
    """The findings of this sandbox, oldest first: of at least a severity, of one kind, after a mark
    or an entry."""
    sandbox, watch = watched(call)
    # That a client waits without end is raised by no call: time alone shows it.
    watch.pace.look(sandbox.now, call.world.real_clock())
    query, faults = call.query, dict[str, str]()
    least, name = Severity.NOTE, query.finding
    try:
        if query.severity is not None:
            least = severity_of(query.severity)
    except ValueError as fault:
        faults["Severity"] = str(fault)
    try:
        if name is not None:
            name = kind_of(name).name
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
    return watch.ledger.select(least=severity, after=after) if watch is not None else []


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


LENGTH = 100
"""Newest journal entries that a timeline shows."""

_PARTS = ("timeline", "findings", "books")
_INDENT = " " * 25
"""As wide as the time and the gap behind it: what an entry has caused stands below its request."""

_LONGEST_AMOUNT = 80


async def report(call: ControlCall[ControlBody, ReportQuery]) -> bytes:
    """The parts that are asked for, each after its name when there are several; those that are
    empty are left out. As text, so that a plugin for any language can print it as it comes. Raises
    ``Invalid`` (90) for an unknown part."""
    sandbox, wanted = call.sandbox(), [part.strip() for part in call.query.parts.split(",")]
    for part in wanted:
        if part not in _PARTS:
            raise invalid(
                {"Parts": f"got '{part[:40]}'{nearest(part, _PARTS)}, allowed: {', '.join(_PARTS)}"}
            )
    after = call.since(sandbox, call.query.since)
    texts: dict[str, str] = {}
    if "timeline" in wanted:
        texts["timeline"] = "\n".join(await timeline(sandbox, after))
    if "findings" in wanted:
        texts["findings"] = _findings_text(sandbox, after)
    if "books" in wanted:
        texts["books"] = "\n".join(await _books(sandbox, after))
    if len(wanted) == 1:
        return texts[wanted[0]].encode()
    return "\n\n".join(f"{part}\n{texts[part]}" for part in wanted if texts[part]).encode()


def _findings_text(sandbox: Sandbox, after: int) -> str:
    """All findings for people, in the words of every other report."""
    profile = profile_of(sandbox.assumed)
    raised = at_least(sandbox, Severity.NOTE, after)
    return "\n\n".join("\n".join(lines_of(finding_reply(finding, profile))) for finding in raised)


async def _books(sandbox: Sandbox, after: int) -> list[str]:
    """A line for each order, of those touched after a journal entry: what is not nothing of its
    money."""
    if after:
        keys = [*touched(sandbox, after)]
    else:
        keys = list(dict.fromkeys(await for_each(sandbox.charges, key_of)))
    lines = []
    for key in keys[:LENGTH]:
        for order in orders_of(sandbox, key):
            figures, currency = order.figures, order.currency
            net = f", net {money_text(figures.net, currency)}" if figures.net else ""
            lines.append(f"{printable(mask_text(key.name))}: {figures.in_words(currency)}{net}")
    return lines


async def timeline(sandbox: Sandbox, after: int) -> list[str]:
    """What was asked of a sandbox and what it did, oldest first: sandbox time, request, status,
    rule; then changes. Bodies are not shown, so they are not masked either: that takes most of the
    time of a whole entry."""
    entries = list(sandbox.journal.since(after))
    left_out = len(entries) - LENGTH
    lines = [f"({left_out} entries before these)"] if left_out > 0 else []
    profile = profile_of(sandbox.assumed)
    newest = entries[-LENGTH:]
    for entry_lines in await for_each(newest, lambda entry: _entry_lines(entry, sandbox, profile)):
        lines += entry_lines
    return lines or ["no request reached this sandbox"]


def _entry_lines(entry: JournalEntry, sandbox: Sandbox, profile: WireProfile) -> list[str]:
    """The lines of one entry: what was asked, and below it what it has caused."""
    at = iso(entry.at)
    lines = [f"{_time(at)}  {_step_line(entry)}"]
    lines += [f"{_INDENT}{_change(event, profile)}" for event in entry.events]
    lines += [f"{_INDENT}{fault}" for fault in _faults(entry)]
    for webhook_id in entry.webhooks:
        delivery = sandbox.deliveries.get(webhook_id)
        if delivery is None:
            # It was pushed out of the log.
            lines.append(f"{_INDENT}webhook {webhook_id}")
        else:
            lines += _tries(delivery_reply(delivery), at)
    return lines


def _time(at: str) -> str:
    """A date-time of an answer in milliseconds, as people read it."""
    return at[:23].replace("T", " ")


def _step_line(entry: JournalEntry) -> str:
    """What was asked in an entry of the journal, or came due, and what came of it, in the order in
    which a reader asks: what, how it ended, why, and how much money it was about."""
    is_request = bool(entry.method)
    status, fault, refused = status_of(entry), entry.fault, problem_of(entry)
    if is_request:
        words = [f"{entry.method} {mask_printed(entry.path)}"]
    else:
        words = [f"came due: {entry.op}"]
    if is_request and entry.op in ("clock.advance", "clock.set"):
        words += _moves_of_clock(mask_body(entry.raw))
    if status is not None:
        words.append(str(status))
    if refused is not None:
        words.append(f"{mask_field('message', refused['message'])} (code {refused['code']})")
    if fault:
        words.append(f"fault {fault.kind} at {fault.at}")
    words += [f"rule {rule}" for rule in fired_in(entry.decisions)]
    if is_request and entry.op in MONEY:
        words.append(_amount(entry))
    return "  ".join(filter(None, words))


def _amount(entry: JournalEntry) -> str:
    """What a request wants to move, for which order: that a retry asks for the same is seen at a
    glance."""
    query, body = mask_query(entry.query), mask_body(entry.raw)
    fields = {name.lower(): value for name, value in query.items()}
    if isinstance(body, dict):
        fields |= {name.lower(): value for name, value in body.items()}
    amount, currency, reference = map(fields.get, ("amount", "currency", "reference"))
    if not isinstance(amount, int | float | Decimal | str):
        return ""
    words = f"amount {amount}"
    if isinstance(currency, str):
        words += f" {currency}"
    if isinstance(reference, str):
        words += f" for {reference}"
    return printable(mask_text(words))[:_LONGEST_AMOUNT]


def _moves_of_clock(body: object) -> list[str]:
    """What a call asks of the clock."""
    fields = body if isinstance(body, dict) else {}
    return [f"{name} {fields[name]}" for name in ("by", "to", "now", "mode") if name in fields]


def _faults(entry: JournalEntry) -> list[str]:
    """What was wrong with a request that was refused, by field. One that something came of was not
    refused: a declined payment repeats the charge and its payer in its details."""
    refused = problem_of(entry)
    if refused is None or entry.events:
        return []
    faults = [
        f"{printable(field)}: {printable(text)}" for field, text in faults_of(refused).items()
    ]
    left_out = len(refused["details"] or {}) - len(faults)
    return [*faults, f"and {left_out} more"] if left_out else faults


def _change(event: Event, profile: WireProfile) -> str:
    """A change of an object, in the words of the API: ``charge 3f2a… captured: AUTHORISED ->
    SUCCESS``."""
    states = journal.states_of(event, profile)
    before, after = states["before"] or "(new)", states["after"] or "(gone)"
    return f"{event.subject} {event.subject_id} {event.what}: {before} -> {after}"


def _tries(delivery: Mapping[str, Any], since: str) -> list[str]:
    """A line for each try of a webhook, with how it ended, and its time when it is not ``since``,
    that of the entry; then what is still to come of one that was not delivered."""
    line = f"{_INDENT}webhook {delivery['eventType']} to {delivery['url']}"
    lines = []
    for number, attempt in enumerate(delivery["tries"], 1):
        at = f" at {_time(attempt['at'])}" if attempt["at"] != since else ""
        lines.append(f"{line}  try {number}{at}  {attempt['status'] or attempt['error']}")
    if delivery["state"] != "delivered":
        due = f", next try at {_time(delivery['next'])}" if delivery["next"] else ""
        lines.append(f"{line}  {delivery['state'].replace('_', ' ')}{due}")
    return lines


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
    ControlRoute(
        "GET",
        "/__admin/report",
        report,
        query=ReportQuery,
        keyed=True,
        reply="text",
        media="text/plain; charset=utf-8",
        summary="Timeline, findings and books as text, for the report of a failing test",
    ),
)
