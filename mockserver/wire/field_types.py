"""What single fields of bodies and queries hold, as types of pydantic: each with how it is read,
and how it is described in the OpenAPI documents. Both stand together in ``Reads``, so a document
never promises what is refused.

A field is read as the service reads it: a number also from a numeric text, a choice in any letter
case or by its index. Fields of control calls are read more strictly, since nobody but the user of
the sandbox sends them. Sources: docs/spec/service.md; docs/spec/published-facts.md, 1.0 (``[]`` as
an empty object), 8 (rows 7-16).
"""

import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import AfterValidator, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from mockserver.assumptions import Profile
from mockserver.domain.addresses import LONGEST_ADDRESS, is_web_address, never_called
from mockserver.domain.clock import FASTEST, ClockMode, Instant, parse_duration, parse_instant
from mockserver.domain.delivery import header_fault
from mockserver.domain.errors import nearest
from mockserver.domain.masking import mask_start
from mockserver.domain.reading import choice_of, flag_of, number_of, whole_of
from mockserver.wire.dates import read_moment
from mockserver.wire.fields import COMMA

T = TypeVar("T")
Schema: TypeAlias = Mapping[str, Any]

MOST_ITEMS = 1_000
"""Objects in a list of a body: one step reads and performs them all, and serves no other request
meanwhile."""

MOST_CHOICES = 100
"""Names of a small set in a list of a body: to find the nearest known one of each wrong name takes
long."""

MOST_CHARACTERS = 10_000
"""Characters of a text that has no other limit. A wallet's encrypted data, the longest text that
published clients send, has less than 6,000."""

MOST_ENTRIES, MOST_OF_KEY, MOST_OF_METADATA = 500, 100, 2_000
"""Entries of metadata, and of any other map of texts; characters of a key, and of a value of
metadata. Each value is masked wherever it is shown."""

_MOST_FAULTS_OF_MAP = 10
_LONGEST_NAME, _LONGEST_SHOWN, _LONGEST_KEY_SHOWN = 100, 20, 40
_LARGEST_WHOLE = 10**18
_PLAIN = r"[0-9]{1,18}(?:\.[0-9]{1,18})?"
_TEXT: Schema = {"type": "string"}
_DATE_TIME: Schema = {"type": "string", "format": "date-time"}


class Reads:
    """Marks a type with the function that reads its values, and with the schema that describes what
    is taken.

    The function raises ``ValueError`` with the words of the refusal."""

    def __init__(self, read: Callable[[object], object], schema: Schema) -> None:
        self._read = read
        self._schema = schema

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._read)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return dict(self._schema)


def _either(*schemas: Schema) -> Schema:
    return {"anyOf": [dict(schema) for schema in schemas]}


def _shown(value: object) -> str:
    return mask_start(str(value), _LONGEST_SHOWN)


# Texts


def _refused_if(fault_of: Callable[[str], str | None]) -> AfterValidator:
    """Refuses a text in which ``fault_of`` finds a fault, in its words."""

    def read(value: str) -> str:
        words = fault_of(value)
        if words is not None:
            raise ValueError(words)
        return value

    return AfterValidator(read)


_MOST = Field(max_length=MOST_CHARACTERS)

Text = Annotated[str, _MOST]
NonEmpty = Annotated[str, Field(min_length=1), _MOST]
Text40 = Annotated[str, Field(max_length=40)]
Text100 = Annotated[str, Field(max_length=100)]
AttemptKey = Annotated[str, Field(min_length=1, max_length=64)]
HeaderValue = Annotated[str, _MOST, _refused_if(header_fault)]
"""What is sent as a header of webhooks: a line end in it would begin another header."""

BatchText = Annotated[str, Field(min_length=1)]
"""The lines of a batch: its body has a limit in bytes, and each line one of its own."""

ImageText = str
"""An image in base64: the assumption ``link.image_maximum`` says how large it may be."""

WebhookAddress = Annotated[str, Field(min_length=1, max_length=LONGEST_ADDRESS)]
"""An address that webhooks may be sent to."""

Receiver = Annotated[WebhookAddress, _refused_if(never_called)]
"""The address of a webhook receiver. One that the sandbox never calls is refused."""

ReceiverOrNowhere = Annotated[str, Field(max_length=LONGEST_ADDRESS), _refused_if(never_called)]
"""The same, but a blank text is no receiver."""


