"""Paths that ``when`` and ``key`` may name: whether they lead anywhere, how each is read from an attempt, and what its
values are."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from mockserver.domain.cards import TEST_CARDS, Brand
from mockserver.domain.clock import iso
from mockserver.domain.errors import nearest
from mockserver.domain.reading import camel, snake
from mockserver.domain.record import record
from mockserver.domain.zones import Zone
from mockserver.scenario.attempt import Attempt
from mockserver.scenario.matching import NUMBER, TEXT, Kind, Reader
from mockserver.scenario.operations import ALL_OPERATIONS, UNREQUESTED
from mockserver.scenario.requests import Field, fields_of, parts_of
from mockserver.scenario.stored import STORED, followed, kind_of

_SECRET = frozenset({"cardnumber", "ccv", "cvv", "paymentdata"})
_SECRET_HEADERS = frozenset({"x-secretkey", "x-publickey", "authorization"})
_MOST_PARTS = 12

CARD_FACTS: Mapping[str, str] = {
    "brand": "a card scheme: " + ", ".join(brand.value for brand in Brand),
    "bin": "up to 6 leading digits",
    "last4": "the last four digits",
    "test": "the name of a published test card: " + ", ".join(TEST_CARDS),
}
"""What may be asked of a card, and what is allowed there. A full number never."""


@record
class Known:
    """A path that leads somewhere: how it is read, and of what kind its values are."""

    read: Reader
    kind: Kind = TEXT


_PLAIN: Mapping[str, Known] = {
    "op": Known(lambda attempt: attempt.op),
    "source": Known(lambda attempt: attempt.source),
    "provider": Known(lambda attempt: attempt.provider),
    "attempt": Known(lambda attempt: attempt.attempt, NUMBER),
    "card.brand": Known(lambda attempt: attempt.card.brand.value if attempt.card else None),
    "card.bin": Known(lambda attempt: attempt.card.iin if attempt.card else None),
    "card.last4": Known(lambda attempt: attempt.card.last4 if attempt.card else None),
    "card.test": Known(lambda attempt: attempt.card.test_name if attempt.card else None),
    "bank_account.accountNumber": Known(lambda attempt: attempt.bank_account),
    "batch.row": Known(lambda attempt: attempt.row, NUMBER),
}


DAY_OF_CLOCK = "clock.day"
"""The day of the call, by which only a key counts: ``when`` has ``clock``."""


def day_reader(zone: Zone) -> Reader:
    """Reads the day of a call (2031-03-01) in a zone."""
    return lambda attempt: iso(zone.wall(attempt.now))[:10]


def known_path(path: str, operations: Collection[str] = ALL_OPERATIONS) -> Known:
    """What a path means in some operations. Raises ``ValueError`` with what is allowed: a path that is unknown, secret,
    or leads nowhere in all of them."""
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
        case _:
            pass
    if path in _PLAIN:
        return _PLAIN[path]
    known = ["request.", "header.", "state.", "call", DAY_OF_CLOCK, *_PLAIN]
    raise ValueError(
        f"got '{path[:60]}', wanted request.<path>, header.<name>, state.<path>, op, call, source, provider, attempt, "
        f"{DAY_OF_CLOCK} or card.<{'|'.join(CARD_FACTS)}>{nearest(path, known)}"
    )


def _of_header(name: str, operations: Collection[str]) -> Known:
    folded = name.lower()
    if folded in _SECRET_HEADERS:
        raise ValueError(f"header '{name}' is a secret and cannot be tested or counted by")
    if operations and UNREQUESTED.issuperset(operations):
        raise ValueError(f"no request comes in for {' and '.join(sorted(operations))}, so there are no headers")
    return Known(lambda attempt: attempt.headers.get(folded))


def _of_call(operations: Collection[str]) -> Known:
    if operations and UNREQUESTED.issuperset(operations):
        raise ValueError(f"no request comes in for {' and '.join(sorted(operations))}, so no call is counted")
    # A payment on a hosted page is a charge.create by second name, but no call of that operation.
    return Known(lambda attempt: attempt.call if (attempt.also or attempt.op) in operations else None, NUMBER)


def _of_state(path: str, rest: str) -> Known:
    _refuse_secret(path, rest.rsplit(".", 1)[-1])
    kind, dot, below = rest.partition(".")
    entity = STORED.get(snake(kind))
    if entity is None:
        kinds = [camel(one) for one in STORED]
        raise ValueError(
            f"got '{path[:60]}', wanted state.<kind>.<field> with one of {', '.join(kinds)}{nearest(kind, kinds)}"
        )
    return Known(lambda attempt: attempt.state(rest), kind_of(followed(entity, below)) if dot else TEXT)


def _of_request(path: str, rest: str, operations: Collection[str]) -> Known:
    parts = rest.split(".")
    if not all(parts) or len(parts) > _MOST_PARTS:
        raise ValueError(f"got '{path[:60]}', wanted names joined by single dots, such as request.metadata.tier")
    first = parts[0]
    _refuse_secret(path, "ccv" if rest.lower() == "paymentinformation" else parts[-1])
    kind = _field_at(path, parts, operations)
    if first == "metadata" and len(parts) == 2:
        return Known(_metadata_reader(parts[1]))
    if kind is TEXT and len(parts) == 1:
        return Known(lambda attempt: attempt.request.get(first))
    return Known(lambda attempt: kind.read(_walk(attempt.request, parts)), kind)


def _field_at(path: str, parts: Sequence[str], operations: Collection[str]) -> Kind:
    """The kind of the field that the parts of a path lead to. Raises ``ValueError`` where they lead nowhere."""
    known = fields_of(operations)
    place: Field | None = None
    for number, part in enumerate(parts):
        if place is not None and place.is_map:
            return TEXT
        if place is not None and place.is_list and part.isdecimal():
            place = Field(place.kind)
            continue
        if part not in known:
            raise ValueError(_nowhere(path, parts[:number], part, known, operations))
        place, known = known[part], parts_of(part)
    return place.kind if place is not None and not place.is_list else TEXT


def _nowhere(
    path: str, above: Sequence[str], part: str, known: Mapping[str, Field], operations: Collection[str]
) -> str:
    got = f"got '{path[:60]}', which is not a field of a request (names are camelCase)"
    hint = nearest(part[:40], known)
    if hint:
        return got + hint
    if above:
        return f"{got}; in request.{'.'.join(above)} there is {', '.join(known) or 'nothing'}"
    if len(operations) > 1:
        return f"{got}, of no operation that the rule names"
    return f"{got}; in {next(iter(operations), 'no operation')} there is {', '.join(known) or 'nothing'}"


def _refuse_secret(path: str, name: str) -> None:
    if name.lower() in _SECRET:
        raise ValueError(
            f"got '{path[:60]}': a card number or ccv cannot be tested or counted by; "
            "use card.test, card.bin or card.last4"
        )


def _metadata_reader(name: str) -> Reader:
    """Metadata keys match in any letter case: a client library is known to change it (published facts, 1.2)."""
    folded = name.lower()

    def read(attempt: Attempt) -> object:
        metadata = attempt.request.get("metadata")
        if not isinstance(metadata, Mapping):
            return None
        found = metadata.get(name)
        return found if found is not None else next((metadata[key] for key in metadata if key.lower() == folded), None)

    return read


def _walk(value: object, parts: Sequence[str]) -> object:
    for part in parts:
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, (list, tuple)) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value
