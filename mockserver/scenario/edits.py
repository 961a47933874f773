"""``edit`` and ``omit``: how a file changes single members of a JSON text, and the change itself.

Source: docs/scenario-language.md, transport; docs/scenario-language.md, webhook. A path names members from the outside
in, ``paymentInformation.card``; a number names an element of a list from 0, ``*`` each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, Field, WithJsonSchema

from mockserver.domain.masking import mask_text
from mockserver.scenario.scalars import Text

_LONGEST = 200
_EACH = "*"


def _path(text: str) -> str:
    if len(text) > _LONGEST or not all(text.split(".")):
        raise ValueError(f"got '{text[:60]}', wanted the path of a member, such as paymentInformation.card")
    return text


EditPath = Annotated[
    Text,
    AfterValidator(_path),
    WithJsonSchema({"type": ["string", "integer"], "pattern": r"^[^.]+(\.[^.]+)*$", "maxLength": 200}),
]
Edit = Annotated[dict[EditPath, Any], Field(min_length=1, max_length=100)]
Omit = Annotated[tuple[EditPath, ...], Field(min_length=1, max_length=100)]


_GONE = object()
"""Stands for the new value of a member that is left out."""


def edited(value: object, edit: Mapping[str, object], omit: Sequence[str]) -> object:
    """A JSON value with members set, added or left out. A path through a missing member changes nothing.
    The value itself stays as it is."""
    for path, new in (*edit.items(), *((path, _GONE) for path in omit)):
        value = _changed(value, path.split("."), new)
    return value


def unfound(value: object, edit: Mapping[str, object], omit: Sequence[str]) -> list[str]:
    """The paths that change nothing of a JSON value, each in words."""
    found = []
    for word, path, new in (*(("edit", *one) for one in edit.items()), *(("omit", path, _GONE) for path in omit)):
        if _changed(value, path.split("."), object() if word == "edit" else _GONE) == value:
            found.append(f"{word} '{mask_text(path)}'")
        value = _changed(value, path.split("."), new)
    return found


def _changed(value: Any, path: Sequence[str], new: object) -> Any:
    if not isinstance(value, (dict, list)):
        return value
    holder: Any = value.copy()
    adds = isinstance(value, dict) and len(path) == 1 and new is not _GONE
    # From the end, as what is left out of a list moves what follows.
    for key in [path[0]] if adds else reversed(list(_keys(holder, path[0]))):
        if len(path) > 1:
            holder[key] = _changed(holder[key], path[1:], new)
        elif new is _GONE:
            del holder[key]
        else:
            holder[key] = new
    return holder


def _keys(holder: Any, part: str) -> Iterator[Any]:
    """The members of an object or a list that one part of a path names."""
    if isinstance(holder, dict):
        yield from [part] if part in holder else []
    elif part == _EACH:
        yield from range(len(holder))
    elif part.isascii() and part.isdigit() and int(part) < len(holder):
        yield int(part)
