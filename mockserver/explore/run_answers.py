"""What the sandbox answers about a run (``POST /__admin/run``), as far as an exploration reads it.

An exploration is a client of the control API like any other, so that it may judge a server that
runs elsewhere. What it reads stands here with its types: a member that is renamed there, and not
here, is then found by the type checker and not in a report of a thousand runs.
"""

from collections.abc import Sequence
from typing import NotRequired, TypedDict


class ChargeRow(TypedDict):
    """A charge of an order, beside its figures (``Figures.of``). ``journal`` are the entries of the
    requests that moved it, oldest first; ``in_doubt``: the client does not know how one of them
    ended."""

    chargeId: str
    added: str
    journal: Sequence[int]
    in_doubt: bool


class OrderRow(TypedDict):
    """An order in one currency, beside its figures. It is known by one of ``charge``,
    ``subscription`` and ``reference``; the two others are None. ``peak`` is the most that its
    customer missed at once."""

    charge: str | None
    subscription: str | None
    reference: str | None
    currency: str
    peak: object
    charges: Sequence[ChargeRow]


class OpenCallRow(TypedDict):
    """A call whose end the client does not know; its ``line`` begins with the operation."""

    line: str


class BooksRow(TypedDict):
    """The money of a sandbox (``GET /__admin/books``) at the instant ``now``."""

    now: str
    orders: Sequence[OrderRow]
    in_doubt: Sequence[OpenCallRow]


class EvidenceRow(TypedDict):
    """A line of what a finding rests on: at a journal entry, about a webhook, or neither."""

    entry: int | None
    webhook: str | None
    line: str


class FindingRow(TypedDict):
    """A finding. ``about`` says by kind and id what it is about; ``informed``: the client had
    learnt how its first call had ended before it acted again."""

    finding: str
    severity: str
    title: str
    why: str
    advice: str
    about: dict[str, str]
    evidence: Sequence[EvidenceRow]
    count: int
    informed: NotRequired[bool]


class CallRow(TypedDict):
    """A request that came, or what came due. ``call`` is its number among the calls of ``op``; None
    for what no client has called, and for what was refused unread. ``webhooks`` is how many it has
    caused, ``charges`` are those that it moved or named."""

    id: int
    op: str
    call: int | None
    status: int | None
    path: str
    webhooks: int
    token: bool
    card: str
    rows: int
    charges: Sequence[str]


class DecisionRow(TypedDict):
    """A rule that was asked in a call, at a ``stage`` of it. ``rule`` is None where none has
    decided; ``choice`` is the number of what it has chosen, None where that was nothing; ``delay``
    the latency that was drawn."""

    stage: str
    rule: str | None
    choice: int | None
    delay: object


class EventRow(TypedDict):
    """How an object was moved, by its id and its state ``after`` that."""

    id: str
    after: str


class EntryRow(TypedDict):
    """An entry of the journal (``GET /__admin/journal``). ``row`` is the number of a row of a
    batch, ``call`` as in ``CallRow``."""

    id: int
    op: str
    call: int | None
    row: NotRequired[int | None]
    decisions: Sequence[DecisionRow]
    events: Sequence[EventRow]
    answer: NotRequired[object]
