"""What a request says, by field: its text becomes a typed body in one pass where it is spelt as most clients spell it,
and is examined by name only on demand.

Sources: assumption ``request.letter_case``; docs/spec/published-facts.md, 0 (rule 3), 1.0, 8 (rows 7-16).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import NoneType
from typing import Any, NamedTuple, TypeAlias, TypeVar
from urllib.parse import parse_qsl

from pydantic_core import ValidationError

from mockserver.domain.outline import outline_of
from mockserver.domain.remembered import Remembered, by_type
from mockserver.wire.base import Body, fields_of
from mockserver.wire.folding import Folded, fold, nested_body, parts_of, spellings_of, validate
from mockserver.wire.jsonio import MalformedJson, loads
from mockserver.wire.validators import capitalised, of_one_spelling

B = TypeVar("B", bound=Body)

FieldReader = Callable[[bytes], Mapping[str, Any]]
"""Makes the fields of a text, as they are spelt there."""


class FieldsKind(NamedTuple):
    """How fields are read: from a body or a query, with decimal commas or without."""

    is_body: bool
    commas: bool


class Fields(Mapping[str, object]):
    """The fields of a body or a query under their canonical names. ``text`` is what ``read`` makes ``given`` of;
    ``all_known`` says that no name is unknown, as far as was looked by now.

    After :meth:`rest` only the text is kept, and is read again when it is needed: the journal holds many requests, and
    few are ever read.
    """

    __slots__ = ("_commas", "_folded", "_given", "_keys", "_model", "_read", "_text", "_typed", "all_known")

    def __init__(
        self, model: type[Body], given: Mapping[str, Any] | None, text: bytes, read: FieldReader, commas: bool = False
    ) -> None:
        self._model = model
        self._given = given
        self._folded: Folded | None = None
        self._text = text
        self._read = read
        self._commas = commas
        self.all_known = not given
        self._keys: Mapping[str, tuple[str, str]] = _NO_KEYS
        self._typed: Body | None = None

    @classmethod
    def of_body(cls, model: type[Body], raw: bytes, deepest: int, commas: bool = False) -> Fields:
        """The fields of a JSON body of at most ``deepest`` levels; with ``commas`` numeric texts may have a decimal
        comma. Raises ``MalformedJson``."""
        if not _is_unusual(raw):
            first = raw.find(b'"') + 1
            read, keys = _at_once(model, b"A" <= raw[first : first + 1] <= b"Z")
            try:
                typed = model(read(raw))
            except ValidationError:
                pass
            else:
                made = cls(model, None, raw, _object, commas)
                made._typed, made._keys = typed, keys
                return made
        return cls(model, _object(raw, deepest), raw, _object, commas)

    @classmethod
    def of_query(cls, model: type[Body], raw: bytes, commas: bool = False) -> Fields:
        """The fields of a query string; ``commas`` as for a body."""
        made = cls(model, _parameters(raw), raw, _parameters, commas)
        if len(raw) <= _SHORT:
            made._folded, made._typed = _QUERIES[model, raw, commas]
        return made

    @classmethod
    def again(cls, model: type[Body], text: bytes, kind: FieldsKind) -> Fields:
        """Fields that were read before, of the same text."""
        return cls(model, None, text, _object if kind.is_body else _parameters, commas=kind.commas)

    @property
    def kind(self) -> FieldsKind:
        """How they are read."""
        return FieldsKind(self._read is not _parameters, self._commas)

    @property
    def unknown(self) -> Sequence[str]:
        """The names that no field knows, as they were given."""
        return () if self.all_known else self.folded.unknown

    @property
    def folded(self) -> Folded:
        """The fields with canonical keys, and the names that no field knows."""
        if self._folded is not None:
            return self._folded
        folded = fold(self._model, self._as_spelt(), commas=self._commas)
        if self._given is not None:
            self._folded = folded
        return folded

    def _as_spelt(self) -> Mapping[str, Any]:
        given = self._given
        if given is None:
            given = self._read(self._text)
            if self._typed is not None:
                self._given = given
        return given

    def typed(self, model: type[B], *, strict: bool) -> B:
        """The fields as a model. Raises ``Invalid`` (90) with every fault; ``strict`` refuses unknown fields too."""
        body: Any = self._typed
        if type(body) is model:
            return body
        # Faulty, or spelt otherwise: the longer way finds out which, and names every fault.
        folded = self.folded
        body = _if_plain(model, folded.values) if folded.is_plain else None
        if body is None:
            return validate(model, folded, strict=strict)
        self._typed = body
        return body  # type: ignore[no-any-return]

    def rest(self) -> None:
        """Let go of all but the text."""
        if self._text:
            self._folded = self._given = self._typed = None
            self._keys = _NO_KEYS

    def __getitem__(self, name: str) -> object:
        found = self.get(name, _ABSENT)
        if found is _ABSENT:
            raise KeyError(name)
        return found

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a field, or ``default``."""
        spelt, attribute = self._keys.get(name, _NO_KEY)
        if attribute:
            typed: Any = self._typed
            return typed.__dict__.get(attribute, default)
        if spelt:
            return self._as_spelt().get(spelt, default)
        return self.folded.values.get(name, default)

    def some(self, names: Iterable[str]) -> Mapping[str, object]:
        """The values of those fields that are given, from one reading of the text; a text without fields of these names
        is not read: a batch of 100,000 rows takes 100 ms."""
        if not any(map(spellings_of(self._model).__contains__, names)):
            return {}
        values = self.folded.values
        return {name: values[name] for name in names if name in values}

    def __iter__(self) -> Iterator[str]:
        return iter(self.folded.values)

    def __len__(self) -> int:
        return len(self.folded.values)

    def items(self) -> ItemsView[str, object]:
        """Every field with its value, from one reading of the text."""
        return self.folded.values.items()


