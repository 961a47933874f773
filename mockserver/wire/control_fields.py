"""Types of the fields that control calls have, and the reading of their bodies and queries.

Names are taken as they are documented, and none that is unknown: a misspelt one must not change what a call does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any, TypeVar

from pydantic import ConfigDict
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from mockserver.domain.addresses import is_web_address, never_called
from mockserver.domain.clock import Micros, parse_duration, parse_instant
from mockserver.domain.codes import Code
from mockserver.domain.errors import Invalid, nearest
from mockserver.domain.masking import mask_start
from mockserver.domain.reading import flag_of, whole_of
from mockserver.wire.base import Body, refuse
from mockserver.wire.folding import MOST_FIELDS, MOST_NAMED, Folded, pascal, validate
from mockserver.wire.jsonio import holds_few

B = TypeVar("B", bound=Body)

_LONGEST_SHOWN = 20


class ControlBody(Body):
    """Base of what control calls carry, in bodies and in queries."""

    model_config = ConfigDict(extra="forbid")


class OpenBody(Body):
    """Base of bodies with fields that are not known beforehand."""

    model_config = ConfigDict(extra="allow")


def read_exactly(model: type[B], given: Mapping[str, Any], what: str = "field") -> B:
    """The typed body or query. Raises ``Invalid`` (90) naming those that are unknown, ``MOST_NAMED`` at most, else
    every other fault."""
    names = [info.alias or name for name, info in model.model_fields.items()]
    unknown = list(islice((name for name in given if name not in names), MOST_NAMED))
    if model.model_config.get("extra") != "allow" and unknown:
        allowed = ", ".join(names) or "none"
        faults = {mask_start(name, 40): f"unknown {what}{nearest(name, names)}, allowed: {allowed}" for name in unknown}
        raise Invalid(Code.VALIDATION_ERROR, {pascal([name]): words for name, words in faults.items()})
    # What is in them is read in one step.
    return validate(model, Folded(dict(given), [], [], 0 if holds_few(given, MOST_FIELDS) else -1))


@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """How a field is read, and its JSON schema: for ``Annotated``. ``read`` raises ``ValueError`` with what is
    allowed."""

    read: Callable[[Any], object]
    schema: JsonSchemaValue

    def __get_pydantic_core_schema__(self, _: object, __: object) -> CoreSchema:
        def read(value: object) -> object:
            try:
                return self.read(value)
            except ValueError as problem:
                raise refuse(str(problem)) from None

        return core_schema.no_info_plain_validator_function(read)

    def __get_pydantic_json_schema__(self, _: object, __: object) -> JsonSchemaValue:
        return dict(self.schema)


def whole(least: int = 0, most: int | None = None, *, digits: bool = False) -> Reader:
    """A whole number: a JSON number, or in a query one written in ``digits``."""
    allowed = f"{least} or more" if most is None else f"{least} to {most}"

    def read(value: object) -> int:
        number = whole_of(value, least, 10**18 if most is None else most) if digits or type(value) is int else None
        if number is None:
            raise ValueError(f"got '{_shown(value)}', wanted a whole number, {allowed}")
        return number

    bounds = {"minimum": least} if most is None else {"minimum": least, "maximum": most}
    return Reader(read, {"type": "integer", **bounds})


def word_of(*words: str) -> Reader:
    """One of some words."""

    def read(value: object) -> str:
        if not isinstance(value, str) or value not in words:
            raise ValueError(f"got '{_shown(value)}'{nearest(_shown(value), words)}, allowed: {', '.join(words)}")
        return value

    return Reader(read, {"type": "string", "enum": list(words)})


def name_of(longest: int) -> Reader:
    """A name that people read: printable, and not blank."""

    def read(value: object) -> str:
        if not isinstance(value, str) or not 0 < len(value.strip()) <= longest or not value.isprintable():
            raise ValueError(f"wanted a text of 1 to {longest} printable characters")
        return value

    return Reader(read, {"type": "string", "minLength": 1, "maxLength": longest})


def _shown(value: object) -> str:
    return mask_start(str(value), _LONGEST_SHOWN)


def _read_switch(value: object) -> bool:
    flag = flag_of(value)
    if flag is None:
        raise ValueError(f"got '{_shown(value)}', wanted true or false")
    return flag


def _read_key(value: object) -> str:
    if not isinstance(value, str) or not value or not value.isascii() or not value.isprintable():
        raise ValueError("wanted a secret key, as it is sent in x-secretkey")
    if value != value.strip():
        raise ValueError("wanted a secret key without blanks around it")
    return value


def _read_address(value: object) -> str:
    if not isinstance(value, str) or not is_web_address(value):
        raise ValueError("wanted an absolute http or https address")
    if (why := never_called(value)) is not None:
        raise ValueError(why)
    return value


Switch = Annotated[bool, Reader(_read_switch, {"type": "boolean"})]
"""True or false, as JSON or as the word."""

Duration = Annotated[Micros, Reader(lambda value: parse_duration(str(value)), {"type": "string"})]
"""A duration in microseconds, written such as ``1h30m``."""

DateTime = Annotated[Micros, Reader(lambda value: parse_instant(str(value)), {"type": "string", "format": "date-time"})]
"""An instant in microseconds, written as an ISO date-time."""

SecretKey = Annotated[str, Reader(_read_key, {"type": "string"})]
"""A secret key, as it is sent in a header."""

Address = Annotated[str, Reader(_read_address, {"type": "string", "format": "uri"})]
"""An absolute address that may be called."""
