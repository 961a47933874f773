"""What a request says, by field: its body or query as a mapping under canonical names, in whatever
letter case they came, and as a typed model, with every fault at once.

The published clients spell fields as ``paymentMethodId`` or ``PaymentMethodId``, and the service
reads any letter case. So there are two ways from a text to a model:

- **Fast**, for nearly every request: pydantic knows both usual spellings and makes the model of the
  text as it stands (``Fields.model_as_sent``). It must fit in every respect: a field that no model
  knows ends it.
- **Thorough**, for everything else: keys are *folded*, that is given their canonical spelling level
  by level (``fold``), and what no field knows or what came twice is collected; then the model is
  made (``validate``), or refused with all that is wrong.

Both must come to the same model (tests/wire/test_fields.py). Rules, journal and findings ask for
single fields, by their canonical names (``Fields.get``). They never see two spellings.

Sources: settled fact ``request.letter_case``; docs/spec/published-facts.md, 0 (rule 3), 1.0, 8
(rows 7-16).
"""

from __future__ import annotations

import re
import sys
from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, TypeAlias, TypeVar, get_args, get_origin
from urllib.parse import quote

from pydantic import AliasChoices, AliasGenerator, BaseModel, ConfigDict
from pydantic_core import ErrorDetails, ValidationError

from mockserver.domain.bounded_cache import BoundedCache, by_type
from mockserver.domain.clock import Instant
from mockserver.domain.errors import MOST_FAULTS, invalid, nearest, nearest_of
from mockserver.domain.masking import mask_field, mask_start
from mockserver.domain.reading import camel, capitalised, query_pairs
from mockserver.domain.record import mutable, read_table, record
from mockserver.wire.jsonio import MalformedJson, count_of_values, loads

MOST_FIELDS = 2_000
"""Fields, and items of lists, of one body of the payments API: one step reads them all, and serves
no other request meanwhile."""

COMMA = r"(?a)\s*[+-]?\d{1,18},\d{1,18}\s*"
"""A number that has a decimal comma."""

_WORDS: Mapping[str, str] = {
    "value_error": "{error}",
    "missing": "required",
    "string_type": "wanted a text",
    "string_too_short": "wanted a text that is not empty",
    "string_too_long": "got {length}, wanted at most {max_length} characters",
    "model_type": "wanted an object",
    "dict_type": "wanted an object",
    "list_type": "wanted a list",
    "too_long": "got {actual_length}, wanted at most {max_length} items",
}


def _spellings(name: str) -> AliasChoices:
    """The two usual spellings of a field."""
    return AliasChoices(camel(name), capitalised(camel(name)))


class Body(BaseModel):
    """Base of what callers send. Fields are camelCase on the wire; null means absent for every
    optional field.

    ``also_read`` has further names by which fields are read, each with the usual one;
    ``may_be_blank`` the parameters of a query that say nothing without a value, and do nothing else
    then.
    """

    model_config = ConfigDict(
        alias_generator=AliasGenerator(alias=camel, validation_alias=_spellings),
        defer_build=True,
        frozen=True,
    )

    also_read: ClassVar[Mapping[str, str]] = {}
    may_be_blank: ClassVar[frozenset[str]] = frozenset()


def names_of(body: type[Body]) -> list[str]:
    """The names of the fields of a body on the wire."""
    return [str(field.alias) for field in body.model_fields.values()]


B = TypeVar("B", bound=Body)


@record
class Spelling:
    """A field as it is found by any of its spellings: its canonical name, the body that it holds
    (in a list where ``many``), and whether it is a number or a moment, of which clients write
    forms of their own."""

    alias: str
    nested: type[Body] | None
    many: bool
    number: bool
    moment: bool


@mutable
class Folded:
    """A body with canonical keys, the keys that no field knows, and those given twice in different
    letter case; with ``commas`` numeric texts may have a decimal comma."""

    values: dict[str, Any]
    unknown: list[str]
    twice: list[str]
    commas: bool = False


@by_type
def spellings_of(model: type[Body]) -> Mapping[str, Spelling]:
    """The fields of a model by every name that is read."""
    table: dict[str, Spelling] = {}
    for alias, field in zip(names_of(model), model.model_fields.values(), strict=True):
        parts = list(parts_of(field.annotation))
        spelling = Spelling(
            alias,
            nested_body(field.annotation),
            many=list in [get_origin(part) for part in parts],
            number=Decimal in parts,
            moment=Instant in parts,
        )
        others = [other for other, usual in model.also_read.items() if usual == alias]
        for name in (alias, *others):
            # The two usual spellings are found at once, any other in small letters.
            table |= dict.fromkeys((name, capitalised(name), name.lower()), spelling)
    return table


