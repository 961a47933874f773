"""Timeline, findings and books of a sandbox as text (``/__admin/report``), as a test that fails
prints it.

Whoever reads it has a red test and has seen nothing of the server yet. So the timeline has a line
for each request and below it what that has caused: changes, faults, each try of a webhook. It is
text and not JSON so that a plugin for any language can print it as it comes. Source:
docs/findings.md, Where findings appear.
"""

from decimal import Decimal
from functools import partial

from pydantic import Field

from mockserver.books.orders import key_of, orders_of, touched
from mockserver.domain.clock import iso
from mockserver.domain.errors import invalid, nearest
from mockserver.domain.figures import OrderMoney, money_text
from mockserver.domain.masking import mask_field, mask_printed, mask_query, mask_text, printable
from mockserver.domain.states import Event
from mockserver.engine.journal import JournalEntry
from mockserver.engine.sandbox import Sandbox
from mockserver.findings.catalogue import Severity, lines_of
from mockserver.scenario.decisions import fired_in
from mockserver.scenario.operations import MONEY
from mockserver.web.control import journal
from mockserver.web.control.call import ControlCall, ControlRoute
from mockserver.web.control.entry_facts import faults_of, problem_of, status_of
from mockserver.web.control.findings import at_least, finding_reply
from mockserver.web.runner import for_each
from mockserver.wire.control_body import ControlBody
from mockserver.wire.masked_bodies import mask_body
from mockserver.wire.profile import WireProfile, profile_of
from mockserver.wire.replies import Members
from mockserver.wire.webhooks import delivery_reply


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
    sandbox = call.sandbox()
    wanted = [part.strip() for part in call.query.parts.split(",")]
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
    headed = [f"{part}\n{texts[part]}" for part in wanted if texts[part]]
    return "\n\n".join(headed).encode()


def _findings_text(sandbox: Sandbox, after: int) -> str:
    """All findings for people, in the words of every other report."""
    profile = profile_of(sandbox.assumed)
    paragraphs = []
    for finding in at_least(sandbox, Severity.NOTE, after):
        lines = lines_of(finding_reply(finding, profile))
        paragraphs.append("\n".join(lines))
    return "\n\n".join(paragraphs)


async def _books(sandbox: Sandbox, after: int) -> list[str]:
    """A line for each order, of those touched after a journal entry: what is not nothing of its
    money."""
    if after:
        keys = list(touched(sandbox, after))
    else:
        keys_of_charges = await for_each(sandbox.charges, key_of)
        # Each order once, as they began.
        keys = list(dict.fromkeys(keys_of_charges))
    lines = []
    for key in keys[:LENGTH]:
        for order in orders_of(sandbox, key):
            lines.append(f"{printable(mask_text(key.name))}: {_money_of(order)}")
    return lines


def _money_of(order: OrderMoney) -> str:
    """What is not nothing of the money of an order."""
    figures, currency = order.figures, order.currency
    words = figures.in_words(currency)
    if figures.net:
        words += f", net {money_text(figures.net, currency)}"
    return words


async def timeline(sandbox: Sandbox, after: int) -> list[str]:
    """What was asked of a sandbox and what it did, oldest first: sandbox time, request, status,
    rule; then changes. Bodies are not shown, so they are not masked either: that takes most of the
    time of a whole entry."""
    entries = list(sandbox.journal.since(after))
    lines: list[str] = []
    left_out = len(entries) - LENGTH
    if left_out > 0:
        lines.append(f"({left_out} entries before these)")
    lines_of_entry = partial(_entry_lines, sandbox=sandbox, profile=profile_of(sandbox.assumed))
    for entry_lines in await for_each(entries[-LENGTH:], lines_of_entry):
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
    # The service takes names in any letter case.
    fields: dict[str, object] = {name.lower(): value for name, value in query.items()}
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
    if not isinstance(body, dict):
        return []
    return [f"{name} {body[name]}" for name in ("by", "to", "now", "mode") if name in body]


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
    if left_out:
        faults.append(f"and {left_out} more")
    return faults


def _change(event: Event, profile: WireProfile) -> str:
    """A change of an object, in the words of the API: ``charge 3f2a… captured: AUTHORISED ->
    SUCCESS``."""
    states = journal.states_of(event, profile)
    before, after = states["before"] or "(new)", states["after"] or "(gone)"
    return f"{event.subject} {event.subject_id} {event.what}: {before} -> {after}"


def _tries(delivery: Members, since: str) -> list[str]:
    """A line for each try of a webhook, with how it ended, and its time when it is not ``since``,
    that of the entry; then what is still to come of one that was not delivered."""
    line = f"{_INDENT}webhook {delivery['eventType']} to {delivery['url']}"
    lines = []
    for number, attempt in enumerate(delivery["tries"], 1):
        words = f"{line}  try {number}"
        if attempt["at"] != since:
            words += f" at {_time(attempt['at'])}"
        lines.append(f"{words}  {attempt['status'] or attempt['error']}")
    if delivery["state"] != "delivered":
        words = f"{line}  {delivery['state'].replace('_', ' ')}"
        if delivery["next"]:
            words += f", next try at {_time(delivery['next'])}"
        lines.append(words)
    return lines


ROUTES = (
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
