"""One step of a sandbox: a request, or one piece of due work. Gathers what the edges must know about it afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from mockserver.domain.clock import Micros
from mockserver.domain.events import Event
from mockserver.scenario.attempt import Attempt
from mockserver.scenario.director import Decision
from mockserver.scenario.provider_outcome import ProviderOutcome
from mockserver.scenario.rule import key_text
from mockserver.scenario.transport import Transport

_NOTHING: Mapping[str, str] = MappingProxyType({})


class Unreached(Exception):
    """A rule of the provider's stage stops the operation before anything has happened."""

    def __init__(self, fault: Transport) -> None:
        self.fault = fault
        super().__init__(fault.kind.value)


class Step:
    """What came in, which rules decided, what happened, and how long the providers took (``latency``).

    ``request`` has camelCase keys, ``path`` the placeholders of the route; ``about`` holds the stored objects that
    the step is about, by kind; ``attempts`` what rules were asked with; ``webhooks`` the ids of the deliveries that it
    caused; ``warnings`` what a person should know. ``answers`` distinguishes a request, whose answer a fault can spoil,
    from work that time causes. ``answered`` is False while an answer is still to be given, and webhooks wait for it;
    ``urgent`` when some must go before it. ``row`` is the row of a batch, from 1, and ``scripted`` what its batch's
    script says that the provider answers. ``is_repeat`` says that its idempotency key was used before: it was given the
    first answer again, or refused. ``watched`` is the journal entry of a request whose answer is still on its way, for
    the findings; 0 otherwise. ``pause`` is how long the client is asked to wait before it asks again. ``call`` is the
    number of the request among those of its operation, None for work that time causes and for set-up calls. ``ruled``
    says that a rule has fired: in most steps none has, and the decisions need not be searched.
    """

    __slots__ = (
        "about",
        "answered",
        "answers",
        "assumed",
        "attempts",
        "call",
        "decisions",
        "events",
        "headers",
        "ignored",
        "is_repeat",
        "latency",
        "op",
        "path",
        "pause",
        "request",
        "row",
        "ruled",
        "scripted",
        "urgent",
        "warnings",
        "watched",
        "webhooks",
    )

    def __init__(
        self,
        op: str,
        *,
        answers: bool = False,
        headers: Mapping[str, str] = _NOTHING,
        path: Mapping[str, str] = _NOTHING,
        row: int | None = None,
        scripted: ProviderOutcome | None = None,
    ) -> None:
        self.op = op
        self.answers = answers
        self.headers = headers
        self.path = path
        self.row = row
        self.scripted = scripted
        self.request: Mapping[str, object] = _NOTHING
        self.about: dict[str, object] = {}
        self.attempts: tuple[Attempt, ...] = ()
        self.decisions: tuple[Decision, ...] = ()
        self.ruled = False
        self.events: tuple[Event, ...] = ()
        self.assumed: list[str] = []
        self.webhooks: tuple[str, ...] = ()
        self.ignored: tuple[str, ...] = ()
        self.warnings: tuple[str, ...] = ()
        self.latency: Micros = 0
        self.answered = True
        self.urgent = False
        self.is_repeat = False
        self.watched = 0
        self.pause: Micros = 0
        self.call: int | None = None

    def note(self, decision: Decision) -> None:
        """Remember a decision."""
        self.decisions += (decision,)
        self.ruled = self.ruled or decision.rule is not None

    @property
    def named(self) -> str:
        """The object that the path names, as rules count by it; empty when it names none."""
        return key_text(next(iter(self.path.values()), None))
