"""The parts of a scenario file: what all of them share.

A part is a record that pydantic checks as it reads a file: the value that was read is the value that runs. What
pydantic needs for that is made when the first file comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, fields
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast, dataclass_transform, get_args, get_type_hints

from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError

from mockserver.domain.field_metadata import FileKey
from mockserver.domain.record import record
from mockserver.scenario.operations import unknown_key

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")


def _checked(name: str, known: Sequence[str], data: Any, read: Callable[[Any], Any]) -> Any:
    """What is read of the data of a part. Names the nearest known key for each unknown one, besides the faults of
    others."""
    unknown = [key for key in data if key not in known] if isinstance(data, dict) else []
    if not unknown:
        return read(data)
    faults = [_fault("unknown_key", unknown_key(str(key), known), (str(key),), None, {}) for key in unknown]
    try:
        read({key: value for key, value in data.items() if key in known})
    except ValidationError as problem:
        faults += [
            _fault(one["type"], one["msg"], one["loc"], one["input"], one.get("ctx", {}))
            for one in problem.errors(include_url=False)
            # What is wrong with the whole may be due to the key that is not read.
            if one["loc"]
        ]
    raise ValidationError.from_exception_data(name, faults)


def _fault(
    kind: Any, text: str, place: tuple[int | str, ...], got: object, context: Mapping[str, Any]
) -> InitErrorDetails:
    error = PydanticCustomError(kind, "{text}", {**context, "text": text})
    return InitErrorDetails(type=error, loc=place, input=got)


def given(key: str) -> dict[str, Any]:
    """The schema of a part that has a key; a null counts as none."""
    return {"required": [key], "properties": {key: {"not": {"type": "null"}}}}


def given_as(key: str, value: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a part whose key has a value of that schema."""
    return {"required": [key], "properties": {key: value}}


def one_of(keys: Iterable[str]) -> dict[str, Any]:
    """The schema of a part that has exactly one of some keys."""
    return {"oneOf": [given(key) for key in keys]}


def any_of(keys: Iterable[str]) -> dict[str, Any]:
    """The schema of a part that has one of some keys, or several."""
    return {"anyOf": [given(key) for key in keys]}


def only_one(given: Sequence[str], keys: Iterable[str]) -> str:
    """The one of some keys that is given. Raises ``ValueError`` for none and for several."""
    if len(given) != 1:
        raise ValueError(f"got {' and '.join(given) or 'none'}, wanted exactly one of {', '.join(keys)}")
    return given[0]


def at_most_one_of(keys: Sequence[str]) -> dict[str, Any]:
    """The schema of a part that has one of some keys, or none."""
    return {"oneOf": [*one_of(keys)["oneOf"], {"not": any_of(keys)}]}


def needs(condition: Mapping[str, Any], then: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a part for which the second holds where the first does."""
    return {"if": condition, "then": then}


def apart(*schemas: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a part for which not all of these hold."""
    return {"not": {"allOf": list(schemas)}}


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def part(cls: type[T]) -> type[T]:
    """A record that is a part: no unknown keys.

    What it refuses, it refuses in ``__post_init__``; what only the file shows, in a class method ``given``,
    which gives the data as they are to be read. What of this an editor can know is its ``schema``. ``words`` are what
    explanations say of it.
    """
    made: Any = record(cls)
    made.__pydantic_config__ = {
        "extra": "forbid",
        "hide_input_in_errors": True,
        "json_schema_extra": getattr(cls, "schema", None),
        "alias_generator": lambda name: _keys(made)[name],
    }
    _PARTS.append(made)
    return made  # type: ignore[no-any-return]


_PARTS: list[Any] = []
"""Parts that pydantic does not know yet."""


def read_part(cls: type[T], data: object) -> T:
    """The part that plain data of a file describe. Raises ``ValidationError`` with every fault."""
    reader: TypeAdapter[T] = adapter(cls)  # type: ignore[arg-type]
    return reader.validate_python(data)


@cache
def adapter(cls: Any) -> TypeAdapter[Any]:
    """What reads a part, and knows its JSON schema. pydantic is loaded for it."""
    from pydantic import TypeAdapter, model_validator

    while _PARTS:
        _PARTS.pop().read_part = model_validator(mode="wrap")(cast(Any, classmethod(_read_part)))
    made = TypeAdapter(cls)
    # Parts that have this one in them take what was made for it, as pydantic does with its own classes.
    cls.__pydantic_core_schema__ = made.core_schema
    return made


def _read_part(cls: type[T], data: Any, handler: Callable[[Any], T]) -> T:
    known, given = keys_of(cls), getattr(cls, "given", None)
    if given is not None and isinstance(data, dict) and all(key in known for key in data):
        data = given(data)
    read: T = _checked(cls.__name__, known, data, handler)
    return read


def keys_of(cls: Any) -> list[str]:
    """The keys that a part has in a file."""
    return list(_keys(cls).values())


@cache
def _keys(cls: Any) -> Mapping[str, str]:
    hints = get_type_hints(cls, include_extras=True)
    keys = {name: [one.key for one in get_args(hint) if isinstance(one, FileKey)] for name, hint in hints.items()}
    return {one.name: (*keys[one.name], one.name)[0] for one in fields(cls) if one.init}


@part
class Empty:
    """Nothing more to say: ``{}``."""
