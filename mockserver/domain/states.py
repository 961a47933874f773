"""The states and events of every kind of object, the tables of its legal moves, and what is told of
a move: journals are written and webhooks planned from that.

``states.md`` has the moves, as diagrams, and it is the law: the tables are read from it when the
package is imported, so a person and the program read the same page, and a diagram that names an
unknown state or event stops the import. What the diagrams do not show is refused by
``TransitionTable.advance``, the only way to change a state, before anything else changes.

Two kinds of enumeration stand below: states, in the words of the service where it shows them, and
events, what can happen to an object. An object that can do something new gets an event here and an
arrow in ``states.md``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar

from mockserver.domain.clock import Micros
from mockserver.domain.codes import Code
from mockserver.domain.errors import WrongState
from mockserver.domain.record import record

S = TypeVar("S", bound=StrEnum)
E = TypeVar("E", bound=StrEnum)


@record
class TransitionTable(Generic[S, E]):
    """How one kind of object begins (by the event None when it needs none) and moves; ``refusal``
    is the code of an illegal move, ``subject`` what it calls the object."""

    name: str
    subject: str
    begins: Mapping[E | None, S]
    moves: Mapping[S, Mapping[E, S]]
    refusal: Code

    def begin(self, event: E) -> S:
        """The first state of an object that ``event`` brings into being. Raises ``WrongState`` when
        none does."""
        state = self.begins.get(event)
        if state is None:
            raise WrongState(self.refusal, {"Status": f"no {self.subject} begins by being {event}"})
        return state

    def advance(self, state: S, event: E) -> S:
        """The state after ``event``. Raises ``WrongState`` naming the states in which the event
        would be legal."""
        after = self.moves[state].get(event)
        if after is None:
            legal = [before.value for before, row in self.moves.items() if event in row]
            words = f"got a {self.subject} in {state.value}, allowed in {' or '.join(legal)} only"
            raise WrongState(self.refusal, {"Status": words})
        return after

    def event_to(self, state: S) -> E | None:
        """The event that brings an object to a state, whatever it was in before; None when none
        does. For callers who name the state that they want, as a change of a subscription does, and
        not what is to happen."""
        for before, row in self.moves.items():
            for event, after in row.items():
                if after is state and before is not state:
                    return event
        return None


_ARROW = re.compile(
    r"^    (?P<before>\S+) --> (?P<after>[^\s:]+)(?:: (?P<event>\w+))?$", re.MULTILINE
)


def _table(
    name: str, states: type[S], events: type[E], refusal: Code, subject: str | None = None
) -> TransitionTable[S, E]:
    """The table of the diagram in ``states.md`` that has the name, or else that of its states, such
    as ``presence``, which several kinds of object share. Raises ``ValueError`` for a state or an
    event that there is not."""
    begins: dict[E | None, S] = {}
    moves: dict[S, dict[E, S]] = {}
    diagram = _diagrams().get(name) or _diagrams()[states.__name__.lower()]
    for arrow in _ARROW.finditer(diagram):
        before, after, event = arrow.group("before", "after", "event")
        if before == "[*]":
            begins[events(event) if event else None] = states(after)
        elif after == "[*]":
            moves[states(before)] = {}
        else:
            moves.setdefault(states(before), {})[events(event)] = states(after)
    return TransitionTable(name, subject or name.replace("_", " "), begins, moves, refusal)


@cache
def _diagrams() -> Mapping[str, str]:
    """The sections of ``states.md`` by their titles."""
    page = Path(__file__).with_name("states.md").read_text("utf-8")
    _, *sections = page.split("\n## ")
    diagrams = {}
    for section in sections:
        title, _, diagram = section.partition("\n")
        diagrams[title] = diagram
    return diagrams


def mermaid(table: TransitionTable[Any, Any], word: Callable[[str], str] = str) -> str:
    """The table as a Mermaid state diagram, for the documentation and the pages; ``word`` spells a
    state as the API does."""
    lines = ["stateDiagram-v2"]
    for event, state in table.begins.items():
        by = f": {event}" if event else ""
        lines.append(f"    [*] --> {word(state)}{by}")
    for state, row in table.moves.items():
        lines += [
            f"    {word(state)} --> {word(after)}: {event.value}" for event, after in row.items()
        ]
        if not row:
            lines.append(f"    {word(state)} --> [*]")
    return "\n".join(lines)


class ChargeState(StrEnum):
    """Status of a charge, in the published words (the document's ``Authorised`` is a matter of the
    wire)."""

    PENDING_CHECKOUT = "PENDING_CHECKOUT"
    PENDING = "PENDING"
    AUTHORISED = "AUTHORISE"
    SUCCESS = "SUCCESS"
    PARTIAL_REFUND = "PARTIAL_REFUND"
    REFUND = "REFUND"
    AUTHORISE_CANCELLED = "AUTHORISE_CANCELLED"
    FAILED = "FAILED"

    @classmethod
    def other_words(cls) -> dict[str, ChargeState]:
        """Spellings besides the values, in lower case (assumption ``charge.status.authorised``;
        settled fact ``charge.status_filter``)."""
        return {"authorised": cls.AUTHORISED}


CHARGE_STATE_BY_WORD: Mapping[str, ChargeState] = {
    **{state.value.lower(): state for state in ChargeState},
    **ChargeState.other_words(),
}
"""Charge states by every accepted spelling, in lower case (settled fact
``charge.status_filter``)."""

VaultState = StrEnum("VaultState", "STORED EXPIRED DELETED")
"""Whether a vault item still answers."""

CcvState = StrEnum("CcvState", "ABSENT HELD SPENT EXPIRED")
"""What became of the card verification value of a vault item."""

Presence = StrEnum("Presence", "ACTIVE REMOVED")
"""Whether a customer, a payment method, a provider or a webhook subscription is in use."""

DeliveryState = StrEnum("DeliveryState", "HELD WAITING SENDING DELIVERED GIVEN_UP")
"""Where a delivery stands."""


class SubscriptionState(StrEnum):
    """Status of a subscription; the order gives the index (published facts, 3)."""

    COMPLETE = "Complete"
    ACTIVE = "Active"
    CANCELLED = "Cancelled"
    SUSPENDED = "Suspended"


class TransferState(StrEnum):
    """Status of a transfer."""

    PENDING = "PENDING"
    SUCCESS = "SUCCESS"


class TokenState(StrEnum):
    """Whether a payment token can still be used."""

    ACTIVE = "ACTIVE"
    USED = "USED"
    EXPIRED = "EXPIRED"


class PayToState(StrEnum):
    """Status of a PayTo agreement."""

    PENDING = "PENDING"
    ACTIVE = "ACTIVE"
    SUSPENDED = "SUSPENDED"
    DECLINED = "DECLINED"
    EXPIRED = "EXPIRED"
    CANCELLED = "CANCELLED"


class NetworkTokenState(StrEnum):
    """Status of a network token."""

    ACTIVE = "ACTIVE"
    INACTIVE = "INACTIVE"
    SUSPENDED = "SUSPENDED"
    DELETED = "DELETED"


class BatchState(StrEnum):
    """Status of a batch and of each of its rows, in the documented words."""

    RECEIVED = "RECEIVED"
    CREATED = "CREATED"
    IN_PROGRESS = "IN_PROGRESS"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"


# What can happen to an object of each kind: the events of the diagrams.
ChargeEvent = StrEnum(
    "ChargeEvent",
    "AUTHORISED PAID PENDING CHALLENGED DECLINED CAPTURED VOIDED "
    "EXPIRED SETTLED RETURNED ABANDONED PARTLY_REFUNDED FULLY_REFUNDED REFUND_FAILED "
    "LAST_REFUND_FAILED "
    "CAPTURED_MORE REST_RELEASED",
)
VaultEvent = StrEnum("VaultEvent", "EXPIRED DELETED")
CcvEvent = StrEnum("CcvEvent", "PAID DELAY_PASSED ITEM_GONE")
PresenceEvent = StrEnum("PresenceEvent", "REMOVED")
SubscriptionEvent = StrEnum(
    "SubscriptionEvent", "CREATED UPDATED SUSPENDED RESUMED CANCELLED COMPLETED"
)
TransferEvent = StrEnum("TransferEvent", "ORDERED SETTLED")
TokenEvent = StrEnum("TokenEvent", "USED USED_UP EXPIRED")
PayToEvent = StrEnum("PayToEvent", "AGREED SUSPENDED DECLINED EXPIRED CANCELLED")
NetworkTokenEvent = StrEnum("NetworkTokenEvent", "ACTIVATED DEACTIVATED SUSPENDED DELETED")
BatchEvent = StrEnum("BatchEvent", "PREPARED STARTED FINISHED BROKE_DOWN")
BatchRowEvent = StrEnum("BatchRowEvent", "PREPARED STARTED PAID REFUSED RETURNED")
DeliveryEvent = StrEnum(
    "DeliveryEvent",
    "PLANNED HELD_BACK RELEASED CAME_DUE ACCEPTED FAILED EXHAUSTED WITHDRAWN RESENT",
)


CHARGE = _table("charge", ChargeState, ChargeEvent, Code.INVALID_CHARGE_STATUS)
VAULT = _table("vault", VaultState, VaultEvent, Code.INVALID_VAULT_ID, "vault item")
CCV = _table("ccv", CcvState, CcvEvent, Code.INVALID_CCV)
SUBSCRIPTION = _table(
    "subscription", SubscriptionState, SubscriptionEvent, Code.UNABLE_TO_UPDATE_SUBSCRIPTION
)
TRANSFER = _table("transfer", TransferState, TransferEvent, Code.INVALID_TRANSFER_ID)
TOKEN = _table("token", TokenState, TokenEvent, Code.INVALID_OR_EXPIRED_TOKEN, "payment token")
PAYTO = _table(
    "payto", PayToState, PayToEvent, Code.PAYTO_AGREEMENT_IS_NOT_ACTIVE, "PayTo agreement"
)
NETWORK_TOKEN = _table(
    "network_token", NetworkTokenState, NetworkTokenEvent, Code.INVALID_OR_EXPIRED_TOKEN
)
BATCH = _table("batch", BatchState, BatchEvent, Code.INVALID_BATCH)
BATCH_ROW = _table("batch_row", BatchState, BatchRowEvent, Code.INVALID_BATCH_DATA)
DELIVERY = _table("webhook", DeliveryState, DeliveryEvent, Code.INVALID_REFERENCE_ID)
CUSTOMER = _table("customer", Presence, PresenceEvent, Code.INVALID_CUSTOMER_ID_REMOVED)
PAYMENT_METHOD = _table(
    "payment_method", Presence, PresenceEvent, Code.INVALID_PAYMENT_METHOD_ID_REMOVED
)
PROVIDER = _table("provider", Presence, PresenceEvent, Code.INVALID_PROVIDER_ID)
WEBHOOK_SUBSCRIPTION = _table(
    "webhook_subscription", Presence, PresenceEvent, Code.UNABLE_TO_DELETE_WEBHOOK_SUBSCRIPTION
)

_IN_ORDER: tuple[TransitionTable[Any, Any], ...] = (
    *(CHARGE, VAULT, CCV, CUSTOMER, PAYMENT_METHOD, PROVIDER, TOKEN, PAYTO, NETWORK_TOKEN),
    *(SUBSCRIPTION, TRANSFER, WEBHOOK_SUBSCRIPTION, BATCH, BATCH_ROW, DELIVERY),
)
TABLES: Mapping[str, TransitionTable[Any, Any]] = {table.name: table for table in _IN_ORDER}

Subject = StrEnum(
    "Subject",
    "CHARGE VAULT CCV CUSTOMER PAYMENT_METHOD PROVIDER TOKEN "
    "PAYMENT_LINK BATCH SUBSCRIPTION PAYTO NETWORK_TOKEN TRANSFER WEBHOOK_SUBSCRIPTION",
)
"""The kind of object that an event is about."""


@record
class Event:
    """``subject`` ``subject_id`` went through ``what`` at ``at``; ``before`` is None for an object
    that began. With ``data`` nothing has moved: webhooks report it under the name ``what``, and of
    the object with these members."""

    subject: Subject
    subject_id: str
    what: str
    before: str | None
    after: str | None
    at: Micros
    data: Mapping[str, object] | None = None
