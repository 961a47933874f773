"""The facts that findings are judged by: calls of the client, how their answers ended, and webhooks; and the limits
(scenario key ``findings``).

Instants named ``at`` are sandbox time, those named ``real`` the machine's, both in microseconds.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any

from mockserver.domain.charge import Charge
from mockserver.domain.clock import DAY, SECOND, Micros
from mockserver.domain.delivery import Delivery
from mockserver.domain.record import record
from mockserver.domain.sources import Instrument
from mockserver.domain.states import Event


class UncertainResult(StrEnum):
    """Why the client cannot know how a call ended."""

    RESET = "the connection was reset"
    CUT = "the answer was cut short"
    GARBLED = "the answer was unreadable"
    TIMED_OUT = "no answer came"
    BAD_GATEWAY = "the answer was a server error"
    HUNG_UP = "the client hung up before the answer"


@record
class Call:
    """One call of the client, as it was decided.

    ``entry`` is its number in the journal; ``request`` has camelCase names, ``path`` the placeholders of the path,
    ``text`` is the body, ``where`` path and query, all as sent. ``code`` is that of our refusal.
    ``charge`` is the charge that it is about or has made, as it now is; ``instrument`` what it wanted to charge where
    it has made none, as far as that is stored; ``subject`` the id of what it is about or has made.
    ``currency`` is that of an amount that names none, as far as it is known. ``unknown`` are the fields that the
    service ignores, each with a hint; ``undocumented`` what it took in a form that its document does
    not show, by field, in words. ``pace`` is the instant by which reads are counted, None where they are
    not. ``is_open`` says that its answer is still on the way and that ``Watch.ended`` follows; ``waited_as`` is what
    ``Watch.arrived`` gave it, 0 when it was acted on at once.
    ``is_repeat`` says that it was given the first answer of its key again, ``is_late`` that it showed an earlier
    state, ``is_ours`` that no scenario put another answer in the place of ours, ``is_partial`` that the
    provider approved a part only. ``retry_after`` is the pause that the answer asks for, ``may_retry`` says
    that an error in the place of ours called itself retryable. ``rows`` is equal for batches
    whose rows mean the same, None where they were not read.
    """

    entry: int
    at: Micros
    real: Micros
    op: str
    request: Mapping[str, object]
    path: Mapping[str, str]
    text: bytes = b""
    where: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    answer: Container[Any] = b""
    code: int | None = None
    doubt: UncertainResult | None = None
    charge: Charge | None = None
    instrument: Instrument | None = None
    subject: str | None = None
    events: Sequence[Event] = ()
    currency: str | None = None
    unknown: Mapping[str, str] | None = None
    undocumented: Mapping[str, str] = field(default_factory=dict)
    pace: Micros | None = None
    is_open: bool = False
    waited_as: int = 0
    is_repeat: bool = False
    is_late: bool = False
    is_ours: bool = True
    is_partial: bool = False
    is_browser: bool = False
    retry_after: Micros | None = None
    may_retry: bool = False
    rows: str | None = None

    @property
    def is_public(self) -> bool:
        return "x-publickey" in self.headers and "x-secretkey" not in self.headers


@record
class WebhookTry:
    """The newest try of a webhook. ``is_genuine`` is False when the scenario signed it wrongly, or not at all;
    ``is_scripted`` says that the scenario, or an inbox of the sandbox, played the receiver. ``entry`` is the newest of
    the journal."""

    at: Micros
    delivery: Delivery
    is_genuine: bool
    is_scripted: bool
    entry: int

    @property
    def is_taken(self) -> bool:
        """Whether the client's receiver took it."""
        return self.delivery.tries[-1].is_accepted and not self.is_scripted


@record
class Policy:
    """``allow`` are kinds that are not raised. More than ``retry_limit`` declined tries of a card within
    ``retry_window`` (sandbox time) are too many. ``timeout`` is the longest wait for an answer and ``slow_receiver``
    the longest time of a receiver, both real; ``poll_limit`` are the reads of one object in a second. As they are
    published, unless given."""

    allow: frozenset[str] = frozenset()
    retry_limit: int = 15
    retry_window: Micros = 30 * DAY
    timeout: Micros = 30 * SECOND
    slow_receiver: Micros = 5 * SECOND
    poll_limit: int = 10
