"""What a sandbox tells of itself to those who observe it: calls of the client, how their answers
ended, and webhooks.

They are plain values, told once each, in the order in which they happen. Who is told can judge by
them, and can change nothing (``mockserver/engine/observer.py``). Instants named ``at`` are sandbox
time, those named ``real`` the machine's, both in microseconds.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any

from mockserver.domain.charge import Charge
from mockserver.domain.clock import Micros
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


MOVES = frozenset({"charge.capture", "charge.void", "charge.refund"})
"""Operations that move the money of a charge which is there."""

ALSO_TAKEN = frozenset({"batch.create", "subscription.create", "subscription.update"})
"""Operations that do not refuse every amount that is not exact."""


@record
class Call:
    """One call of the client, as it was decided.

    What was asked: ``entry`` is its number in the journal; ``request`` has camelCase names,
    ``path`` the placeholders of the path; ``text`` is the body, ``where`` path and query, all as
    sent; ``connection`` are the address and the port from which it came, None where nothing tells.

    How it was read: ``unknown`` are the fields that the service ignores, each with a hint;
    ``undocumented`` what it took in a form that its document does not show, by field, in words;
    ``misread`` the parameters that it reads other than they are written, with what was got and what
    is wanted. ``rows`` is equal for batches whose rows mean the same, None where they were not
    read.

    What it is about: ``charge`` is the charge that it names or has made, as it now is;
    ``instrument`` what it wanted to charge where it has made none, as far as that is stored;
    ``subject`` the id of what it names or has made. ``currency`` is that of an amount that names
    none, as far as it is known; of a refused call, and of those ``ALSO_TAKEN``.

    How it was answered: ``code`` is that of our refusal. ``is_ours`` says that no scenario put
    another answer in the place of ours, ``is_repeat`` that it was given the first answer of its key
    again, ``is_late`` that it showed an earlier state, ``is_partial`` that the provider approved a
    part only. ``retry_after`` is the pause that the answer asks for, ``may_retry`` says that an
    error in the place of ours called itself retryable.

    When: ``is_open`` says that its answer is still on the way and that ``Observer.ended`` follows;
    ``waited_as`` is the number, below 0, under which ``Observer.arrived`` has told of it, 0 when it
    was acted on at once. ``pace`` is the instant by which reads are counted, None where they are
    not.
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
    misread: Mapping[str, str] = field(default_factory=dict)
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
    connection: tuple[str, int] | None = None

    @property
    def is_public(self) -> bool:
        """Whether a browser may have sent it: it shows the public key alone."""
        return "x-publickey" in self.headers and "x-secretkey" not in self.headers


@record
class WebhookTry:
    """The newest try of a webhook. ``is_genuine`` is False when the scenario signed it wrongly, or
    not at all; ``is_scripted`` says that the scenario, or an inbox of the sandbox, played the
    receiver. ``entry`` is the newest of the journal."""

    at: Micros
    delivery: Delivery
    is_genuine: bool
    is_scripted: bool
    entry: int

    @property
    def is_taken(self) -> bool:
        """Whether the client's receiver took it."""
        return self.delivery.tries[-1].is_accepted and not self.is_scripted
