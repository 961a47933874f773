"""One step of a sandbox: a request, or one piece of due work. Gathers what the edges must know about it afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mockserver.domain.clock import Micros
from mockserver.domain.events import Event
from mockserver.scenario.attempt import Attempt
from mockserver.scenario.director import Decision
from mockserver.scenario.outcome import ProviderOutcome, Transport


class Unreached(Exception):
    """A rule of the provider's stage stops the operation before anything has happened."""

    def __init__(self, fault: Transport) -> None:
        self.fault = fault
        super().__init__(fault.kind.value)


@dataclass(slots=True)
class Turn:
    """What came in, which rules decided, what happened, and how long the providers took (``latency``).

    ``request`` has camelCase keys, ``path`` the placeholders of the route; ``about`` holds the stored objects that
    the step is about, by kind; ``attempts`` what rules were asked with; ``webhooks`` the ids of the deliveries that it
    caused; ``warnings`` what a person should be told. ``answers`` tells a request, whose answer a fault can spoil,
    from work that time causes. ``answered`` is False while an answer is still to be given, and webhooks wait for it;
    ``urgent`` when some must go before it. ``row`` is the row of a batch, from 1, and ``scripted`` what its batch's
    script says that the provider answers. ``told`` are faults of the form of a request that must be refused: only a
    check of the rest.
    """

    op: str
    answers: bool = False
    request: Mapping[str, object] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    path: Mapping[str, str] = field(default_factory=dict)
    about: dict[str, object] = field(default_factory=dict)
    attempts: list[Attempt] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)
    ignored: tuple[str, ...] = ()
    webhooks: list[str] = field(default_factory=list)
    warnings: tuple[str, ...] = ()
    latency: Micros = 0
    told: Mapping[str, str] = field(default_factory=dict)
    answered: bool = True
    urgent: bool = False
    row: int | None = None
    scripted: ProviderOutcome | None = None
