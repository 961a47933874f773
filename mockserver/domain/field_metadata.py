"""Metadata of annotated fields: how a value is read, its bounds, and its JSON schema.

They take part in what pydantic does with annotations, by its own two hooks, and so do the bodies of requests, which are
read without pydantic. A function that reads raises ``ValueError`` with what is allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

Read = Callable[[Any], Any]
Schema = dict[str, Any]
"""A schema of pydantic's core, or a JSON schema."""


class Marker:
    """Base of all metadata: changes nothing."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        return handler(source)

    def __get_pydantic_json_schema__(self, core: Any, handler: Callable[[Any], Schema]) -> Schema:
        return handler(core)


@dataclass(eq=False)
class Reads(Marker):
    """The value is what a function makes of what is given; ``schema`` is the JSON schema of what it takes."""

    read: Read
    schema: Mapping[str, Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        return plain(self.read)

    def __get_pydantic_json_schema__(self, core: Any, handler: Callable[[Any], Schema]) -> Schema:
        return dict(self.schema)


@dataclass(eq=False)
class Before(Marker):
    """What a function makes of what is given is read as the type says. ``takes`` is the type of what it takes, for the
    JSON schema."""

    read: Read
    takes: Any = None

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        taken = {} if self.takes is None else {"json_schema_input_schema": handler.generate_schema(self.takes)}
        return {"type": "function-before", "function": _function(self.read), "schema": handler(source), **taken}


@dataclass(eq=False)
class After(Marker):
    """The value is what a function makes of what was read as the type says."""

    read: Read

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        return after(self.read, handler(source))


class Bounds(Marker):
    """Bounds of a text or a list, in the words of pydantic's core: ``min_length``, ``max_length``, ``pattern``."""

    def __init__(self, **bounds: int | str) -> None:
        self.bounds = bounds

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        return {**handler(source), **self.bounds}

    def __get_pydantic_json_schema__(self, core: Any, handler: Callable[[Any], Schema]) -> Schema:
        shown = handler(core)
        counted = _COUNTED.get(shown["type"], "Length")
        return {**shown, **{name.replace("_length", counted): bound for name, bound in self.bounds.items()}}


_COUNTED = {"array": "Items", "object": "Properties"}
"""What JSON schemas say is counted, where it is not the characters of a text."""


@dataclass(eq=False)
class Shown(Marker):
    """The value has this JSON schema."""

    schema: Mapping[str, Any]

    def __get_pydantic_json_schema__(self, core: Any, handler: Callable[[Any], Schema]) -> Schema:
        return dict(self.schema)


class ShownWith(Shown):
    """The JSON schema of the value has this besides."""

    def __get_pydantic_json_schema__(self, core: Any, handler: Callable[[Any], Schema]) -> Schema:
        return {**handler(core), **self.schema}


@dataclass(eq=False)
class FileKey(Marker):
    """The key by which a field goes in a file, where it is not its name."""

    key: str


@dataclass(eq=False)
class Choice(Marker):
    """The value is read as one of several types: that which ``kind_of`` names of what is given."""

    kind_of: Callable[[Any], str]
    types: Mapping[str, Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        choices = {name: handler.generate_schema(one) for name, one in self.types.items()}
        return {"type": "tagged-union", "choices": choices, "discriminator": self.kind_of}


def wrapped(inner: Callable[[Any], Schema], hooks: Iterable[Callable[..., Schema]]) -> Callable[[Any], Schema]:
    """How a type becomes a schema by the hooks of its metadata, from first to last: each has the one before it as
    its handler, the first has ``inner``."""
    for hook in hooks:
        inner = partial(hook, handler=inner)
    return inner


def plain(read: Read) -> Schema:
    """The core's schema of what a function reads."""
    return {"type": "function-plain", "function": _function(read)}


def after(read: Read, schema: Schema) -> Schema:
    """The core's schema of what a function makes of what was read."""
    return {"type": "function-after", "function": _function(read), "schema": schema}


def _function(read: Read) -> Schema:
    return {"type": "no-info", "function": read}
