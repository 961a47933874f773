"""What the bodies of control calls hold. Source: control document, Control API."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from mockserver.assumptions import Profile
from mockserver.domain.clock import FASTEST, ClockMode
from mockserver.domain.webhook_subscription import WebhookType
from mockserver.wire.base import HeaderText, one_of
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

    key: SecretKey = Field(description="secret key of the sandbox")
    name: Annotated[str, name_of(100)] = Field(description="name for people, shown to all")


class ClockSetting(ControlBody):
    """How time passes, and where it stands."""

    mode: one_of(ClockMode) | None = Field(None, description="real, manual or fast")  # type: ignore[valid-type]
    rate: Annotated[int, whole(1, FASTEST)] | None = Field(None, description="how fast in mode fast; 60 by default")
    now: DateTime | None = Field(None, description="not in the past of the sandbox")
    timeout: Duration | None = Field(None, description=_TIMEOUT)


class ClockAdvance(ControlBody):
    """How far time moves: one of ``by`` and ``to``."""

    by: Duration | None = Field(None, description="a duration such as 1h30m")
    to: DateTime | None = Field(None, description="an ISO date-time")
    timeout: Duration | None = Field(None, description=_TIMEOUT)


class ScenarioText(OpenBody):
    """A scenario as in a file, YAML or JSON."""


class StateDocument(OpenBody):
    """A sandbox as it was exported."""


class ForkTarget(ControlBody):
    """Where a copy of a sandbox goes."""

    to: SecretKey = Field(description="secret key of the copy; what it opened is lost")
    at: Annotated[int, whole()] | None = Field(None, description="journal entry after which the copy is made")


class Overrides(OpenBody):
    """Values of assumptions by key; null follows the profile again."""

    profile: one_of(Profile) | None = Field(None, description="documented or sdk")  # type: ignore[valid-type]


class Expectations(ControlBody):
    """What should have happened."""

    requests: list[Any] | None = Field(None, description="a list of {op, where, count: {exactly | min, max}}")
    findings: Annotated[str, word_of("none", "warning", "error")] | None = Field(
        None, description="the least severity that fails; none allows no finding at all"
    )
    rules: Switch = Field(False, description="whether every expect of a rule must be met too")


class Mark(ControlBody):
    """A place in the journal."""

    name: Annotated[str, name_of(100)] = Field(description="name of the mark, no number")


class WaitFor(ControlBody):
    """What to wait for, and how long."""

    for_: Any = Field(
        None,
        alias="for",
        description=(
            "{charge: {id, status}}, {batch: ...}, {webhook: {state, subject}}, {inbox: {name, count}} or "
            "{inbox: name}; all must hold"
        ),
    )
    timeout: Duration | None = Field(
        None, description="in real time, such as 5s (the default; with advance 30s), 10m at the longest"
    )
    advance: Switch = Field(
        False, description="move the clock to what is due next, and so on, instead of waiting for it"
    )
    within: Duration | None = Field(None, description="how far to move the clock, such as 31d (the default)")


class EmittedEvent(ControlBody):
    """A webhook with data of the caller's own."""

    type: one_of(WebhookType) = Field(description="what it is about")  # type: ignore[valid-type]
    event_type: str | None = Field(None, description="meta.eventType; <type>.status.changed by default")
    data: dict[str, Any] | None = Field(None, description="the data of the webhook")
    url: Address | None = Field(None, description="receiver; without it every webhook subscription of the type")
    authorization: HeaderText | None = Field(None, description="Authorization header for that receiver")
