"""The built-in receiver: whatever arrives at ``/__inbox/<name>`` is kept, and its signature
checked.

A test without a receiver of its own reads what its webhooks were here, and a browser can look. What
this server sends to itself does not go over a socket (``name_in``): it arrives in the step in which
it is due, so that it is there as soon as the clock has been moved.

Source: docs/webhooks.md (``/__inbox``); docs/control-api.md (``/__admin/inbox``).
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from enum import StrEnum
from hmac import compare_digest
from urllib.parse import SplitResult, unquote, urlsplit

from mockserver.domain.clock import Micros
from mockserver.domain.delivery import sign
from mockserver.domain.record import record, replace
from mockserver.engine.journal import QuotaMember

PREFIX = "/__inbox/"
SIGNATURE = "x-payfurl-signature"
MOST_INBOXES = 1_000
"""Inboxes of one sandbox; what arrives at a further one is counted as dropped."""

LONGEST_BODY = 1_000_000
"""Bytes kept of one body."""

_ARRIVAL = 2_000
"""Bytes that an arrival takes besides its texts."""

_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
_PORTS = {"http": 80, "https": 443}


SignatureCheck = StrEnum("SignatureCheck", "VALID INVALID MISSING")
"""What the signature of an arrival is worth."""


@record
class InboxMessage:
    """One thing that arrived, at an instant of sandbox time; header names are in lower case."""

    number: int
    at: Micros
    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    signature: SignatureCheck = SignatureCheck.MISSING


def size_of(arrival: InboxMessage) -> int:
    """Roughly the memory that an arrival takes, in bytes."""
    texts = sum(len(name) + len(value) for name, value in arrival.headers.items())
    return _ARRIVAL + len(arrival.body) + texts + len(arrival.path) + len(arrival.query)


class Inboxes(QuotaMember):
    """The inboxes of one sandbox, by name; each keeps the newest ``limit`` arrivals.

    ``size`` is roughly what they take, in bytes; ``quota`` what they share with the inboxes and
    journals of other sandboxes. ``on_change`` is called with the number of each arrival that comes,
    with its inbox, or goes (None)."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit
        self.number = 0
        self.dropped = 0
        self._by_name: dict[str, deque[InboxMessage]] = {}
        self.on_change: Callable[[int, tuple[str, InboxMessage] | None], None] | None = None

    def __iter__(self) -> Iterator[tuple[str, InboxMessage]]:
        """Every arrival with the name of its inbox."""
        return ((name, arrival) for name, kept in self._by_name.items() for arrival in kept)

    def arrivals(self, name: str) -> list[InboxMessage]:
        """What has arrived at an inbox, oldest first."""
        return list(self._by_name.get(name, ()))

    def counts(self) -> dict[str, int]:
        """Every inbox that has messages, and how much of it is kept."""
        return {name: len(kept) for name, kept in self._by_name.items()}

    def clear(self, name: str) -> int:
        """Forget what has arrived; how many arrivals that were."""
        count = len(self._by_name.get(name, ()))
        for _ in range(count):
            self._drop_oldest(name)
        return count

    def give_up_oldest(self) -> bool:
        """Drop the oldest arrival of all inboxes; False when there is none."""
        if not self._by_name:
            return False
        # An inbox that is empty is forgotten, so each has one that is its oldest.
        holder_of_oldest = min(self._by_name, key=lambda name: self._by_name[name][0].number)
        self.dropped += 1
        self._drop_oldest(holder_of_oldest)
        return True

    def _drop_oldest(self, name: str) -> None:
        """Forget the oldest arrival of an inbox."""
        gone = self._by_name[name].popleft()
        if not self._by_name[name]:
            del self._by_name[name]
        if self.on_change is not None:
            self.on_change(gone.number, None)
        self.resize(-size_of(gone))

    def put(self, key: str, name: str, came: InboxMessage) -> InboxMessage | None:
        """Take something in as it came, give it a number and check its signature with the webhook
        key; None when there are too many inboxes."""
        if name not in self._by_name and len(self._by_name) >= MOST_INBOXES:
            self.dropped += 1
            return None
        self.number += 1
        lower = {header.lower(): value for header, value in came.headers.items()}
        checked = _signature_check(key, came.body, lower.get(SIGNATURE))
        arrival = replace(
            came,
            number=self.number,
            headers=lower,
            body=came.body[:LONGEST_BODY],
            signature=checked,
        )
        self.keep(name, arrival)
        return arrival

    def keep(self, name: str, arrival: InboxMessage) -> None:
        """Keep an arrival; the oldest beyond the limit goes."""
        if not self.limit:
            self.dropped += 1
            return
        arrivals = self._by_name.setdefault(name, deque())
        # Added first: an inbox that is empty is forgotten.
        arrivals.append(arrival)
        if len(arrivals) > self.limit:
            self.dropped += 1
            self._drop_oldest(name)
        if self.on_change is not None:
            self.on_change(arrival.number, (name, arrival))
        self.resize(size_of(arrival))


def _signature_check(key: str, body: bytes, signature: str | None) -> SignatureCheck:
    """What the signature of a body is worth, as a careful receiver would check it."""
    if signature is None:
        return SignatureCheck.MISSING
    # In constant time: how long it takes tells nobody how much of a forged one is right.
    if compare_digest(sign(key, body).encode(), signature.encode()):
        return SignatureCheck.VALID
    return SignatureCheck.INVALID


def name_in(url: str, public_url: str) -> str | None:
    """The inbox of this server that an address names, or None; all names of this machine count as
    one, as a shop's settings may say ``localhost`` where the server calls itself 127.0.0.1."""
    try:
        there, here = urlsplit(url), urlsplit(public_url)
        is_same_port = _port(there) == _port(here)
    except ValueError:
        return None
    is_same_host = there.hostname == here.hostname or {there.hostname, here.hostname} <= _LOCAL
    if not is_same_host or not is_same_port or not there.path.startswith(PREFIX):
        return None
    name = unquote(there.path.removeprefix(PREFIX))
    if not name or "/" in name:
        return None
    return name


def _port(address: SplitResult) -> int | None:
    """The port that an address names, or that its scheme means. Raises ``ValueError``."""
    if address.port is not None:
        return address.port
    return _PORTS.get(address.scheme)
