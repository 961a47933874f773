"""The two halves of a step: what came in, which never changes, and what came of it, gathered for
the answer, the journal and the findings, so that nothing need be read out of an answer again. They
go with the step; what is kept of them is a ``journal.JournalEntry``."""

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Annotated

from mockserver.domain.clock import Micros
from mockserver.domain.constraints import Within
from mockserver.domain.errors import Problem
from mockserver.domain.record import entity, mutable, record
from mockserver.domain.states import Event
from mockserver.scenario.director import Decision
from mockserver.scenario.provider_outcome import ProviderOutcome
from mockserver.scenario.rule import key_text
from mockserver.scenario.transport import Transport

MOST_FIRSTS = 1_000
"""First answers that a sandbox keeps by idempotency keys, and as many for replays; the oldest are
forgotten beyond."""

_NOTHING: Mapping[str, str] = MappingProxyType({})


class Unreached(Exception):
    """A rule of the provider's stage stops the operation before anything has happened."""

    def __init__(self, fault: Transport) -> None:
        self.fault = fault
        super().__init__(fault.kind.value)


@record
class Asked:
    """What came in. ``request`` has camelCase keys, ``path`` the placeholders of the route.
    ``answers`` distinguishes a request, whose answer a fault can spoil, from work that time causes.
    ``call`` is the number of the request among those of its operation, None for work that time
    causes and for set-up calls; ``connection`` the one on which it came, where rules look at that.
    ``row`` is the row of a batch, from 1, and ``scripted`` what its batch's script says that the
    provider answers. ``is_setup`` marks a part of a set-up, which rules of scenarios do not
    hear."""

    op: str
    answers: bool = False
    headers: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    path: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    request: Mapping[str, object] = field(default_factory=lambda: _NOTHING)
    call: int | None = None
    connection: str | None = None
    row: int | None = None
    scripted: ProviderOutcome | None = None
    is_setup: bool = False

    @property
    def named(self) -> str:
        """The object that the path names, as rules count by it; empty when it names none."""
        return key_text(next(iter(self.path.values()), None))


@mutable
class First:
    """A request that acted, and its answer. ``asked`` is a digest of the request, None in an import
    without secrets: then any request of the operation is taken for the same. ``about`` names the
    stored objects that it was about, each by its kind and id. ``is_answered`` is False while the
    answer is on its way."""

    op: str
    at: Micros
    status: Annotated[int, Within(200, 599)]
    answer: str
    asked: str | None = field(default=None, repr=False)
    about: tuple[tuple[str, str], ...] = ()
    is_answered: bool = field(default=True, init=False)


@mutable
class FirstAnswer:
    """The answer to the first call of a key, and the stored objects that it was about, each by its
    kind and id."""

    status: Annotated[int, Within(200, 599)]
    text: str
    about: tuple[tuple[str, str], ...] = ()


@entity
class Result:
    """What came of it: which rules decided, what happened, and how long the providers took
    (``latency``).

    ``about`` holds the stored objects that the step is about, by kind; ``problem`` the error object
    that was answered; ``ignored`` the unknown fields of the request; ``undocumented`` what in it
    has a form that the document does not show, by field, in words; ``webhooks`` the ids of the
    deliveries that it caused; ``warnings`` what a person should know; ``assumed`` the assumptions
    that shaped it. ``answered`` is False while an answer is still to be given, and webhooks wait
    for it; ``urgent`` when some must go before it. ``is_repeat`` says that its idempotency key was
    used before: it was given the first answer again, or refused. ``watched`` is the journal entry
    of a request whose answer is still on its way, for the findings; of one that is held back and
    has no entry yet the number of its arrival, below 0; 0 otherwise. ``pause`` is how long the
    client is asked to wait before it asks again. ``ruled`` says that a rule has fired: in most
    steps none has, and the decisions need not be searched. ``first`` is what its idempotency key
    keeps of it.
    """

    about: dict[str, object] = field(default_factory=dict)
    decisions: tuple[Decision, ...] = ()
    ruled: bool = False
    events: tuple[Event, ...] = ()
    assumed: list[str] = field(default_factory=list)
    problem: Problem | None = None
    webhooks: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    latency: Micros = 0
    answered: bool = True
    urgent: bool = False
    is_repeat: bool = False
    watched: int = 0
    pause: Micros = 0
    first: First | None = None
    undocumented: dict[str, str] = field(default_factory=dict)

    @property
    def lag(self) -> Micros:
        """How far behind the step sees; 0 when it sees the present. The first rule that says so
        counts: it is the one of the arrival, before anything is read."""
        for decision in self.decisions:
            if decision.outcome.lag:
                return decision.outcome.lag
        return 0

    def note(self, decision: Decision) -> None:
        """Remember a decision."""
        self.decisions += (*decision.passing, decision)
        self.ruled = self.ruled or decision.rule is not None

    def end_answer(self) -> None:
        """The answer has been given, or cannot be any more."""
        self.answered = True
        if self.first is not None:
            self.first.is_answered = True
