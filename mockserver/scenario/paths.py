"""Paths that ``when`` and ``key`` may name: whether they lead anywhere, how each is read from an
attempt, and what its values are.

A path means a field of the request (``request_fields``), a header, something stored
(``stored_fields``), or one of the facts of a call that have names of their own. A misspelt path is
refused when the file is read, with the nearest name: a rule on it would never fire, and nobody
would know why. Card numbers, ccvs and keys have no path: what a rule tests, the journal quotes.

Sources: docs/spec/service.md, Endpoints; docs/spec/published-facts.md, 1.2, 1.3, 6.
"""

from collections.abc import Collection, Mapping, Sequence
from operator import attrgetter

from mockserver.domain.clock import Zone, iso
from mockserver.domain.errors import nearest
from mockserver.domain.reading import camel, snake
from mockserver.domain.record import record
from mockserver.scenario.attempt import Attempt, Reader
from mockserver.scenario.kinds import LENGTH, NUMBER, TEXT, Kind, Length
from mockserver.scenario.operations import ALL_OPERATIONS, STATE, UNREQUESTED
from mockserver.scenario.request_fields import CARD_DATA, field_at, is_secret, secret_refusal
from mockserver.scenario.stored_fields import STORED, followed, kind_of, names_of

SECRET_HEADERS = frozenset({"x-secretkey", "x-publickey", "authorization"})
_MOST_PARTS = 12

CARD_FACTS = ("brand", "bin", "last4", "test")
"""What may be asked of a card. A full number never."""


@record
class Known:
    """A path that leads somewhere: how it is read, and of what kind its values are."""

    read: Reader
    kind: Kind = TEXT


def _of_card(fact: str) -> Reader:
    """Reads a fact of the card, None where the attempt has no card."""
    read_fact = attrgetter(fact)

    def read(attempt: Attempt) -> object:
        if attempt.card is None:
            return None
        return read_fact(attempt.card)

    return read


_AGED = (
    "charge",
    "token",
    "payment_method",
    "vault",
    "customer",
    "subscription",
    "batch",
    "payment_link",
    "transfer",
)
"""Kinds of objects that have an age: of several that a call is about the first counts."""


def age_of(attempt: Attempt) -> Length | None:
    """How long ago the object was made that a call is about; None where there is none."""
    for kind in _AGED:
        added = attempt.state(f"{kind}.added")
        if isinstance(added, int):
            return Length(attempt.now - added)
    return None


_PLAIN: Mapping[str, Known] = {
    "op": Known(attrgetter("op")),
    "source": Known(attrgetter("source")),
    "provider": Known(attrgetter("provider")),
    "attempt": Known(attrgetter("attempt"), NUMBER),
    "card.brand": Known(_of_card("brand.value")),
    "card.bin": Known(_of_card("iin")),
    "card.last4": Known(_of_card("last4")),
    "card.test": Known(_of_card("test_name")),
    "bank_account.accountNumber": Known(attrgetter("bank_account")),
    "batch.row": Known(attrgetter("row"), NUMBER),
    "age": Known(age_of, LENGTH),
    "connection": Known(attrgetter("connection")),
}
"""Paths that mean the same in every operation."""


def stored_in(operations: Collection[str]) -> list[str]:
    """The kinds of stored objects that are there in any of some operations."""
    there: set[str] = set()
    for op in operations:
        there |= STATE.get(op, frozenset())
    return [kind for kind in STORED if kind in there]


def has_age(operations: Collection[str]) -> bool:
    """Whether any of some operations is about an object that has an age."""
    return not set(_AGED).isdisjoint(stored_in(operations))


def check_there(path: str, operations: Collection[str]) -> None:
    """Raise ``ValueError`` for a path to a stored object that is there in none of some operations,
    with those that are: the rule would never fire."""
    group, _, rest = path.partition(".")
    if group not in ("age", "state"):
        return
    named = " or ".join(sorted(operations))
    if group == "age":
        if not has_age(operations):
            raise ValueError(f"in {named} there is no object, so nothing has an age")
        return
    kind = snake(rest.partition(".")[0])
    there = stored_in(operations)
    if kind not in there:
        allowed = ", ".join(f"state.{camel(name)}" for name in there) or "no stored object"
        raise ValueError(f"in {named} there is no {kind.replace('_', ' ')}: there is {allowed}")


def overlap(kind: str) -> Reader:
    """Reads the kind of an object where another call is under way that is about the same one."""
    # The first field of an entity is its id.
    path = f"{kind}.{next(iter(names_of(STORED[kind])))}"

    def read(attempt: Attempt) -> str | None:
        """The kind, which is what ``overlaps: charge`` wants, or None."""
        own = attempt.state(path)
        if own is None:
            return None
        is_shared = any(own == other.state(path) for other in attempt.under_way())
        return kind if is_shared else None

    return read


DAY_OF_CLOCK = "clock.day"
"""The day of the call, by which only a key counts: ``when`` has ``clock``."""


NAMED = ("call", "in_flight", DAY_OF_CLOCK, *_PLAIN)
"""Paths besides those of requests, headers and stored objects."""


