"""One step of a sandbox: a request, or one piece of due work. Gathers what the edges must know about it afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mockserver.domain.clock import Micros
from mockserver.domain.events import Event
from mockserver.scenario.director import Decision


@dataclass(slots=True)
class Turn:
    """What came in, which rules decided, what happened, and how long the providers took (``latency``).

    ``request`` has camelCase keys; ``about`` holds the stored objects that the step is about, by kind.
    """

    op: str
    request: Mapping[str, object] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    about: dict[str, object] = field(default_factory=dict)
    decisions: list[Decision] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)
    ignored: tuple[str, ...] = ()
    latency: Micros = 0
