"""What rules are asked about: an attempt, and the stage of an operation at which they are asked.

A rule sees what is known at its stage: as a connection is made nothing but that, while a body is
sent the head of the request, later all of it, and a provider only when one is asked. What costs
something to find (stored values, other calls) is a function, called by the few rules that test it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from mockserver.domain.cards import CardNumber
from mockserver.domain.clock import Micros
from mockserver.domain.record import mutable

Stage = StrEnum("Stage", "CONNECT UPLOAD ARRIVAL PROVIDER")
"""When a rule is asked: as a connection is made, as the body of a request is sent, as the request
has arrived, as a provider is asked to act."""


class UnderWay(NamedTuple):
    """Another call of the sandbox: its operation, and what resolves its paths of stored values."""

    op: str
    state: Callable[[str], object]


def _nothing_stored(path: str) -> None:
    """What ``state`` gives where no object is stored."""


@mutable
class Attempt:
    """The facts that ``when`` and ``key`` may name.

    ``op`` is the operation; ``also`` a second name of the same step (a batch row is a
    ``charge.create`` and a ``batch.row``). ``request`` has camelCase keys and exact decimals;
    ``headers`` lower-case names. ``state`` resolves a dotted path such as ``charge.status`` to a
    stored value, or None. ``subject`` is the default counting key: the card, method or object in
    question; ``row`` the number of a batch's row, from 1; ``bank_account`` the account number that
    is finally charged, whatever the source; ``call`` the number of the request among those of its
    operation in the sandbox, from 1, None where no request came in; ``connection`` the one on which
    it came; ``under_way`` gives the other calls that are not answered yet.
    """

    op: str
    now: Micros
    also: str | None = None
    source: str | None = None
    provider: str | None = None
    attempt: int = 1
    card: CardNumber | None = None
    request: Mapping[str, object] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    state: Callable[[str], object] = _nothing_stored
    subject: str | None = None
    row: int | None = None
    bank_account: str | None = None
    call: int | None = None
    connection: str | None = None
    under_way: Callable[[], Iterable[UnderWay]] = tuple


Reader: TypeAlias = Callable[[Attempt], object]
"""Reads one fact of an attempt; None where it has none."""
