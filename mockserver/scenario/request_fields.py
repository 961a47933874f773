"""The fields of requests that rules may name: what the request of each operation holds, and how the
API reads it.

``requests.txt`` says it field by field; ``python -m tools.docs`` prints it from the models of the
routes, which this room does not know. ``unrequested.txt`` says the same of operations that no
request asks for (``data`` and ``meta`` are what a webhook says). Each has a paragraph of operations
and one of fields that have fields of their own; each name is followed by its fields, with a mark
for what they hold (``_field``).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from pkgutil import resolve_name

from mockserver.domain.errors import nearest
from mockserver.domain.record import record
from mockserver.scenario.kinds import FLAG, NUMBER, TEXT, Kind, choice

_FOLDER = Path(__file__).parent

CARD_DATA = "paymentInformation"
"""The field that has all that is known of a card, its number and ccv too."""

_SECRET = frozenset({"cardnumber", "ccv", "cvv", "paymentdata"})


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
    words = _table().get(name, "").split()
    return dict(_field(word) for word in words)


def testable(op: str) -> Iterator[str]:
    """The fields of the request of an operation that rules may name: of one that holds card data
    those inside it."""
    for name in fields_of({op}):
        if name != CARD_DATA:
            if not is_secret(name):
                yield name
            continue
        for part in parts_of(name):
            if not is_secret(part):
                yield f"{name}.{part}"


@cache
def _table() -> Mapping[str, str]:
    """The fields of each operation and of each field, as the two files say them."""
    text = "".join(
        (_FOLDER / f"{name}.txt").read_text("utf-8") for name in ("requests", "unrequested")
    )
    fields_by_name: dict[str, str] = {}
    # A line that begins with blanks goes on with the one before it.
    for line in text.replace("\n  ", " ").splitlines():
        name, _, words = line.partition(" ")
        if name:
            fields_by_name[name] = words
    return fields_by_name


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


def field_at(path: str, parts: Sequence[str], operations: Collection[str]) -> Kind:
    """The kind of the field that the parts of a path lead to in the requests of some operations.
    Raises ``ValueError`` where they lead nowhere."""
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
        # All fields of all of them would be hundreds.
        return f"{got}, of no operation that the rule names"
    operation = next(iter(operations), "no operation")
    return f"{got}; in {operation} there is {', '.join(known) or 'nothing'}"


def is_secret(name: str) -> bool:
    """Whether a field holds card data of which nothing may be tested or shown."""
    return name.lower() in _SECRET


def secret_refusal(path: str) -> ValueError:
    """The refusal of a path to card data: what a rule tests, the journal quotes."""
    return ValueError(
        f"got '{path[:60]}': a card number or ccv cannot be tested or counted by; "
        "use card.test, card.bin or card.last4"
    )