def text_map(longest: int) -> Reads:
    """Reads a map of texts of at most ``longest`` characters; keys keep their case, numbers and
    flags become texts, and what is null is left out."""

    def read(value: object) -> dict[str, str]:
        if value == []:
            # PHP writes an empty map so.
            return {}
        if not isinstance(value, dict):
            raise ValueError("wanted an object of texts")
        if len(value) > MOST_ENTRIES:
            raise ValueError(f"got {len(value)}, wanted at most {MOST_ENTRIES} entries")
        texts: dict[str, str] = {}
        faults: list[str] = []
        for key, item in value.items():
            text = item if isinstance(item, str) else _scalar(item)
            if text is not None and len(text) <= longest and len(key) <= MOST_OF_KEY:
                texts[key] = text
            elif item is not None:
                faults += _faults_of_entry(key, text, longest)
        if faults:
            raise ValueError("; ".join(faults[:_MOST_FAULTS_OF_MAP]))
        return texts

    key = {"maxLength": MOST_OF_KEY}
    text = {"type": "string", "maxLength": longest}
    said = {"maxProperties": MOST_ENTRIES, "propertyNames": key, "additionalProperties": text}
    return Reads(read, {"type": "object", **said})


def _scalar(value: object) -> str | None:
    """The text of a number or a flag; None for an object or a list, which has none."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | Decimal) else None


def _faults_of_entry(key: str, text: str | None, longest: int) -> Iterator[str]:
    """What is wrong with an entry of a map; ``text`` is None for a value that has none."""
    shown = mask_start(key, _LONGEST_KEY_SHOWN)
    if len(key) > MOST_OF_KEY:
        yield f"got a key '{shown}...' of {len(key)}, wanted at most {MOST_OF_KEY} characters"
    if text is None:
        yield f"wanted a text under '{shown}', not an object or a list"
    elif len(text) > longest:
        yield f"got {len(text)} under '{shown}', wanted at most {longest} characters"


Metadata = Annotated[dict[str, str], text_map(MOST_OF_METADATA)]
TextMap = Annotated[dict[str, str], text_map(MOST_CHARACTERS)]
"""Any other map of texts."""

# Numbers, flags and times


def _read_number(value: object) -> Decimal:
    """An exact number from a JSON number or a numeric text. Raises ``ValueError`` for anything
    else, booleans too, which Python takes for numbers."""
    if type(value) is int or type(value) is Decimal:
        return Decimal(value)
    number = number_of(value)
    if number is not None:
        return number
    if isinstance(value, str) and re.fullmatch(COMMA, value):
        hint = "the assumption request.decimal_comma reads both"
        raise ValueError(f"got a decimal comma, wanted a point as in 1.5 ({hint})")
    raise ValueError("wanted a number")


def _read_whole(value: object) -> int:
    """A whole number of 32 bits."""
    number = _read_number(value)
    if number != number.to_integral_value() or not -(2**31) <= number < 2**31:
        raise ValueError("wanted a whole number of 32 bits")
    return int(number)


def _read_payer_amount(value: object) -> Decimal:
    """An amount as a payer types it: ``1e3`` is a slip of the finger, not a thousand."""
    if isinstance(value, str) and re.fullmatch(_PLAIN, value):
        return Decimal(value)
    raise ValueError("wanted an amount in plain digits, such as 12.50")


def _read_flag(value: object) -> bool:
    flag = flag_of(value)
    if flag is None:
        raise ValueError("wanted true or false")
    return flag


_SIGNED: Schema = {"type": "string", "pattern": r"^[+-]?[0-9]{1,18}(\.[0-9]{1,18})?$"}
_INT32: Schema = {"type": "integer", "format": "int32", "minimum": -(2**31), "maximum": 2**31 - 1}
_DIGITS: Schema = {"type": "string", "pattern": "^-?[0-9]{1,9}$"}
_FLAG_WORD: Schema = {"type": "string", "enum": ["true", "false", "True", "False"]}
_EPOCH: Schema = {"type": "integer", "description": "epoch ms"}

Number = Annotated[Decimal, Reads(_read_number, _either({"type": "number"}, _SIGNED))]
Whole32 = Annotated[int, Reads(_read_whole, _either(_INT32, _DIGITS))]
PayerAmount = Annotated[
    Decimal, Reads(_read_payer_amount, {"type": "string", "pattern": f"^{_PLAIN}$"})
]
Flag = Annotated[bool, Reads(_read_flag, _either({"type": "boolean"}, _FLAG_WORD))]
Moment = Annotated[Instant, Reads(read_moment, _either(_DATE_TIME, _EPOCH))]

# Choices and lists


def one_of(choices: type[Enum]) -> Reads:
    """Reads a member of an enumeration of the payments API: by its word in any letter case, or by
    its index (published facts, 8, row 12). Most control calls read exactly, by ``word_of``."""
    names = [member.value for member in choices]
    chosen = choice_of(choices)

    def read(value: object) -> Enum:
        found = chosen(value)
        if found is not None:
            return found
        hint = ""
        if isinstance(value, str):
            hint = nearest(value.lower(), [name.lower() for name in names])
        raise ValueError(f"wanted one of {', '.join(names)}{hint}")

    words = {"type": "string", "enum": names}
    index = {"type": "integer", "minimum": 0, "maximum": len(names) - 1}
    return Reads(read, _either(words, index))


Few = Annotated[list[T], Field(max_length=MOST_CHOICES)]
"""A list of names of a small set."""

Many = Annotated[list[T], Field(max_length=MOST_ITEMS)]
"""A list of objects."""

# Fields of control calls


def whole(least: int = 0, most: int | None = None) -> Reads:
    """Reads a whole number of JSON within bounds."""

    def read(value: object) -> int:
        number = value if type(value) is int else None
        return _within(value, number, least, most)

    return Reads(read, _whole_schema(least, most))


def digits(least: int = 0, most: int | None = None) -> Reads:
    """The same of a query, where it is written in digits."""

    def read(value: object) -> int:
        return _within(value, whole_of(value, 0, _LARGEST_WHOLE), least, most)

    return Reads(read, _whole_schema(least, most))


def _within(value: object, number: int | None, least: int, most: int | None) -> int:
    """The ``number`` that was read of a value, None where it is none. Raises ``ValueError`` outside
    of the bounds."""
    largest = _LARGEST_WHOLE if most is None else most
    if number is None or not least <= number <= largest:
        allowed = f"{least} or more" if most is None else f"{least} to {most}"
        raise ValueError(f"got '{_shown(value)}', wanted a whole number, {allowed}")
    return number


def _whole_schema(least: int, most: int | None) -> Schema:
    bounds = {"minimum": least} if most is None else {"minimum": least, "maximum": most}
    return {"type": "integer", **bounds}


def word_of(*words: str) -> Reads:
    """Reads one of some words of a control call, spelt exactly so."""

    def read(value: object) -> str:
        if not isinstance(value, str) or value not in words:
            shown = _shown(value)
            raise ValueError(f"got '{shown}'{nearest(shown, words)}, allowed: {', '.join(words)}")
        return value

    return Reads(read, {"type": "string", "enum": list(words)})


def _read_name(value: object) -> str:
    """A name that people read: printable, and not blank."""
    if isinstance(value, str) and value.isprintable() and 0 < len(value.strip()) <= _LONGEST_NAME:
        return value
    raise ValueError(f"wanted a text of 1 to {_LONGEST_NAME} printable characters")


def _read_switch(value: object) -> bool:
    flag = flag_of(value)
    if flag is None:
        raise ValueError(f"got '{_shown(value)}', wanted true or false")
    return flag


def _read_key(value: object) -> str:
    """A secret key as a header can carry it: one with other characters could never be sent."""
    if not isinstance(value, str) or not value or not value.isascii() or not value.isprintable():
        raise ValueError("wanted a secret key, as it is sent in x-secretkey")
    if value != value.strip():
        raise ValueError("wanted a secret key without blanks around it")
    return value


def _read_address(value: object) -> str:
    """An address that a webhook can be sent to, and that the sandbox may call."""
    if isinstance(value, str) and len(value) > LONGEST_ADDRESS:
        raise ValueError(f"got {len(value)}, wanted at most {LONGEST_ADDRESS} characters")
    if not isinstance(value, str) or not is_web_address(value):
        raise ValueError("wanted an absolute http or https address")
    why = never_called(value)
    if why is not None:
        raise ValueError(why)
    return value


def _read_duration(value: object) -> int:
    return parse_duration(str(value))


def _read_date_time(value: object) -> int:
    return parse_instant(str(value))


_NAME_SCHEMA: Schema = {"type": "string", "minLength": 1, "maxLength": _LONGEST_NAME}

_ADDRESS_SCHEMA: Schema = {"type": "string", "format": "uri", "maxLength": LONGEST_ADDRESS}

PrintableName = Annotated[str, Reads(_read_name, _NAME_SCHEMA)]
SecretKey = Annotated[str, Reads(_read_key, _TEXT)]
WebAddress = Annotated[str, Reads(_read_address, _ADDRESS_SCHEMA)]
Switch = Annotated[bool, Reads(_read_switch, {"type": "boolean"})]
Duration = Annotated[int, Reads(_read_duration, _TEXT)]
"""A duration such as ``1h30m``, in microseconds."""

DateTime = Annotated[int, Reads(_read_date_time, _DATE_TIME)]
"""An ISO date-time, in microseconds."""

ClockRate = Annotated[int, whole(1, FASTEST)]
ClockModeWord = Annotated[ClockMode, one_of(ClockMode)]
ProfileWord = Annotated[Profile, one_of(Profile)]
Severity = Annotated[str, word_of("none", "warning", "error")]
EndOfHold = Annotated[str, word_of("held", "gone")]
