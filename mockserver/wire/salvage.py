"""What can still be read of a faulty body: its sound fields, with something harmless in the place of the others.

Good for finding more faults, never for acting (assumption ``error.validation``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, TypeVar, get_args, get_origin

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from mockserver.wire.base import Body, Folded, nested_body, pascal

B = TypeVar("B", bound=Body)

_HARMLESS: Mapping[Any, object] = {Decimal: Decimal(1), str: "-", int: 1, bool: False}


def salvage(model: type[B], folded: Folded) -> B | None:
    """The body as far as it is sound; None when that makes no body."""
    values = deepcopy(folded.values)
    try:
        return model.model_validate(values)
    except ValidationError as problem:
        for fault in problem.errors(include_url=False, include_input=False, include_context=False):
            _mend(model, values, fault["loc"])
    try:
        return model.model_validate(values)
    except ValidationError:
        return None


def invented(model: type[Body] | None, told: Iterable[str]) -> set[str]:
    """The fields, in PascalCase, that stand in for whole objects told of as missing or as something else."""
    found: set[str] = set()
    for place in told:
        inner = model
        for part in place.split("."):
            field = _field(inner, part[:1].lower() + part[1:]) if inner is not None else None
            inner = nested_body(field.annotation) if field is not None else None
        if inner is not None:
            found.update(
                pascal([info.alias or name]) for name, info in inner.model_fields.items() if info.is_required()
            )
    return found


def _mend(model: type[Body], values: Any, place: Sequence[int | str]) -> None:
    """Take away what lies at a place, or put a stand-in there where something is required."""
    name, *below = place
    field = _field(model, name)
    if not isinstance(values, dict) or field is None:
        return
    inner = nested_body(field.annotation)
    if not below:
        _replace(values, name, field)
    elif isinstance(below[0], str) and inner is not None:
        _mend(inner, values[name], below)
    elif isinstance(below[0], int):
        if len(below) > 1 and inner is not None:
            _mend(inner, values[name][below[0]], below[1:])
        else:
            values[name][below[0]] = _stand_in(_item(field.annotation))


def _field(model: type[Body], alias: int | str) -> FieldInfo | None:
    return next((info for name, info in model.model_fields.items() if (info.alias or name) == alias), None)


def _replace(values: dict[Any, Any], name: int | str, field: FieldInfo) -> None:
    if field.is_required():
        values[name] = _stand_in(field.annotation)
    else:
        values.pop(name, None)


def _stand_in(kind: Any) -> object:
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if isinstance(kind, type) and issubclass(kind, Body):
        return {
            info.alias or name: _stand_in(info.annotation)
            for name, info in kind.model_fields.items()
            if info.is_required()
        }
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next(iter(kind)).value
    return _HARMLESS.get(kind)


def _item(annotation: Any) -> Any:
    """What the items of a list are, which may be optional itself."""
    if get_origin(annotation) is list:
        return get_args(annotation)[0]
    return next((found for part in get_args(annotation) if (found := _item(part)) is not None), None)