_ABSENT = object()
_NO_KEY = "", ""
_NO_KEYS: Mapping[str, tuple[str, str]] = {}

NO_FIELDS = Fields(Body, {}, b"", lambda _: {})
"""The fields of a request without body and query."""


def _object(raw: bytes, deepest: int = sys.maxsize) -> dict[str, Any]:
    """The body as an object: nothing and ``[]`` are empty ones (published facts, 1.0). Raises ``MalformedJson``."""
    if not raw.strip():
        return {}
    value = loads(raw, deepest)
    if isinstance(value, dict):
        return value
    if value == []:
        return {}
    raise MalformedJson("wanted a JSON object", 1, 1)


def _parameters(query_string: bytes) -> dict[str, str]:
    """The query by name; a parameter without a value counts as absent, of one given twice the last counts."""
    # Long ones are not kept: they would fill the memory.
    return dict(_pairs(query_string) if len(query_string) <= _SHORT else _pairs.__wrapped__(query_string))


_SHORT = 500
"""Bytes of a query that is kept as it was read."""


@lru_cache(maxsize=512)
def _pairs(query_string: bytes) -> list[tuple[str, str]]:
    return parse_qsl(query_string.decode("utf-8", "replace"), errors="replace")


def _read_query(model: type[Body], raw: bytes, commas: bool) -> tuple[Folded, Body | None]:
    """A query in canonical names, and as a model when it is right. Clients ask the same again, of lists above all."""
    folded = fold(model, _parameters(raw), commas=commas)
    if not folded.is_plain:
        return folded, None
    return folded, _if_plain(model, folded.values)


_QUERIES = Remembered[tuple[type[Body], bytes, bool], tuple[Folded, Body | None]](512, lambda key: _read_query(*key))


def _if_plain(model: type[B], given: Mapping[str, Any]) -> B | None:
    """The model of fields that are right, under their canonical names; else None."""
    try:
        return model(of_one_spelling(model, capitals=False).validate_python(given))
    except ValidationError:
        return None


_ROUNDED = re.compile(rb"\.(?:[0-9]*0(?![0-9])|[0-9]{7})")
"""What a number may have of which a float does not keep every digit; see also ``validators.MOST``."""

_EXPONENT = re.compile(rb"0e0(?:ty)?+0*+[\s,}\]]")
"""The end of an exponent, of NaN or Infinity in the outline of a text."""

_DOZENS = re.compile(rb"[0-9]{40}")


def _is_unusual(raw: bytes) -> bool:
    """Whether a text may have a number that a float would round, or what the longer way refuses even where it is
    replaced, or reads digit by digit: an exponent, dozens of digits, NaN or Infinity. What a later value of the same
    name replaces must be JSON that the longer way reads too."""
    outline, runs = outline_of(raw)
    # Asked as bytes first, which takes two fifths of the pattern: few texts have even the begin of it.
    has_exponent = b"0e0" in outline and _EXPONENT.search(outline)
    return bool(has_exponent or _ROUNDED.search(raw) or (runs > 2 and _DOZENS.search(raw)))


_Read: TypeAlias = Callable[[bytes], dict[str, Any]]


@by_type
def _at_once(model: type[Body], capitals: bool) -> tuple[_Read, Mapping[str, tuple[str, str]]]:
    """What reads the fields of a JSON text that are right and spelt in the one way, without an object in between. And
    how the fields are spelt that have no fields of their own, by their canonical names; with the names in the model of
    those that it has as they were given, texts above all."""
    found = {}
    for attribute, field in fields_of(model).items():
        name, kinds = field.alias, {part for part in parts_of(field.annotation) if isinstance(part, type)}
        if nested_body(field.annotation) is None:
            found[name] = capitalised(name) if capitals else name, attribute if kinds <= {str, NoneType} else ""
    return of_one_spelling(model, capitals).validate_json, found