def nested_body(annotation: Any) -> type[Body] | None:
    """The kind of body inside a field, however it is wrapped; None for any other field."""
    for part in parts_of(annotation):
        if isinstance(part, type) and issubclass(part, Body):
            return part
    return None


def parts_of(annotation: Any) -> Iterator[Any]:
    """An annotation and everything inside it: ``list[Order] | None`` has ``list[Order]``, ``Order``
    and ``None``."""
    yield annotation
    for part in get_args(annotation):
        yield from parts_of(part)


def fold(model: type[Body], raw: Mapping[str, Any], *, commas: bool = False) -> Folded:
    """Give every known key its canonical spelling, at every level; with ``commas`` also every
    numeric text that has a decimal comma."""
    folded = Folded({}, [], [], commas)
    folded.values = _fold(model, raw, "", folded)
    return folded


def _fold(model: type[Body], raw: Mapping[str, Any], path: str, folded: Folded) -> dict[str, Any]:
    """The values of one object under canonical keys; what is odd about its keys is added to
    ``folded``, with the ``path`` that leads to it. Of a key given twice the last value counts, as
    in JSON."""
    spellings, values = spellings_of(model), dict[str, Any]()
    for key, value in raw.items():
        spelling = spellings.get(key) or spellings.get(key.lower())
        if spelling is None:
            folded.unknown.append(path + key)
            continue
        alias = spelling.alias
        if alias in values:
            folded.twice.append(path + alias)
        if spelling.nested is not None:
            value = _fold_inner(spelling.nested, spelling, value, path + alias, folded)
        elif folded.commas and spelling.number and _has_decimal_comma(value):
            value = value.replace(",", ".")
        values[alias] = value
    return values


