"""The models of the parts of a scenario file: what all of them share.

A model is a record that pydantic checks as it reads a file: the value that was read is the value
that runs. What pydantic needs for that is made when the first file comes.

Pydantic finds every fault at once, and makes the schema for editors of the same classes. But it
speaks of types of Python and of union members, and knows neither the line of a fault nor which key
was meant. So each model reads its part by ``_read``, around pydantic: that says what may stand
there at all, words unknown keys with the nearest known one, and stops where a file has more faults
than anybody is told. ``in_words`` then says each fault in terms of the file, at a path that
``Problems`` knows the line of.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import field, fields
from decimal import Decimal
from functools import cache
from typing import Any, TypeVar, cast, dataclass_transform, get_args, get_type_hints

from pydantic import BeforeValidator, ConfigDict, TypeAdapter, ValidationInfo, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError, ValidationError

from mockserver.domain.bounded_cache import by_type
from mockserver.domain.errors import MOST_FAULTS
from mockserver.domain.record import mutable, record
from mockserver.scenario.operations import meaning_of, unknown_key
from mockserver.scenario.problems import Path, Problems
from mockserver.scenario.values import excerpt

T = TypeVar("T")


def only_one(present: Sequence[str], keys: Iterable[str]) -> str:
    """The one of some keys that is there. Raises ``ValueError`` for none and for several."""
    if len(present) != 1:
        raise ValueError(
            f"got {' and '.join(present) or 'none'}, wanted exactly one of {', '.join(keys)}"
        )
    return present[0]


def _wanted(model: type[object], got: object) -> str:
    """What a part of a model may be, where something is no map. A model says with ``bare`` which of
    its keys a number may stand for, and with ``others`` what else the part may be."""
    keys = keys_of(model)
    if not keys:
        return "{}: there is nothing more to say"
    bare = getattr(model, "bare", None)
    if bare is not None:
        # The number that was got shows its author what to write.
        number: int | Decimal = 5
        if isinstance(got, (int, Decimal)) and not isinstance(got, bool):
            number = got
        return f"{getattr(model, 'others', '')}a map such as {{{bare}: {number}}}"
    try:
        read_model(model, {})
    except ValidationError:
        return f"a map of {', '.join(keys)}"
    # A part that may say nothing is switched on by {}.
    return f"{{}} or a map of {', '.join(keys)}"


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def file_model(cls: type[T]) -> type[T]:
    """A record that is the model of a part, which has no unknown keys.

    What it refuses, it refuses in ``__post_init__``; what only the file shows, in a class method
    ``prepare``, which gives the data as they are to be read; with ``says_something`` it refuses to
    have no key. The schema for editors has its keys and their types; what belongs together only
    reading knows. ``words`` are what explanations say of it.
    """
    model: Any = record(cls)
    # What was read may be a card number, and messages go to logs.
    model.__pydantic_config__ = ConfigDict(extra="forbid", hide_input_in_errors=True)
    model.read_model = model_validator(mode="wrap")(cast(Any, classmethod(_read)))
    return model  # type: ignore[no-any-return]


@mutable
class ReadingContext:
    """What validators know of one reading: the faults that it has found so far (beyond
    ``MOST_FAULTS`` no part is read, as the file is refused anyway), and whether a sandbox has the
    file from a version that refused less, as in ``Problems``."""

    faults: int = 0
    was_taken: bool = False


def _read(
    cls: type[T], data: object, handler: Callable[[object], T], info: ValidationInfo[ReadingContext]
) -> T:
    """Read a part: what every model refuses, then what this one does, then its fields."""
    reading = info.context
    faults_before = reading.faults
    if faults_before > MOST_FAULTS:
        # The file is refused: nobody looks at what stands here.
        return cast(T, data)
    # Whatever is refused from here on is one fault, unless it turns out to be several.
    reading.faults += 1
    if not isinstance(data, dict):
        raise ValueError(f"got {got_of(data)}, wanted {_wanted(cls, data)}")
    known = keys_of(cls)
    if not data and hasattr(cls, "says_something"):
        raise ValueError(f"got nothing, wanted at least one of {', '.join(known)}")
    has_unknown = any(key not in known for key in data)
    prepare = getattr(cls, "prepare", None)
    if has_unknown:
        # Nor is anything prepared: an unknown key may be a misspelt one of those that belong
        # together, and its author would be told of one that is missing.
        data = _few_unknown(data, known)
    elif prepare is not None:
        data = prepare(data)
    reading.faults = faults_before
    try:
        return handler(data)
    except ValidationError as refused:
        reading.faults = faults_before + refused.error_count()
        if not has_unknown:
            raise
        faults = [_fault(cls, fault) for fault in refused.errors(include_url=False)]
        raise ValidationError.from_exception_data(cls.__name__, faults) from None


def _few_unknown(data: dict[object, object], known: Collection[object]) -> dict[object, object]:
    """The data without the unknown keys that nobody is told of: pydantic words each that it sees,
    and a file may have a million of them."""
    unknown = [key for key in data if key not in known]
    # One more than is told stays, so that the author hears that more faults follow.
    untold = frozenset(unknown[MOST_FAULTS + 1 :])
    return {key: value for key, value in data.items() if key not in untold}


def _fault(cls: type[object], fault: ErrorDetails) -> InitErrorDetails:
    """A fault of a part, an unknown key with the nearest known one: pydantic knows neither that nor
    where the key belongs."""
    kind, text, place = fault["type"], fault["msg"], fault["loc"]
    if kind in _UNKNOWN:
        key = str(place[-1])
        place = (*place[:-1], key)
        kind = "unknown_key"
        # A rule with ``decline`` beside ``then`` is right but for the level.
        where = getattr(cls, "misplaced", {}).get(key)
        if where is None:
            text = unknown_key(key, keys_of(cls))
        else:
            text = f"got '{key}' here, wanted it under {where}"
    # Pydantic fills its template with the context, and ``in_words`` looks there for what is
    # allowed. The text may hold braces of the file: so it is filled in, and is no template.
    context = {**fault.get("ctx", {}), "text": text}
    error = PydanticCustomError(cast(Any, kind), "{text}", context)
    return InitErrorDetails(type=error, loc=place, input=fault["input"])


_UNKNOWN = ("unexpected_keyword_argument", "invalid_key")


_TYPES = {
    "dict_type": "a map of keys and values",
    "list_type": "a list",
    "tuple_type": "a list",
    "frozen_set_type": "a list",
    "string_type": "a text",
}
_SUCH_AS = ", such as {op: charge.create}"


def in_words(fault: ErrorDetails, data: object) -> tuple[Path, str]:
    """The place of a fault in the data of a file, and what was got and is wanted there: the words
    of pydantic are about types of Python, which an author of YAML need not know."""
    path = _inside(fault["loc"], data)
    got = got_of(fault["input"])
    context: dict[str, Any] = fault.get("ctx", {})
    match fault["type"]:
        case "missing":
            return path[:-1], f"'{fault['loc'][-1]}' is missing"
        case "value_error":
            return path, str(context["error"])
        case "literal_error" | "enum":
            # Pydantic has the words in a sentence: 'a', 'b' or 'c'.
            listed = context["expected"].replace(" or ", ", ").split(", ")
            words = [word.strip("' ") for word in listed]
            word = str(fault["input"])
            hint = meaning_of(word, words)
            if word in words:
                # So the file must have written it as another type: "1" for 1.
                hint = ", without quotes"
            return path, f"got {got}, allowed: {', '.join(words)}{hint}"
        case "string_pattern_mismatch":
            return path, f"got {got}, wanted {_pattern_words(context['pattern'])}"
        case "too_short" | "string_too_short":
            # Of a text that is too short pydantic does not say how short: it is empty.
            actual = context.get("actual_length") or "nothing"
            least = context.get("min_length", 1)
            wanted = "one" if least == 1 else least
            return path, f"got {actual}, wanted at least {wanted}"
        case "too_long" | "string_too_long":
            return path, f"got more than the {context['max_length']} that are allowed"
        case kind if kind in _TYPES:
            example = _SUCH_AS if path[-1:] == ("when",) else ""
            return path, f"got {got}, wanted {_TYPES[kind]}{example}"
        case _:
            return path, fault["msg"].removeprefix("Value error, ")


def _inside(place: Path, data: object) -> Path:
    """A place of the models as a place of the file, which has the line: without the names of
    choices, and not inside a short form (``latency: 2s`` has no ``min``)."""
    path: Path = ()
    for part in place:
        if isinstance(part, str) and part.startswith("<"):
            # The tag of a choice of models, such as <call>, which no file writes.
            continue
        if not isinstance(data, (dict, list)):
            # A short form: what pydantic goes on into, the reader has made of it.
            break
        path = (*path, part)
        if isinstance(data, dict):
            data = data.get(part)
        elif isinstance(part, int) and part < len(data):
            data = data[part]
    return path


def _pattern_words(pattern: str) -> str:
    """What a pattern of the models means, in words: pydantic would show the pattern itself."""
    if pattern.startswith("^GET"):
        return "GET and a path, such as GET /batch/{b.batchId}/status"
    if pattern.startswith("^(GET"):
        return "a method and a path, such as POST /charge/card"
    return "three letters, such as AUD"


def got_of(value: object) -> str:
    """What was got, in words: of a map or a list only which it is."""
    if isinstance(value, dict):
        return "a map"
    if isinstance(value, list):
        return "a list"
    return excerpt(value)


def read_model(cls: type[T], data: object, *, was_taken: bool = False) -> T:
    """The part that plain data of a file describe. Raises ``ValidationError`` with every fault."""
    reader: TypeAdapter[T] = adapter(cls)  # type: ignore[arg-type]
    return reader.validate_python(data, context=ReadingContext(was_taken=was_taken))


def read_part(cls: type[T], data: object, problems: Problems) -> T | None:
    """The part that plain data of a file describe, None when they get faults into ``problems``."""
    try:
        return read_model(cls, data, was_taken=problems.was_taken)
    except ValidationError as refused:
        told: set[tuple[Path, str]] = set()
        for fault in refused.errors(include_url=False):
            words = in_words(fault, data)
            # A short form may stand for two fields: its fault is named once.
            if words not in told:
                told.add(words)
                problems.add(*words)
        return None


def short_for(key: str, model: Any) -> BeforeValidator:
    """Reads anything but a map as a part that has this key alone; ``model`` is what may stand
    there, for editors."""

    def read(value: object) -> object:
        if isinstance(value, dict):
            return value
        return {key: value}

    return BeforeValidator(read, model)


@cache
def adapter(cls: Any) -> TypeAdapter[Any]:
    """What reads a part, and knows its JSON schema."""
    return TypeAdapter(cls)


@by_type
def keys_of(cls: Any) -> list[str]:
    """The keys that a part has in a file."""
    hints = get_type_hints(cls, include_extras=True)
    return [_key_of(key.name, hints[key.name]) for key in fields(cls) if key.init]


def _key_of(name: str, hint: object) -> str:
    """The key of a field: its alias, where its annotation gives one, as ``for`` is no name in
    Python."""
    for metadata in get_args(hint):
        if isinstance(metadata, FieldInfo) and metadata.alias:
            return metadata.alias
    return name


@file_model
class Empty:
    """Nothing more to say: ``{}``."""
