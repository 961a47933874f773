"""What is given under its canonical names, in whatever letter case it came, and made a typed body: every fault at once.

Sources: assumption ``request.letter_case``; docs/spec/published-facts.md, 0 (rules 3 and 5), 8 (rows 7-16).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeVar, get_args, get_origin

from pydantic_core import ErrorDetails, ValidationError

from mockserver.domain.bounded_cache import by_type
from mockserver.domain.errors import MOST_FAULTS, invalid, nearest
from mockserver.domain.reading import capitalised
from mockserver.domain.record import mutable, record
from mockserver.wire.base import COMMA, Body, names_of
from mockserver.wire.jsonio import holds_few

B = TypeVar("B", bound=Body)

MOST_FIELDS = 25_000
"""Fields, and items of lists, of one body: one step reads them all, and serves no other request meanwhile."""

MOST_NAMED = MOST_FAULTS
"""Unknown fields that a refusal names, and other faults: to find the nearest names of thousands takes long."""

_WORDS: Mapping[str, str] = {
    "missing": "required",
    "string_type": "wanted a text",
    "model_type": "wanted an object",
    "dict_type": "wanted an object",
    "list_type": "wanted a list",
}


@record
class Spelling:
    alias: str
    nested: type[Body] | None
    many: bool
    number: bool


@mutable
class Folded:
    """A body with canonical keys, the keys that no field knows, and those given twice in different letter case."""

    values: dict[str, Any]
    unknown: list[str]
    twice: list[str]


@by_type
def spellings_of(model: type[Body]) -> Mapping[str, Spelling]:
    """The fields of a model by every name that is read."""
    table: dict[str, Spelling] = {}
    for alias, field in zip(names_of(model), model.model_fields.values(), strict=True):
        parts = list(parts_of(field.annotation))
        many = list in [get_origin(part) for part in parts]
        spelling = Spelling(alias, nested_body(field.annotation), many, Decimal in parts)
        for word in (alias, *(other for other, usual in model.also.items() if usual == alias)):
            table |= dict.fromkeys((word, capitalised(word), word.lower()), spelling)
    return table


def nested_body(annotation: Any) -> type[Body] | None:
    """The kind of body inside a field, however it is wrapped; None for any other field."""
    if isinstance(annotation, type) and issubclass(annotation, Body):
        return annotation
    return next((found for part in get_args(annotation) if (found := nested_body(part))), None)


def parts_of(annotation: Any) -> Iterator[Any]:
    """An annotation and everything inside it."""
    yield annotation
    for part in get_args(annotation):
        yield from parts_of(part)


def fold(model: type[Body], raw: Mapping[str, Any], *, commas: bool = False) -> Folded:
    """Give every known key its canonical spelling, at every level; with ``commas`` also every numeric text that has a
    decimal comma."""
    folded = Folded({}, [], [])
    folded.values = _fold(model, raw, "", folded)
    if commas:
        _write_points(model, folded.values)
    return folded


def _fold(model: type[Body], raw: Mapping[str, Any], path: str, folded: Folded) -> dict[str, Any]:
    spellings, values = spellings_of(model), dict[str, Any]()
    for key, value in raw.items():
        spelling = spellings.get(key) or spellings.get(key.lower())
        if spelling is None:
            folded.unknown.append(path + key)
            continue
        alias = spelling.alias
        if alias in values:
            folded.twice.append(path + alias)
        values[alias] = value if spelling.nested is None else _fold_inner(spelling, value, path + alias, folded)
    return values


def _fold_inner(spelling: Spelling, value: Any, path: str, folded: Folded) -> Any:
    """A body inside another, or a list of them; ``[]`` is an empty object where no list is wanted."""
    nested: Any = spelling.nested
    if isinstance(value, dict):
        return _fold(nested, value, f"{path}.", folded)
    if not isinstance(value, list):
        return value
    if not spelling.many:
        return value or {}
    items = enumerate(value)
    return [_fold(nested, one, f"{path}.{place}.", folded) if isinstance(one, dict) else one for place, one in items]


def _write_points(model: type[Body], values: dict[str, Any]) -> None:
    spellings = spellings_of(model)
    for name, value in values.items():
        spelling = spellings[name]
        if spelling.number and isinstance(value, str) and re.fullmatch(COMMA, value):
            values[name] = value.replace(",", ".")
        for inner in value if isinstance(value, list) else [value]:
            if spelling.nested is not None and isinstance(inner, dict):
                _write_points(spelling.nested, inner)


def refuse_many(folded: Folded) -> None:
    """Raises ``Invalid`` (90) for a body of more than ``MOST_FIELDS`` fields and items of lists."""
    if not holds_few(folded.values, MOST_FIELDS - len(folded.unknown)):
        raise invalid({"Body": f"wanted at most {MOST_FIELDS} fields and items of lists"})


def _names_beside(model: type[Body], parts: Sequence[str]) -> list[str]:
    """The names that could have stood where ``parts`` lead to: those of the object they are in."""
    for part in parts:
        spelling = spellings_of(model).get(part)
        if spelling is not None and spelling.nested is not None:
            model = spelling.nested
    return [spelling.alias for spelling in spellings_of(model).values()]


def validate(model: type[B], folded: Folded, *, strict: bool = False) -> B:
    """The typed body. Raises ``Invalid`` (90) with every fault by PascalCase field; ``strict`` refuses unknown
    fields too, and names ``MOST_NAMED`` of them."""
    details = {pascal(name.split(".")): "given twice in different letter case" for name in folded.twice[:MOST_NAMED]}
    if strict:
        for name in folded.unknown[:MOST_NAMED]:
            parts = name.split(".")
            details[pascal(parts)] = f"unknown field{nearest(parts[-1], _names_beside(model, parts))}"
    try:
        body = model.model_validate(folded.values)
    except ValidationError as problem:
        for fault in problem.errors(include_url=False, include_input=False)[:MOST_NAMED]:
            details.setdefault(pascal([str(part) for part in fault["loc"] or ("body",)]), _words(fault))
        raise invalid(details) from None
    if details:
        raise invalid(details)
    return body


def pascal(parts: Sequence[str]) -> str:
    """``PaymentInformation.CardNumber``: a field's place as error details write it (published facts, 10)."""
    return ".".join(map(capitalised, parts))


def _words(fault: ErrorDetails) -> str:
    kind, context = fault["type"], fault.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    if kind == "string_too_long":
        return f"wanted at most {context['max_length']} characters"
    if kind == "too_long":
        return f"got {context['actual_length']}, wanted at most {context['max_length']} items"
    if kind == "string_too_short":
        return "wanted a text that is not empty"
    if kind == "string_pattern_mismatch":
        return f"wanted a text matching {context['pattern']}"
    return _WORDS.get(kind, fault["msg"])
