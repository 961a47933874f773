"""The calls of a run: which of them can fail (``points_of``), and how those of two runs differ
(``differences``).

A rule finds a call by its operation and its number among the calls of that operation. What comes
due without a call, such as a row of a batch or a webhook, has no such number: a rule counts these
for itself, and here they are counted as the sandbox counts them.

Source: docs/explore.md, What it runs.
"""

from collections import Counter
from collections.abc import Iterable

from mockserver.explore.failures import InjectionPoint
from mockserver.explore.run_answers import CallRow
from mockserver.scenario.operations import OPERATIONS, READS

_ROWS_DUE, RENEWAL_DUE = "clock.batch_rows", "clock.subscription_renewal"
"""Operations of the journal under which rows of batches and renewals come due."""


def points_of(calls: Iterable[CallRow]) -> list[InjectionPoint]:
    """The calls of a run (``calls`` of ``POST /__admin/run``) that can fail, in their order, and
    what came due: rules know both by their number, which is counted here as the sandbox does.
    Requests that are not operations of the service, and those refused unread, are
    left out."""
    calls = list(calls)
    points: list[InjectionPoint] = []
    rows = webhooks = renewals = 0
    # Rows that are not taken before the command ends cannot fail.
    have_rows_run = any(call["op"] == _ROWS_DUE for call in calls)
    for call in calls:
        point = _point_of(call)
        if point is not None:
            points.append(point)
            if have_rows_run:
                # Rows are numbered through all batches of a sandbox.
                points += [InjectionPoint("batch.row", rows + row) for row in _telling_rows(point)]
            rows += point.rows
        elif call["webhooks"] and call["call"] is None:
            # Webhooks are numbered too; those of a call fail at the call.
            points.append(InjectionPoint("webhook.deliver", webhooks + 1, notifies=True))
        if call["op"] == RENEWAL_DUE:
            renewals += 1
            points.append(InjectionPoint("subscription.renew", renewals))
        webhooks += call["webhooks"]
    return points


def _point_of(call: CallRow) -> InjectionPoint | None:
    """A call as it can fail; None for what is no call of an operation of the service."""
    if call["call"] is None or call["op"] not in OPERATIONS:
        return None
    return InjectionPoint(
        call["op"],
        call["call"],
        notifies=call["webhooks"] > 0,
        uses=_needed(call),
        card=call["card"],
        rows=call["rows"],
    )


def _telling_rows(batch: InjectionPoint) -> Iterable[int]:
    """The rows of a batch that are tried, each once: the first, the one in the middle and the last.
    Programs that go wrong at a row do so at an end, or at any."""
    if not batch.rows:
        return ()
    return dict.fromkeys((1, (batch.rows + 1) // 2, batch.rows))


def _needed(call: CallRow) -> str:
    """What must still be there for a call: a hold, a token, or a vault item. Only such a call fails
    when that has lapsed."""
    if call["op"] in ("charge.capture", "charge.void"):
        return "hold"
    if call["token"]:
        return "token"
    # What makes an item needs none.
    if "/vault" in call["path"] and call["op"] != "vault.create":
        return "vault"
    return ""


def differences(first: Iterable[CallRow], second: Iterable[CallRow]) -> list[str]:
    """What two runs did otherwise, in words: calls, by operation and status, that one of them
    lacks. The order does not count: parallel clients have none. Nor does how often a read came: a
    client that polls asks until it has ended."""
    before, after = _times_of_calls(first), _times_of_calls(second)
    found = []
    for what in dict.fromkeys((*before, *after)):
        if before[what] != after[what]:
            times = f"{_times(before[what])} in the first run, {_times(after[what])} in the second"
            found.append(f"{what}: {times}")
    return found


def _times_of_calls(calls: Iterable[CallRow]) -> Counter[str]:
    """How often each call came, a read once at most."""
    times = Counter[str]()
    for call in calls:
        if call["call"] is None:
            continue
        what = f"{call['op']} answered {call['status']}"
        if call["op"] in READS:
            times[what] = 1
        else:
            times[what] += 1
    return times


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")
