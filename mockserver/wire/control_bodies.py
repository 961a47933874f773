"""What the bodies and queries of control calls hold. Source: docs/control-api.md."""

from __future__ import annotations

from typing import Annotated, Any

from mockserver.assumptions import Profile
from mockserver.domain.clock import FASTEST, ClockMode
from mockserver.domain.webhook_subscription import WebhookType
from mockserver.wire.base import HeaderText, field, one_of
from mockserver.wire.control_fields import (
    Address,
    ControlBody,
    DateTime,
    Duration,
    OpenBody,
    SecretKey,
    Switch,
    name_of,
    whole,
    word_of,
)

_TIMEOUT = "how long it may take in real time; 10m by default and at most"


class NamedSandbox(ControlBody):
    """A name for the sandbox of a key."""

    key: SecretKey = field(description="secret key of the sandbox")
    name: Annotated[str, name_of(100)] = field(description="name for people, shown to all")


class ClockSetting(ControlBody):
    """How time passes, and where it stands."""

    mode: one_of(ClockMode) | None = field(None, description="real, manual or fast")  # type: ignore[valid-type]
    rate: Annotated[int, whole(1, FASTEST)] | None = field(None, description="how fast in mode fast; 60 by default")
    now: DateTime | None = field(None, description="not in the past of the sandbox")
    timeout: Duration | None = field(None, description=_TIMEOUT)


class ClockAdvance(ControlBody):
    """How far time moves: one of ``by`` and ``to``."""

    by: Duration | None = field(None, description="a duration such as 1h30m")
    to: DateTime | None = field(None, description="an ISO date-time")
    timeout: Duration | None = field(None, description=_TIMEOUT)


class ScenarioText(OpenBody):
    """A scenario as in a file, YAML or JSON, or the name of a shipped one: ``{"shipped": "three-ds-passed"}``."""


class StateDocument(OpenBody):
    """A sandbox as it was exported."""


class ForkTarget(ControlBody):
    """Where a copy of a sandbox goes."""

    to: SecretKey = field(description="secret key of the copy; what it opened is lost")
    at: Annotated[int, whole()] | None = field(None, description="journal entry after which the copy is made")


class Overrides(OpenBody):
    """Values of assumptions by key; null follows the profile again."""

    profile: one_of(Profile) | None = field(None, description="documented or sdk")  # type: ignore[valid-type]


class Expectations(ControlBody):
    """What should have happened."""

    requests: list[Any] | None = field(None, description="a list of {op, where, count: {exactly | min, max}}")
    findings: Annotated[str, word_of("none", "warning", "error")] | None = field(
        None, description="the least severity that fails; none allows no finding at all"
    )
    rules: Switch = field(False, description="whether every expect of a rule must be met too")


class Mark(ControlBody):
    """A place in the journal."""

    name: Annotated[str, name_of(100)] = field(description="name of the mark, no number")


class WaitFor(ControlBody):
    """What to wait for, and how long."""

    for_: Any = field(
        None,
        alias="for",
        description=(
            "{charge: {id, status}}, {batch: ...}, {webhook: {state, subject}}, {inbox: {name, count}} or "
            "{inbox: name}; all must hold"
        ),
    )
    timeout: Duration | None = field(
        None, description="in real time, such as 5s (the default; with advance 30s), 10m at the longest"
    )
    advance: Switch = field(
        False, description="move the clock to what is due next, and so on, instead of waiting for it"
    )
    within: Duration | None = field(None, description="how far to move the clock, such as 31d (the default)")


class EmittedEvent(ControlBody):
    """A webhook with data of the caller's own."""

    type: one_of(WebhookType) = field(description="what it is about")  # type: ignore[valid-type]
    event_type: str | None = field(None, description="meta.eventType; <type>.status.changed by default")
    data: dict[str, Any] | None = field(None, description="the data of the webhook")
    url: Address | None = field(None, description="receiver; without it every webhook subscription of the type")
    authorization: HeaderText | None = field(None, description="Authorization header for that receiver")


_Whole = Annotated[int, whole(digits=True)]
_Page = Annotated[int, whole(1, 1_000, digits=True)]
_UNDO = "keep the old content for POST /__admin/undo"


class SinceQuery(ControlBody):
    """From where on."""

    since: str | None = field(None, description="after this mark, or after the journal entry of this number")


class UndoQuery(ControlBody):
    """Whether it can be undone."""

    undo: Switch = field(False, description=_UNDO)


