"""Paths that ``when`` and ``key`` may name: whether they lead anywhere, how each is read from an
attempt, and what its values are.

``requests.txt`` says what the request of each operation holds, field by field, and how the API
reads it; ``python -m tools.docs`` prints it from the models of the routes. ``unrequested.txt`` says
the same of operations that no request asks for (``data`` and ``meta`` are what a webhook says).
Each has a paragraph of operations and one of fields that have fields of their own; each name is
followed by its fields. What is stored is read from the entities themselves. So a misspelt path is
refused when the file is read, with the nearest name: a rule on it would never fire, and nobody
would know why. Card numbers, ccvs and keys have no path: what a rule tests, the journal quotes.
Sources:
docs/spec/service.md, Endpoints; docs/spec/published-facts.md, 1.2, 1.3, 6.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from functools import cache
from operator import attrgetter
from pathlib import Path
from pkgutil import resolve_name
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from mockserver.domain.batch import Batch
from mockserver.domain.charge import Charge
from mockserver.domain.clock import Zone, iso
from mockserver.domain.customer import Customer
from mockserver.domain.errors import nearest
from mockserver.domain.network_token import NetworkToken
from mockserver.domain.payment_link import PaymentLink
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.payto import Agreement
from mockserver.domain.provider import Provider
from mockserver.domain.reading import camel, snake
from mockserver.domain.record import record
from mockserver.domain.subscription import Subscription
from mockserver.domain.token import Token
from mockserver.domain.transfer import Transfer
from mockserver.domain.vault import VaultItem
from mockserver.domain.webhook_subscription import WebhookSubscription
from mockserver.scenario.attempt import Attempt, Reader
from mockserver.scenario.kinds import FLAG, LENGTH, NUMBER, TEXT, Kind, Length, choice
from mockserver.scenario.operations import ALL_OPERATIONS, STATE, UNREQUESTED

STORED: Mapping[str, type] = {
    "charge": Charge,
    "vault": VaultItem,
    "payment_method": PaymentMethod,
    "provider": Provider,
    "transfer": Transfer,
    "subscription": Subscription,
    "webhook_subscription": WebhookSubscription,
    "batch": Batch,
    "payment_link": PaymentLink,
    "customer": Customer,
    "token": Token,
    "network_token": NetworkToken,
    "payto": Agreement,
}
"""Kinds of objects that a path may begin with."""

ALIASES: Mapping[str, str] = {
    "refunded_amount": "refunded",
    "authorisation_amount": "authorised",
    "date_added": "added",
    "success_date": "succeeded",
    "void_date": "voided",
    "provider_id": "provider.provider_id",
    "expire_date": "expires",
    "type": "instrument.type",
    "status": "state",
}
"""Wire names, in snake case, that the entities spell otherwise."""

SECRET = frozenset({"number", "ccv"})


@cache
def names_of(annotation: Any) -> Mapping[str, Any]:
    """The names that a path may go on with from a value of a type, in camelCase, and the types that
    they lead to: its fields and properties, under their own names and those of the wire.

    ``*`` stands for any name; secrets have none, nor has ``seq``, the place in a table.
    """
    origin, args = get_origin(annotation), get_args(annotation)
    if _is_union(annotation):
        names: dict[str, Any] = {}
        for arg in args:
            names |= names_of(arg)
        return names
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"*": args[1]}
    if not is_dataclass(annotation):
        return {}
    hints = get_type_hints(annotation)
    hidden = {*SECRET, "seq"}
    stored = [field.name for field in fields(annotation)]
    known: dict[str, Any] = {
        name: hints[name] for name in stored if name not in hidden and not name.startswith("_")
    }
    for name, member in vars(annotation).items():
        if isinstance(member, property):
            known[name] = get_type_hints(member.fget)["return"]
    for alias, path in ALIASES.items():
        first, *others = path.split(".")
        kind = known.get(first)
        for part in others:
            kind = names_of(kind).get(camel(part))
        if kind is not None:
            known.setdefault(alias, kind)
    return {camel(name): kind for name, kind in known.items()}


def followed(annotation: Any, path: str) -> Any:
    """The type to which a dotted path leads from a value of a type. Raises ``ValueError`` with the
    nearest name where it leads nowhere."""
    for part in path.split("."):
        known = names_of(annotation)
        name = camel(snake(part))
        if name not in known and "*" not in known:
            allowed = f", allowed: {', '.join(known)}" if known else ", nothing lies below it"
            # Of a charge ``id`` means ``chargeId``.
            with_type = f"{getattr(annotation, '__name__', '')}{part[:40]}"
            hint = nearest(part[:40], known) or nearest(with_type, known)
            raise ValueError(f"{path[:60]}: no such field{hint}{allowed}")
        annotation = known.get(name, known.get("*"))
    return annotation


def kind_of(annotation: Any) -> Kind:
    """How tests read the values of a type. One that may hold several types is compared as text:
    none of them is right for all."""
    types = {annotation}
    if _is_union(annotation):
        types = {arg for arg in get_args(annotation) if arg is not NoneType}
    if len(types) > 1:
        return TEXT
    (only,) = types
    if only is bool:
        return FLAG
    if only in (int, Decimal):
        return NUMBER
    if isinstance(only, type) and issubclass(only, Enum):
        return choice(only)
    return TEXT


def _is_union(annotation: Any) -> bool:
    """Both ways to write a union have a type of their own."""
    return get_origin(annotation) in (Union, UnionType)


_FOLDER = Path(__file__).parent


@record
class Field:
    """One field: how its value is read, whether it is a list of such, whether it is a map of any
    names."""

    kind: Kind
    is_list: bool = False
    is_map: bool = False


def fields_of(operations: Collection[str]) -> Mapping[str, Field]:
    """The fields that the request of any of some operations may have. Where two read one
    differently, it is a text: a rule for both has one test, which compares what was sent."""
    by_name: dict[str, Field] = {}
    for op in operations:
        for name, field in parts_of(op).items():
            if by_name.get(name, field).kind is not field.kind:
                field = Field(TEXT, field.is_list, field.is_map)
            by_name[name] = field
    return by_name


@cache
def parts_of(name: str) -> Mapping[str, Field]:
    """The fields of the request of an operation, or inside the field of a name; none where it has
    no such."""
    return dict(map(_field, _table().get(name, "").split()))


def testable(op: str) -> Iterator[str]:
    """The fields of the request of an operation that rules may name: of one that holds card data
    those inside it."""
    for name in fields_of({op}):
        if name != _CARD_DATA:
            if name.lower() not in _SECRET:
                yield name
            continue
        for part in parts_of(name):
            if part.lower() not in _SECRET:
                yield f"{name}.{part}"


@cache
def _table() -> Mapping[str, str]:
    """The fields of each operation and of each field, as the two files say them."""
    text = "".join(
        (_FOLDER / f"{name}.txt").read_text("utf-8") for name in ("requests", "unrequested")
    )
    rows = [line.partition(" ") for line in text.replace("\n  ", " ").splitlines() if line]
    return {name: words for name, _, words in rows}


_KIND_BY_MARK = {"#": NUMBER, "?": FLAG}


def _field(word: str) -> tuple[str, Field]:
    """A field by its mark: ``#`` a number, ``?`` a flag, ``*`` a map, ``[]`` a list; after ``!``
    the members of an enumeration of the domain that it may hold."""
    word, _, chosen = word.partition("!")
    bare = word.rstrip("#?*[]")
    mark = word.removeprefix(bare)
    kind = _choice(chosen) if chosen else _KIND_BY_MARK.get(mark, TEXT)
    return bare, Field(kind, is_list=mark == "[]", is_map=mark == "*")


@cache
def _choice(name: str) -> Kind:
    """The kind of an enumeration, by the names of its module and class. One for all fields that
    have it: kinds are compared by identity."""
    # The colon says where the module ends, so that no module of the name of the class is looked
    # for.
    return choice(resolve_name(f"mockserver.domain.{name.replace('.', ':', 1)}"))


_CARD_DATA = "paymentInformation"
_SECRET = frozenset({"cardnumber", "ccv", "cvv", "paymentdata"})
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
        return None if attempt.card is None else read_fact(attempt.card)

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
    there = frozenset[str]().union(*(STATE.get(op, frozenset()) for op in operations))
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
    kind, there = snake(rest.partition(".")[0]), stored_in(operations)
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
        return attempt.call if (attempt.also or attempt.op) in operations else None

    return Known(read, NUMBER)


def _of_state(path: str, rest: str) -> Known:
    """A field of a stored object, or whether there is one. Objects are read when a rule asks, by
    the resolver of the attempt."""
    _refuse_secret(path, rest.rsplit(".", 1)[-1])
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
    first = parts[0]
    if rest.lower() == _CARD_DATA.lower():
        # All of it holds the number and the ccv.
        _refuse_secret(path, "ccv")
    _refuse_secret(path, parts[-1])
    kind = _field_at(path, parts, operations)
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


def _field_at(path: str, parts: Sequence[str], operations: Collection[str]) -> Kind:
    """The kind of the field that the parts of a path lead to. Raises ``ValueError`` where they lead
    nowhere."""
    known = fields_of(operations)
    field: Field | None = None
    for number, part in enumerate(parts):
        if field is not None and field.is_map:
            # The names of a map are the caller's own, and so is what lies below them.
            return TEXT
        if field is not None and field.is_list and part.isdecimal():
            # An item of a list by its place: the next part is a field of that.
            field = Field(field.kind)
            continue
        if part not in known:
            raise ValueError(_nowhere(path, parts[:number], part, known, operations))
        field, known = known[part], parts_of(part)
    if field is None or field.is_list:
        return TEXT
    return field.kind


def _nowhere(
    path: str,
    above: Sequence[str],
    part: str,
    known: Mapping[str, Field],
    operations: Collection[str],
) -> str:
    """The refusal of a path of which ``part`` is not among the fields that are ``known`` there,
    below ``above``."""
    got = f"got '{path[:60]}', which is not a field of a request (names are camelCase)"
    hint = nearest(part[:40], known)
    if hint:
        return got + hint
    if above:
        return f"{got}; in request.{'.'.join(above)} there is {', '.join(known) or 'nothing'}"
    if len(operations) > 1:
        return f"{got}, of no operation that the rule names"
    operation = next(iter(operations), "no operation")
    return f"{got}; in {operation} there is {', '.join(known) or 'nothing'}"


def _refuse_secret(path: str, name: str) -> None:
    """Raise ``ValueError`` for the name of card data."""
    if name.lower() in _SECRET:
        raise ValueError(
            f"got '{path[:60]}': a card number or ccv cannot be tested or counted by; "
            "use card.test, card.bin or card.last4"
        )


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
