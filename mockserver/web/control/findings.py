"""What the client did wrong, and the marks that part one story from the next
(``/__admin/findings``, ``/__admin/marks``). Source: docs/findings.md, Where findings appear."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any

from pydantic import Field

from mockserver.books.orders import key_of, orders_of, touched
from mockserver.domain.errors import invalid, nearest
from mockserver.domain.figures import money_text
from mockserver.domain.masking import mask_text, printable
from mockserver.engine.journal import JournalEntry
from mockserver.engine.sandbox import Sandbox
from mockserver.findings.catalogue import Severity, kind_of, lines_of, severity_of
from mockserver.findings.ledger import Finding
from mockserver.findings.watch import Watch
from mockserver.scenario.operations import MONEY
from mockserver.web.control import journal
from mockserver.web.control.call import AnyCall, ControlCall, ControlRoute
from mockserver.web.control.raised import watch_of
from mockserver.web.runner import for_each
from mockserver.wire.control_body import ControlBody
from mockserver.wire.field_types import PrintableName, digits
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
    found = watch.ledger.select(
        least=least, name=name, after=call.since(sandbox, call.query.since), raised=query.raised
    )
    profile = profile_of(sandbox.assumed)
    findings = [shown(finding, profile) for finding in found]
    counts = {"count": len(found), "last": sandbox.journal.last}
    return reply_of(
        "FindingsAnswer", watch.ledger, **counts, idle=idle_of(sandbox), findings=findings
    )


def finish(call: ControlCall[ControlBody, FindingQuery]) -> object:
    end_story(call, watched(call)[0])
    return listing(call)


def end_story(call: AnyCall, sandbox: Sandbox) -> None:
    """Tell all who watch that a story has ended: findings report what it has left open."""
    for observer in sandbox.observers:
        observer.finished(sandbox.now, call.world.real_clock())


def clear(call: AnyCall) -> object:
    _, watch = watched(call)
    cleared = len(watch.ledger)
    watch.ledger.clear()
    return {"cleared": cleared}


def mark(call: ControlCall[Mark, ControlBody]) -> object:
    """Name this place in the journal. A name that was used before moves here."""
    sandbox, name = call.sandbox(), call.body.name
    if name.isdecimal():
        raise invalid({"Name": f"got '{name}', wanted a name that is not a number"})
    sandbox.journal.mark(name)
    return {"name": name, "after": sandbox.journal.last}


def shown(finding: Finding, profile: WireProfile) -> dict[str, object]:
    evidence = [
        reply_of("EvidenceAnswer", one, line=profile.sentence(one.line)) for one in finding.evidence
    ]
    return reply_of("FindingAnswer", finding, evidence=evidence)


def at_least(sandbox: Sandbox, severity: Severity, after: int) -> list[Finding]:
    """The findings of a sandbox of at least a severity, after an entry; none with ``--findings
    off``."""
    watch = watch_of(sandbox)
    return watch.ledger.select(least=severity, after=after) if watch is not None else []


def idle_of(sandbox: Sandbox) -> list[str]:
    """A sentence on each scenario of which no rule has fired."""
    return [mask_text(one) for one in sandbox.director.idle(sandbox.config.scenarios)]


def watched(call: AnyCall) -> tuple[Sandbox, Watch]:
    sandbox = call.sandbox()
    watch = watch_of(sandbox)
    if watch is None:
        raise invalid({"Findings": "this server reports no findings (--findings off)"})
    return sandbox, watch


LENGTH = 100
"""Newest journal entries that a timeline shows."""

_PARTS = ("timeline", "findings", "books")
_INDENT = " " * 25
_LONGEST_AMOUNT = 80


async def report(call: ControlCall[ControlBody, ReportQuery]) -> bytes:
    """The parts that are asked for, each after its name when there are several; those that are
    empty are left out. Raises ``Invalid`` (90) for an unknown part."""
    sandbox, wanted = call.sandbox(), [one.strip() for one in call.query.parts.split(",")]
    for part in wanted:
        if part not in _PARTS:
            raise invalid(
                {"Parts": f"got '{part[:40]}'{nearest(part, _PARTS)}, allowed: {', '.join(_PARTS)}"}
            )
    after, profile = call.since(sandbox, call.query.since), profile_of(sandbox.assumed)
    found = at_least(sandbox, Severity.NOTE, after) if "findings" in wanted else []
    told = {
        "timeline": "\n".join(await _timeline(sandbox, after)) if "timeline" in wanted else "",
        "findings": "\n\n".join("\n".join(lines_of(shown(one, profile))) for one in found),
        "books": "\n".join(await _books(sandbox, after)) if "books" in wanted else "",
    }
    if len(wanted) == 1:
        return told[wanted[0]].encode()
    return "\n\n".join(f"{part}\n{told[part]}" for part in wanted if told[part]).encode()


async def _books(sandbox: Sandbox, after: int) -> list[str]:
    """A line for each order: what is not nothing of its money."""
    keys = (
        [*touched(sandbox, after)]
        if after
        else list(dict.fromkeys(await for_each(sandbox.charges, key_of)))
    )
    lines = []
    for key in keys[:LENGTH]:
        for order in orders_of(sandbox, key):
            figures, currency = order.figures, order.currency
            net = f", net {money_text(figures.net, currency)}" if figures.net else ""
            lines.append(f"{printable(mask_text(key[1]))}: {figures.told(currency)}{net}")
    return lines


async def _timeline(sandbox: Sandbox, after: int) -> list[str]:
    """What was asked of a sandbox and what it did, oldest first: sandbox time, request, status,
    rule; then changes."""
    kept = list(sandbox.journal.since(after))
    entries = await for_each(kept[-LENGTH:], lambda entry: journal.shown(entry, sandbox))
    hidden = len(kept) - LENGTH
    lines = [f"({hidden} entries before these)"] if hidden > 0 else []
    for entry, as_it_was in zip(entries, kept[-LENGTH:], strict=True):
        lines.append(f"{_time(entry['at'])}  {_what(entry)}")
        lines += [f"{_INDENT}{_change(event)}" for event in entry["events"]]
        lines += [f"{_INDENT}{fault}" for fault in _faults(as_it_was)]
        for webhook_id in entry["webhooks"]:
            found = sandbox.deliveries.get(webhook_id)
            lines += (
                _tries(delivery_reply(found), entry["at"])
                if found
                else [f"{_INDENT}webhook {webhook_id}"]
            )
    return lines or ["no request reached this sandbox"]


def _time(at: str) -> str:
    return at[:23].replace("T", " ")


def _what(entry: Mapping[str, Any]) -> str:
    request, answer, fault = entry["request"], entry["answer"], entry["fault"]
    words = [f"{request['method']} {request['path']}" if request else f"came due: {entry['op']}"]
    if request and entry["op"] in ("clock.advance", "clock.set"):
        words += [
            f"{name} {request['body'][name]}"
            for name in ("by", "to", "now", "mode")
            if name in request["body"]
        ]
    if entry["status"] is not None:
        words.append(str(entry["status"]))
    if isinstance(answer, dict) and "message" in answer and "code" in answer:
        words.append(f"{answer['message']} (code {answer['code']})")
    if fault:
        words.append(f"fault {fault['kind']} at {fault['at']}")
    words += [f"rule {decision['rule']}" for decision in entry["decisions"] if decision["rule"]]
    words += [_amount(request)] if request and entry["op"] in MONEY else []
    return "  ".join(filter(None, words))


def _amount(request: Mapping[str, Any]) -> str:
    """What a request wants to move, for which order: that a retry asks for the same is seen at a
    glance."""
    body = request["body"] if isinstance(request["body"], dict) else {}
    fields = {name.lower(): value for name, value in (*request["query"].items(), *body.items())}
    amount, currency, reference = map(fields.get, ("amount", "currency", "reference"))
    if not isinstance(amount, int | float | Decimal | str):
        return ""
    words = f"amount {amount} {currency}" if isinstance(currency, str) else f"amount {amount}"
    order = f" for {reference}" if isinstance(reference, str) else ""
    return printable(mask_text(f"{words}{order}"))[:_LONGEST_AMOUNT]


def _faults(entry: JournalEntry) -> list[str]:
    """What was wrong with a request that was refused, by field. One that something came of was not
    refused: a declined payment repeats the charge and its payer in its details."""
    refused = journal.problem_of(entry)
    if refused is None or entry.events:
        return []
    told = [
        f"{printable(field)}: {printable(text)}"
        for field, text in journal.faults_of(refused).items()
    ]
    left = len(refused["details"] or {}) - len(told)
    return [*told, f"and {left} more"] if left else told


def _change(event: Mapping[str, Any]) -> str:
    subject = f"{event['subject']} {event['id']}"
    return (
        f"{subject} {event['what']}: {event['before'] or '(new)'} -> {event['after'] or '(gone)'}"
    )


def _tries(delivery: Mapping[str, Any], since: str) -> list[str]:
    """The receiver of each webhook and how each try ended, with its time when it is not
    ``since``."""
    line = f"{_INDENT}webhook {delivery['eventType']} to {delivery['url']}"
    lines = []
    for number, made in enumerate(delivery["tries"], 1):
        at = f" at {_time(made['at'])}" if made["at"] != since else ""
        lines.append(f"{line}  try {number}{at}  {made['status'] or made['error']}")
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
