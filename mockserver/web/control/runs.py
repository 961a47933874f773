"""What a run of a command came to, in one answer (``/__admin/run``).

An exploration runs a command hundreds of times, each time in a sandbox of its own, and asks the
same questions after each: what was called, where is the money, what did the client do wrong, which
rules have fired, what is still due, and the timeline for its report. Asked one by one they take
longer than many a command, and most of that time goes into masking the bodies of the journal, which
nobody reads. So they are answered together, and of a call there is only what decides how it can
fail.

Source: docs/control-api.md (``/__admin/run``).
"""

import asyncio
import json
import re
from collections.abc import Mapping
from functools import partial

from pydantic import Field

from mockserver.domain.clock import Micros
from mockserver.domain.masking import mask_printed
from mockserver.engine.journal import JournalEntry
from mockserver.engine.sandbox import Sandbox
from mockserver.web.control.books import BooksQuery, money_shown, under_way
from mockserver.web.control.call import ControlCall, ControlRoute
from mockserver.web.control.clock import within_longest
from mockserver.web.control.entry_facts import status_of
from mockserver.web.control.findings import end_story, findings_since
from mockserver.web.control.scenarios import reports_of
from mockserver.web.control.text_report import timeline
from mockserver.web.runner import for_each
from mockserver.wire.control_body import ControlBody, read_exactly
from mockserver.wire.field_types import Duration, Switch
from mockserver.wire.replies import Members, reply_of

_LOOK_AGAIN = 0.005
"""Seconds between two looks at what is under way: nothing tells that all of it has ended, and an
exploration waits hundreds of times."""

_MOST_DUE = 100
_MOST_ORDERS = "1000"
"""As many as a page of the books has at most; a run with more asks for the other pages."""

_ID = re.compile(rb"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")
"""An id of a charge, where a request names one."""


class RunLookQuery(ControlBody):
    """From where on."""

    since: str | None = Field(
        None,
        description="after this mark, or after the journal entry of this number",
    )


class RunLook(ControlBody):
    """What is waited for, and whether the run is over."""

    timeout: Duration | None = Field(
        None,
        description="how long answers, running batches and webhooks under way may take to finish, "
        "in real time, such as 5s; without it nothing is waited for",
    )
    finish: Switch = Field(
        False, description="whether the story ends: findings report what was left open"
    )


async def look(call: ControlCall[RunLook, RunLookQuery]) -> object:
    """What a run came to: ``calls`` are those that had come when this was asked; the money, with
    the calls in doubt, is that before the story ends."""
    sandbox, body = call.sandbox(), call.body
    after = call.since(sandbox, call.query.since)
    # Taken before the wait: what comes while it lasts was not called by the run that has ended.
    entries = list(sandbox.journal.since(after))
    if body.timeout is not None:
        await _settle(call, sandbox, body.timeout)
    wanted_orders = {"limit": _MOST_ORDERS}
    if call.query.since is not None:
        wanted_orders["since"] = call.query.since
    orders = read_exactly(BooksQuery, wanted_orders)
    money = await money_shown(call, sandbox, orders)
    if body.finish:
        end_story(call, sandbox)
    calls = await for_each(entries, partial(_call, sandbox=sandbox))
    findings = findings_since(call, sandbox, after)
    fired = [report.rule.id for report in reports_of(call, sandbox) if report.tally.hits]
    return {
        "calls": calls,
        "money": money,
        "findings": findings,
        "fired": fired,
        "due": [work.what.value for work in sandbox.schedule.earliest(_MOST_DUE)],
        "clock": sandbox.clock.mode.value,
        "timeline": "\n".join(await timeline(sandbox, after)),
    }


async def _settle(
    call: ControlCall[RunLook, RunLookQuery], sandbox: Sandbox, timeout: Micros
) -> None:
    """Wait until nothing is under way any more, so long at most: money that is on its way would be
    missing in what the run is judged by."""
    end = call.world.real_clock() + within_longest(timeout)
    while under_way(call, sandbox) and call.world.real_clock() < end:
        call.check_caller()
        await asyncio.sleep(_LOOK_AGAIN)


def _call(entry: JournalEntry, sandbox: Sandbox) -> Members:
    """A call, or what came due, in short: only what decides how it can fail, and what it moved. A
    charge by token can fail for an expired token, a batch that was taken in each of its rows."""
    status = status_of(entry)
    request: Mapping[str, object] = {}
    # Of most requests nothing more is asked, and to read them all takes longer than the rest.
    if b'"token"' in entry.raw or entry.op == _BATCH:
        request = _object_of(entry.raw)
    row_count = 0
    stated_count = request.get("count")
    is_taken_batch = entry.op == _BATCH and status in _TAKEN
    if is_taken_batch and isinstance(stated_count, int):
        row_count = stated_count
    charges = {event.subject_id for event in entry.events if event.subject == "charge"}
    for named in _ID.findall(entry.path.encode() + b" " + entry.raw):
        # A request may name other ids too: of customers, of batches.
        if named.decode() in sandbox.charges:
            charges.add(named.decode())
    return reply_of(
        "RunCallAnswer",
        entry,
        path=mask_printed(entry.path),
        status=status,
        webhooks=len(entry.webhooks),
        token=bool(request.get("token")),
        card=_card_of(entry),
        rows=row_count,
        charges=sorted(charges),
    )


_BATCH, _TAKEN = "batch.create", (200, 201)
"""The call that takes a batch, and the statuses that say that it was taken."""

_CARD_DIGITS = 10
"""The digits of a card that answers show: it is told by them from the other cards of a run."""


def _card_of(entry: JournalEntry) -> str:
    """The first six and the last four digits of the card that a call charged; empty without one. A
    scenario may have changed any part of an answer."""
    if b'"paymentInformation"' not in entry.answer:
        return ""
    paid = _object_of(entry.answer).get("paymentInformation")
    if not isinstance(paid, dict):
        return ""
    card = paid.get("card")
    if not isinstance(card, dict):
        return ""
    first_six, last_four = card.get("cardIin") or "", str(card.get("cardNumber"))[-4:]
    digits = f"{first_six}{last_four}"
    if len(digits) != _CARD_DIGITS or not digits.isdecimal():
        return ""
    return digits


def _object_of(text: bytes) -> Mapping[str, object]:
    """The JSON object that a body is; empty for anything else, as a client may send anything."""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    if not isinstance(value, dict):
        return {}
    return value


ROUTES = (
    ControlRoute(
        "POST",
        "/__admin/run",
        look,
        body=RunLook,
        query=RunLookQuery,
        keyed=True,
        reply="RunAnswer",
        example={"body": {"timeout": "5s", "finish": True}},
        summary="What a run of a command came to: calls in short, money, findings, timeline",
    ),
)