class SandboxQuery(ControlBody):
    """Which sandboxes."""

    limit: Annotated[int, whole(1, 10_000, digits=True)] = field(1_000, description="at most this many")
    skip: _Whole = field(0, description="leave out this many of those that were used last")


class ResetQuery(ControlBody):
    """What is emptied."""

    all: Switch = field(False, description="every sandbox of the server; no key is needed then")
    scenario: Switch = field(False, description="also forget its own scenarios and overrides")
    undo: Switch = field(False, description=_UNDO)


class ScenarioQuery(ControlBody):
    """Which scenario."""

    name: str | None = field(None, description="name of the scenario when its text gives none")


class ScenarioRemoval(ControlBody):
    """Which scenario."""

    name: str | None = field(None, description="the only scenario to take away")


class DueQuery(ControlBody):
    """How much of what is to come."""

    limit: Annotated[int, whole(1, 100, digits=True)] = field(10, description="at most this many")


class CompareQuery(ControlBody):
    """With what a sandbox is compared."""

    with_: str = field("", alias="with", description="id of the other sandbox")


class StateQuery(ControlBody):
    """What an export holds."""

    secrets: Switch = field(False, description="card numbers and ccv too")


class JournalQuery(SinceQuery):
    """Which entries of the journal."""

    q: str = field(
        "",
        description=(
            'words, "phrases" and operators that must all hold, a hyphen before one excludes: status:4xx '
            "op:charge.create rule:x code:15 ref:order-5 id:3f2a amount:12.50 currency:AUD method:POST "
            "path:/charge/card since:10m is:failed|declined|refused|fault|finding|due|repeat|scripted; other words are "
            "looked for in all that is shown"
        ),
    )
    op: str | None = field(None, description="operation by name or glob, such as charge.create or charge.*")
    status: str | None = field(None, description="status of the answer, or its class such as 4xx")
    rule: str | None = field(None, description="rule that fired")
    method: str | None = field(None, description="HTTP method")
    path: str | None = field(None, description="path of the request")
    subject: str | None = field(None, description="id of an object that changed")
    after: _Whole | None = field(
        None, description="entries after this number, oldest first; without it the newest ones"
    )
    limit: _Page = field(100, description="at most this many entries")


class TimelineQuery(SinceQuery):
    """Which lines of the journal."""

    q: str = field("", description="a search as in the journal")
    after: _Whole | None = field(None, description="lines after this number; without it the newest ones")
    before: _Whole = field(0, description="the newest lines before this number")
    limit: _Whole = field(2_000, description="at most this many, 2000")


class ObjectQuery(ControlBody):
    """Which objects."""

    kind: str | None = field(None, description="kind of object, such as charge; without it the numbers alone")
    q: str = field(
        "",
        description="words that must all hold, and state:SUCCESS ref:order-5 id:3f2a amount:12.50 currency:AUD "
        "is:finding",
    )
    skip: _Whole = field(0, description="leave out this many of the newest")
    limit: _Whole = field(1_000, description="at most this many, 1000")


class FindingQuery(SinceQuery):
    """Which findings."""

    severity: str | None = field(None, description="at least note, warning or error")
    finding: str | None = field(None, description="one kind, such as double-charge")
    raised: _Whole = field(
        0, description="raised, or raised again, after so many raises: the field raised of an earlier answer"
    )


class DeliveryQuery(ControlBody):
    """Which deliveries of webhooks."""

    state: str | None = field(None, description="held, waiting, sending, delivered or given_up")
    type: str | None = field(None, description="meta.type, such as transaction")
    event_type: str | None = field(None, description="meta.eventType, such as transaction.status.changed")
    subject: str | None = field(None, description="id of the object that it is about")
    url: str | None = field(None, description="receiver")
    message_id: str | None = field(None, description="meta.messageId")
    limit: _Page = field(100, description="at most this many, the newest ones")
    skip: _Whole = field(0, description="leave out this many of the newest")
    changed: _Whole = field(
        0, description="to which something has happened since: the field changes of an earlier answer"
    )
    bodies: Switch = field(True, description="whether bodies are shown")


class InboxQuery(ControlBody):
    """Which messages of an inbox."""

    after: _Whole = field(0, description="messages after the one of this id")
    limit: Annotated[int, whole(1, 100_000, digits=True)] = field(
        100_000, description="at most this many, the newest ones"
    )
    bodies: Switch = field(True, description="whether bodies and headers are shown")
