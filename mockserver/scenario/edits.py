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


def edited(value: object, edit: Mapping[str, object], omit: Sequence[str]) -> object:
    """A JSON value with members set, added or left out. A path through a missing member changes nothing.
    The value itself stays as it is."""
    for path, new in edit.items():
        value = _changed(value, path.split("."), lambda holder, key, new=new: _set(holder, key, new))
    for path in omit:
        value = _changed(value, path.split("."), _left_out)
    return value


def unfound(value: object, edit: Mapping[str, object], omit: Sequence[str]) -> list[str]:
    """The paths that change nothing of a JSON value, each in words."""
    found = []
    for path, new in edit.items():
        if edited(value, {path: object()}, ()) == value:
            found.append(f"edit '{mask_text(path)}'")
        value = edited(value, {path: new}, ())
    for path in omit:
        if edited(value, {}, (path,)) == value:
            found.append(f"omit '{mask_text(path)}'")
        value = edited(value, {}, (path,))
    return found


def _changed(value: Any, path: Sequence[str], change: Any) -> Any:
    if not isinstance(value, (dict, list)):
        return value
    holder = value.copy()
    if len(path) == 1:
        return change(holder, path[0])
    for key in _keys(holder, path[0]):
        holder[key] = _changed(holder[key], path[1:], change)
    return holder


def _keys(holder: Any, part: str) -> Iterator[Any]:
    """The members of an object or a list that one part of a path names."""
    if isinstance(holder, dict):
        yield from [part] if part in holder else []
    elif part == _EACH:
        yield from range(len(holder))
    elif part.isascii() and part.isdigit() and int(part) < len(holder):
        yield int(part)


def _set(holder: Any, part: str, new: object) -> Any:
    for key in [part] if isinstance(holder, dict) else _keys(holder, part):
        holder[key] = new
    return holder


def _left_out(holder: Any, part: str) -> Any:
    for key in reversed(list(_keys(holder, part))):
        del holder[key]
    return holder