def day_reader(zone: Zone) -> Reader:
    """Reads the day of a call (2031-03-01) in a zone: a shop's limits begin anew at its own
    midnight."""

    def read(attempt: Attempt) -> str:
        return iso(zone.wall(attempt.now))[:10]

    return read


def known_path(path: str, operations: Collection[str] = ALL_OPERATIONS) -> Known:
    """What a path means in some operations. Raises ``ValueError`` with what is allowed: a path that
    is unknown, secret, or leads nowhere in all of them."""
    group, dot, rest = path.partition(".")
    match group:
        case "request" if dot:
            return _of_request(path, rest, operations)
        case "header" if rest:
            return _of_header(rest, operations)
        case "state" if rest:
            return _of_state(path, rest)
        case "call" if not dot:
            return _of_call(operations)
        case "in_flight" if not dot:
            return _of_calls_in_flight(operations)
        case _:
            pass
    if path in _PLAIN:
        return _PLAIN[path]
    known = ["request.", "header.", "state.", *NAMED]
    raise ValueError(
        f"got '{path[:60]}', wanted request.<path>, header.<name>, state.<path>, op, call, "
        "source, provider, attempt, "
        f"{DAY_OF_CLOCK} or card.<{'|'.join(CARD_FACTS)}>{nearest(path, known)}"
    )


def _of_header(name: str, operations: Collection[str]) -> Known:
    """A header of the request, in any letter case."""
    folded = name.lower()
    if folded in SECRET_HEADERS:
        raise ValueError(f"header '{name}' is a secret and cannot be tested or counted by")
    if operations and UNREQUESTED.issuperset(operations):
        raise ValueError(
            f"no request comes in for {' and '.join(sorted(operations))}, so there are no headers"
        )

    def read(attempt: Attempt) -> str | None:
        return attempt.headers.get(folded)

    return Known(read)


def _of_calls_in_flight(operations: Collection[str]) -> Known:
    """How many calls of some operations are not answered yet, this one included."""

    def read(attempt: Attempt) -> int:
        return 1 + sum(other.op in operations for other in attempt.under_way())

    return Known(read, NUMBER)


def _of_call(operations: Collection[str]) -> Known:
    """The number of the call, where it is one of these operations: a call of another may come to
    the same rule by its second name, and is counted there."""
    if operations and UNREQUESTED.issuperset(operations):
        raise ValueError(
            f"no request comes in for {' and '.join(sorted(operations))}, so no call is counted"
        )

    def read(attempt: Attempt) -> int | None:
        # A payment on a hosted page is a charge.create by second name, but no call of that
        # operation.
        called = attempt.also or attempt.op
        return attempt.call if called in operations else None

    return Known(read, NUMBER)


def _of_state(path: str, rest: str) -> Known:
    """A field of a stored object, or whether there is one. Objects are read when a rule asks, by
    the resolver of the attempt."""
    if is_secret(rest.rpartition(".")[2]):
        raise secret_refusal(path)
    kind, dot, below = rest.partition(".")
    entity = STORED.get(snake(kind))
    if entity is None:
        kinds = list(map(camel, STORED))
        raise ValueError(
            f"got '{path[:60]}', wanted state.<kind>.<field> with one of "
            f"{', '.join(kinds)}{nearest(kind, kinds)}"
        )
    # A path to the object itself asks whether there is one.
    value_kind = kind_of(followed(entity, below)) if dot else TEXT

    def read(attempt: Attempt) -> object:
        return attempt.state(rest)

    return Known(read, value_kind)


def _of_request(path: str, rest: str, operations: Collection[str]) -> Known:
    """A field of the request, however deep."""
    parts = rest.split(".")
    if not all(parts) or len(parts) > _MOST_PARTS:
        raise ValueError(
            f"got '{path[:60]}', wanted names joined by single dots, such as request.metadata.tier"
        )
    is_all_card_data = rest.lower() == CARD_DATA.lower()
    if is_all_card_data or is_secret(parts[-1]):
        raise secret_refusal(path)
    kind = field_at(path, parts, operations)
    first = parts[0]
    if first == "metadata" and len(parts) == 2:
        return Known(_metadata_reader(parts[1]))

    def read_text(attempt: Attempt) -> object:
        return attempt.request.get(first)

    def read_below(attempt: Attempt) -> object:
        return kind.read(walked(attempt.request, parts))

    # Most tests are of texts at the top: nothing to walk, and nothing to read.
    if kind is TEXT and len(parts) == 1:
        return Known(read_text)
    return Known(read_below, kind)


def _metadata_reader(name: str) -> Reader:
    """Metadata keys match in any letter case: a client library is known to change it (published
    facts, 1.2)."""
    folded = name.lower()

    def read(attempt: Attempt) -> object:
        """The value under the very name, else under the first that differs by letter case."""
        metadata = attempt.request.get("metadata")
        if not isinstance(metadata, dict):
            return None
        as_written: object = metadata.get(name)
        if as_written is not None:
            return as_written
        for key, value in metadata.items():
            if key.lower() == folded:
                return value
        return None

    return read


def walked(value: object, parts: Sequence[str]) -> object:
    """What the parts of a path lead to inside a value; None where they lead nowhere."""
    for part in parts:
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, (list, tuple)) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value
