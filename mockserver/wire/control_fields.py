"""Types of the fields that control calls have, and the reading of their bodies and queries.

Names are taken as they are documented, and none that is unknown: a misspelt one must not change what a call does.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Annotated, Any, TypeVar

from mockserver.domain.addresses import is_web_address, never_called
from mockserver.domain.clock import Micros, parse_duration, parse_instant
from mockserver.domain.errors import invalid, nearest
from mockserver.domain.marks import Reads
from mockserver.domain.masking import mask_start
from mockserver.domain.reading import flag_of, whole_of
from mockserver.wire.base import Body, fields_of
from mockserver.wire.folding import MOST_NAMED, Folded, pascal, refuse_many, validate

B = TypeVar("B", bound=Body)

_LONGEST_SHOWN = 20


class ControlBody(Body):
    """Base of what control calls carry, in bodies and in queries."""

    extra = "forbid"


class OpenBody(Body):
    """Base of bodies with fields that are not known beforehand."""

    extra = "allow"


def read_exactly(model: type[B], given: Mapping[str, Any], what: str = "field") -> B:
    """The typed body or query. Raises ``Invalid`` (90) naming those that are unknown, ``MOST_NAMED`` at most, else
    every other fault."""
    names = [field.alias for field in fields_of(model).values()]
    unknown = list(islice((name for name in given if name not in names), MOST_NAMED))
    if model.extra != "allow" and unknown:
        allowed = ", ".join(names) or "none"
        faults = {mask_start(name, 40): f"unknown {what}{nearest(name, names)}, allowed: {allowed}" for name in unknown}
        raise invalid({pascal([name]): words for name, words in faults.items()})
    folded = Folded(dict(given), [], [])
    refuse_many(folded)
    return validate(model, folded)


def whole(least: int = 0, most: int | None = None, *, digits: bool = False) -> Reads:
    """A whole number: a JSON number, or in a query one written in ``digits``."""
    allowed = f"{least} or more" if most is None else f"{least} to {most}"

    def read(value: object) -> int:
        number = whole_of(value, least, 10**18 if most is None else most) if digits or type(value) is int else None
        if number is None:
            raise ValueError(f"got '{_shown(value)}', wanted a whole number, {allowed}")
        return number

    bounds = {"minimum": least} if most is None else {"minimum": least, "maximum": most}
    return Reads(read, {"type": "integer", **bounds})


def word_of(*words: str) -> Reads:
    """One of some words."""

    def read(value: object) -> str:
        if not isinstance(value, str) or value not in words:
            raise ValueError(f"got '{_shown(value)}'{nearest(_shown(value), words)}, allowed: {', '.join(words)}")
        return value

    return Reads(read, {"type": "string", "enum": list(words)})


def name_of(longest: int) -> Reads:
    """A name that people read: printable, and not blank."""

    def read(value: object) -> str:
        if not isinstance(value, str) or not 0 < len(value.strip()) <= longest or not value.isprintable():
            raise ValueError(f"wanted a text of 1 to {longest} printable characters")
        return value

    return Reads(read, {"type": "string", "minLength": 1, "maxLength": longest})


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


Switch = Annotated[bool, Reads(_read_switch, {"type": "boolean"})]
"""True or false, as JSON or as the word."""

Duration = Annotated[Micros, Reads(lambda value: parse_duration(str(value)), {"type": "string"})]
"""A duration in microseconds, written such as ``1h30m``."""

DateTime = Annotated[Micros, Reads(lambda value: parse_instant(str(value)), {"type": "string", "format": "date-time"})]
"""An instant in microseconds, written as an ISO date-time."""

SecretKey = Annotated[str, Reads(_read_key, {"type": "string"})]
"""A secret key, as it is sent in a header."""

Address = Annotated[str, Reads(_read_address, {"type": "string", "format": "uri"})]
"""An absolute address that may be called."""