def _has_decimal_comma(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(COMMA, value) is not None


def _fold_inner(
    nested: type[Body], spelling: Spelling, value: Any, path: str, folded: Folded
) -> Any:
    """A body inside another, or a list of them. What is of a wrong type stays as it is, for the
    model to refuse. ``[]`` is an empty object where no list is wanted: PHP has one word for both
    (published facts, 1.0)."""
    if isinstance(value, dict):
        return _fold(nested, value, f"{path}.", folded)
    if not isinstance(value, list):
        return value
    if not spelling.many:
        return value or {}
    items: list[Any] = []
    for place, item in enumerate(value):
        if isinstance(item, dict):
            item = _fold(nested, item, f"{path}.{place}.", folded)
        items.append(item)
    return items


def refuse_many(folded: Folded, most: int) -> None:
    """Raises ``Invalid`` (90) for a body of more than ``most`` fields and items of lists. What an
    unknown field holds is not read, and does not count."""
    unknown = len(folded.unknown)
    count = unknown + count_of_values(folded.values, most - unknown)
    if count > most:
        words = f"got {count} or more, wanted at most {most} fields and items of lists"
        raise invalid({"Body": words})


def _names_beside(model: type[Body], parts: Sequence[str]) -> list[str]:
    """The names that could have stood where ``parts`` lead to: those of the object they are in. Of
    them the nearest is shown to whoever has misspelt one."""
    for part in parts:
        spelling = spellings_of(model).get(part)
        if spelling is not None and spelling.nested is not None:
            model = spelling.nested
    return [spelling.alias for spelling in spellings_of(model).values()]


def validate(model: type[B], folded: Folded, *, refused: Sequence[str] = ()) -> B:
    """The typed body. Raises ``Invalid`` (90) with every fault by PascalCase field; unknown fields
    that are ``refused`` are faults too, of which it names ``MOST_FAULTS``."""
    details = {
        pascal(name.split(".")): "given twice in different letter case"
        for name in folded.twice[:MOST_FAULTS]
    }
    for name in refused[:MOST_FAULTS]:
        parts = name.split(".")
        details[pascal(parts)] = f"unknown field{nearest(parts[-1], _names_beside(model, parts))}"
    try:
        body = model.model_validate(folded.values)
    except ValidationError as problem:
        for fault in problem.errors(include_url=False)[:MOST_FAULTS]:
            place = [str(part) for part in fault["loc"]] or ["body"]
            details.setdefault(pascal(place), _words(fault))
        raise invalid(details) from None
    if details:
        raise invalid(details)
    return body


def pascal(parts: Sequence[str]) -> str:
    """``PaymentInformation.CardNumber``: a field's place as error details write it (published
    facts, 10)."""
    return ".".join(map(capitalised, parts))


def _words(fault: ErrorDetails) -> str:
    """A fault in our words: those of pydantic speak of Python."""
    words = _WORDS.get(fault["type"])
    if words is None:
        return fault["msg"]
    given = fault["input"]
    length = len(given) if isinstance(given, str) else 0
    return words.format(**fault.get("ctx", {}), length=length)


_LONGEST_SHOWN = 60
"""Characters of a value that are shown where it belongs."""

_PLAIN = (str, int, Decimal)


class Fields(Mapping[str, object]):
    """The fields of a body or a query under their canonical names; with ``commas`` numeric texts
    may have a decimal comma.

    ``model_as_sent`` is the model made of the text as it stands, None where the names must be
    folded first, or where anything is wrong. Made of a text alone (``given`` is None), as the
    journal keeps it, the fields are read out of it at every look, and take no memory.
    """

    __slots__ = ("_folded", "_given", "_model", "_text", "commas", "is_body", "model_as_sent")

    def __init__(
        self,
        model: type[Body],
        text: bytes,
        given: dict[str, Any] | None = None,
        *,
        is_body: bool,
        commas: bool = False,
    ) -> None:
        self._model = model
        self._text = text
        self.is_body = is_body
        self.commas = commas
        self._given = given
        self._folded: Folded | None = None
        self.model_as_sent: Body | None = None
        if given is None or self._are_too_many():
            return
        try:
            # A field that the model does not know ends this: it is to be reported.
            self.model_as_sent = model.__pydantic_validator__.validate_python(given, extra="forbid")
        except ValidationError:
            return

    @classmethod
    def of_body(cls, model: type[Body], raw: bytes, deepest: int, commas: bool = False) -> Fields:
        """The fields of a JSON body of at most ``deepest`` levels; no body is an empty one. Raises
        ``MalformedJson``."""
        given = loads(raw, deepest) if raw.strip() else {}
        if not isinstance(given, dict):
            given = _empty(given)
        return cls(model, raw, given, is_body=True, commas=commas)

    @classmethod
    def of_unread(cls, raw: bytes, deepest: int) -> Fields:
        """The first fields of a body that its operation does not read, all of them unknown: a
        client that sends an amount in the body of a refund must hear that nobody has read it. What
        is no JSON object counts as one field, ``Body``, unless it is empty."""
        try:
            sent = loads(raw, deepest) if raw.strip() else None
        except MalformedJson:
            sent = "no JSON"
        given: dict[str, Any] = {}
        if isinstance(sent, dict):
            given = dict(islice(sent.items(), MOST_FAULTS))
        elif sent:
            given = {"Body": None}
        return cls(Body, b"", given, is_body=True)

    @classmethod
    def of_query(cls, model: type[Body], raw: bytes, commas: bool = False) -> Fields:
        """The fields of a query string: who waits for something asks the same again and again, so
        what was read of the newest short ones is kept."""
        return _QUERIES[model, raw, commas]

    @property
    def folded(self) -> Folded:
        """The fields with canonical keys, and the names that no field knows."""
        if self._folded is not None:
            return self._folded
        if self._given is not None:
            self._folded = fold(self._model, self._given, commas=self.commas)
            return self._folded
        # Read again, and as before: a body that is no object is an empty one. It was let in by the
        # limit of levels that was in force then.
        read: object
        if self.is_body:
            read = loads(self._text or b"{}", max_depth=sys.maxsize)
        else:
            read = parameters_of(self._text)
        return fold(self._model, read if isinstance(read, dict) else {}, commas=self.commas)

    @property
    def has_text(self) -> bool:
        """Whether there is a text that can be read again."""
        return bool(self._text)

    @property
    def unknown(self) -> Sequence[str]:
        """The names that no field knows, as they were given."""
        return self.folded.unknown if self.model_as_sent is None else ()

    def misplaced(self, other: type[Body] | None) -> Mapping[str, str]:
        """Where unknown fields belong that ``other`` has, which is read elsewhere: "in the query:
        ?amount=5"."""
        places: dict[str, str] = {}
        given = self._given or {}
        spellings = spellings_of(other or Body)
        aliases = [spelling.alias for spelling in spellings.values()]
        for name in self.unknown[:MOST_FAULTS]:
            near = name if name.lower() in spellings else nearest_of(name, aliases)
            if near is None:
                continue
            if not self.is_body:
                places[name] = "in the body"
                continue
            alias, value = spellings[near.lower()].alias, given.get(name)
            text = ""
            if isinstance(value, _PLAIN):
                # Somebody may have put a card number there.
                text = mask_start(mask_field(name, str(value)), _LONGEST_SHOWN)
            places[name] = f"in the query: ?{alias}={quote(text, safe='*')}"
        return places

    def typed(self, model: type[B], *, refused: Sequence[str] = ()) -> B:
        """The fields as a model. Raises ``Invalid`` (90) with every fault; unknown fields that are
        ``refused`` are faults too."""
        if self._are_too_many():
            refuse_many(self.folded, MOST_FIELDS)
        if type(self.model_as_sent) is model:
            return self.model_as_sent
        return validate(model, self.folded, refused=refused)

    def _are_too_many(self) -> bool:
        """Whether there are more fields than one step may read, those inside unknown ones with
        them. Each takes two characters or more, so that a short text need not be counted."""
        if not self.is_body or len(self._text) <= 2 * MOST_FIELDS:
            return False
        return count_of_values(self._given, MOST_FIELDS) > MOST_FIELDS

    def __getitem__(self, name: str) -> object:
        return self.folded.values[name]

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a field, or ``default``."""
        given = self._given
        if self.model_as_sent is None or given is None:
            return self.folded.values.get(name, default)
        spelling = spellings_of(self._model).get(name)
        if spelling is not None and spelling.nested is not None:
            # The names inside of it may be spelt either way.
            return self.folded.values.get(name, default)
        # Its name is spelt in one of the two usual ways, so nothing need be folded.
        if name in given:
            return given[name]
        return given.get(name[:1].upper() + name[1:], default)

    def pick(self, names: Iterable[str]) -> Mapping[str, object]:
        """The values of those fields that are given, from one reading of the text; a text without
        fields of these names is not read: a batch has up to 10 MB."""
        if not any(map(spellings_of(self._model).__contains__, names)):
            return {}
        values = self.folded.values
        return {name: values[name] for name in names if name in values}

    # A step may be a key of a dictionary: what is compared and hashed with it is which request it
    # was, not what all of its fields are.
    __hash__ = object.__hash__

    def __iter__(self) -> Iterator[str]:
        return iter(self.folded.values)

    def __len__(self) -> int:
        return len(self.folded.values)

    def items(self) -> ItemsView[str, object]:
        """Every field with its value, from one reading of the text."""
        return self.folded.values.items()


_LONGEST_QUERY = 500
"""Bytes of a query of which is kept what was read."""


_QueryKey: TypeAlias = tuple[type[Body], bytes, bool]
"""The model of a query, its text, and whether numbers may have a decimal comma."""


def _read_query(key: _QueryKey) -> Fields:
    model, raw, commas = key
    return Fields(model, raw, parameters_of(raw), is_body=False, commas=commas)


def _is_short_query(key: _QueryKey) -> bool:
    _, raw, _ = key
    return len(raw) <= _LONGEST_QUERY


_QUERIES = BoundedCache(512, _read_query, _is_short_query)


def _empty(value: object) -> dict[str, Any]:
    """A body that is no object: ``[]`` is an empty one, as PHP writes it (published facts, 1.0).
    Raises ``MalformedJson``."""
    if value == []:
        return {}
    raise MalformedJson("wanted a JSON object", 1, 1)


def parameters_of(query_string: bytes) -> dict[str, str]:
    """The query by name; a parameter without a value counts as absent, of one given twice the last
    counts."""
    return {name: value for name, value in query_pairs(query_string) if value}


@by_type
def no_fields(model: type[Body]) -> Fields:
    """The fields of a request without a query, where one of a model may be."""
    return Fields(model, b"", {}, is_body=False)


NO_FIELDS = no_fields(Body)
"""The fields of a request without body and query."""


def stray_fields(op: str, unknown: Iterable[str]) -> Sequence[str]:
    """The unknown fields of an operation without those that a published library sends by itself, in
    whatever letter case: what the finding ``unknown-field`` names, and what ``--strict``
    refuses."""
    by_libraries = _sent_by_libraries()
    return [name for name in unknown if (op, name.lower()) not in by_libraries]


@cache
def _sent_by_libraries() -> frozenset[tuple[str, str]]:
    """Operation and field, in small letters, of what published libraries send and no operation
    reads: their users can do nothing about it."""
    rows: Iterable[dict[str, str]] = read_table("sdk_fields", dict, Path(__file__).parent)
    return frozenset((row["operation"], row["field"].lower()) for row in rows)
