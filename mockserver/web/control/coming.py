"""What time will cause next (``/__admin/clock/due``)."""

from __future__ import annotations

from collections.abc import Mapping
from heapq import nsmallest

from mockserver.domain.clock import duration_text
from mockserver.engine.facts import KINDS
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import SUBJECTS, Due, ScheduledWork
from mockserver.web.control.call import ControlCall
from mockserver.wire.dates import moment

_WORDS: Mapping[Due, str] = {
    Due.VAULT_EXPIRY: "a vault item expires",
    Due.CCV_DELAY: "a ccv is deleted",
    Due.AUTHORISATION_EXPIRY: "an authorisation expires",
    Due.CHALLENGE_EXPIRY: "a 3-D Secure challenge expires",
    Due.SETTLEMENT: "a payment settles",
    Due.RETURN: "a payment is returned",
    Due.REFUND_SETTLEMENT: "a refund settles",
    Due.REFUND_RETURN: "a refund fails",
    Due.TRANSFER_SETTLEMENT: "a transfer settles",
    Due.SUBSCRIPTION_RENEWAL: "a subscription takes its next payment",
    Due.TOKEN_EXPIRY: "a token expires",
    Due.PAYTO: "a PayTo agreement moves on",
    Due.LATER: "a rule acts later",
    Due.WEBHOOK: "a webhook is sent",
    Due.WEBHOOK_HELD: "a held webhook goes out",
    Due.BATCH_PREPARED: "a batch is prepared",
    Due.BATCH_STARTED: "a batch starts",
    Due.BATCH_ROWS: "rows of a batch are taken",
}


def due(call: ControlCall) -> tuple[int, object]:
    """What comes due next, the earliest first, at most ``limit``; ``pending`` counts all."""
    sandbox = call.sandbox()
    entries = sandbox.schedule.entries
    now = sandbox.now
    return 200, {
        "now": moment(now),
        "pending": len(entries),
        "due": [
            {
                "at": moment(one.at),
                "in": duration_text(max(one.at - now, 0)),
                "what": one.what.value,
                "words": _WORDS[one.what],
                "kind": _kind(sandbox, one),
                "id": one.subject,
            }
            for one in nsmallest(call.query.limit, entries)
        ],
    }


def _kind(sandbox: Sandbox, one: ScheduledWork) -> str | None:
    """The kind of the object that it is about, as paths name it; ``webhook`` for a delivery."""
    if one.what in (Due.WEBHOOK, Due.WEBHOOK_HELD):
        return "webhook"
    table = SUBJECTS[one.what]
    if table is not None:
        return next((kind for kind in KINDS if table in (kind, f"{kind}s", f"{kind}es")), None)
    return next((kind for kind, (_, rows) in KINDS.items() if rows(sandbox).get(one.subject) is not None), None)
