"""The tools as rows of ``tools.csv``: what each is for, what it takes, and how that is checked.

A tool answers with text. What comes from traffic is masked, card numbers and keys; what the product
prints for anybody, such as its documentation with the published test cards, is not.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from mockserver.domain.errors import nearest
from mockserver.domain.masking import mask_printed, mask_start
from mockserver.domain.record import read_grouped, read_table, record

Arguments = Mapping[str, Any]
"""What a tool is called with, by name."""

Schema = dict[str, Any]
"""A JSON schema."""

Run = Callable[[Arguments], Awaitable[str]]
"""What a tool does; raises ``ToolRefused``."""

_FOLDER = Path(__file__).parent
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str, int),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
"""What a value may be to count as of a type of JSON schema. A number counts as a text: agents write
an id or an amount either way."""


class ToolRefused(Exception):
    """A tool was not used rightly, or what it asks was refused; the text is what a person would
    get."""


def masked(text: str) -> str:
    """What came from traffic, or a program printed, without card numbers, ccv behind their names
    and keys."""
    return "\n".join(map(mask_printed, text.splitlines()))


@record
class Row:
    """One tool, with words ``about`` it for the agent. One that is a call of the control API has
    that ``call`` (method and path), the arguments that it ``offers`` of those that the call has,
    all when none is named, and in ``fixed`` the parameters that it gives itself, as a query."""

    name: str
    call: str
    offers: str
    fixed: str
    about: str


@record
class _Argument:
    """One argument of a tool that is no such call."""

    tool: str
    name: str
    kind: str
    required: str
    about: str


@cache
def rows() -> Mapping[str, Row]:
    """The tools by name, in the order in which they are listed."""
    return {row.name: row for row in read_table("tools", Row, _FOLDER)}


@cache
def _arguments() -> Mapping[str, Sequence[_Argument]]:
    return read_grouped("arguments", _Argument, _FOLDER)


@record
class Tool:
    """One tool: its row, the schemas of its arguments (``properties``), those that it needs, what
    does it; ``reads``: it changes nothing.

    Arguments are checked here once for all tools, as agents make names up: a refusal says what is
    allowed, where an ignored argument would seem to have worked.
    """

    row: Row
    properties: Mapping[str, Schema]
    required: Sequence[str]
    run: Run
    reads: bool = True

    async def __call__(self, arguments: Arguments) -> str:
        """The answer in words. Raises ``ToolRefused`` for arguments that are unknown, missing or of
        another type, and what the tool raises."""
        known = self.properties
        # What is misspelt first: what then seems to be missing is there, under another name.
        for name in arguments:
            if name not in known:
                got = f"unknown argument '{mask_start(name, 60)}'{nearest(name, known)}"
                raise ToolRefused(f"{got}, allowed: {', '.join(known)}")
        for name in self.required:
            if name not in arguments:
                wanted = known[name].get("description", "a text")
                raise ToolRefused(f"{name} is missing: wanted {wanted}")
        for name, value in arguments.items():
            kind = known[name].get("type", "")
            if not _is_of_kind(value, kind):
                got = mask_printed(json.dumps(value))[:100]
                about = known[name].get("description", "")
                raise ToolRefused(f"{name}: got {got}, wanted {kind}: {about}")
        return await self.run(arguments)


def _is_of_kind(value: object, kind: str) -> bool:
    """Whether a value is of a type of JSON schema; any value is of one that is not listed, as where
    a schema has several."""
    if kind not in _TYPES:
        return True
    # A flag is a whole number to Python alone.
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES[kind])


def listed(
    name: str, run: Run, more: Mapping[str, Schema] | None = None, *, reads: bool = True
) -> Tool:
    """A tool of the table that is no call of the control API: with the arguments that the table of
    arguments has for it, and ``more`` that are known elsewhere."""
    rows_of_tool = _arguments()[name]
    properties = {row.name: argument(row.kind, row.about) for row in rows_of_tool}
    if more is not None:
        properties |= more
    required = [row.name for row in rows_of_tool if row.required]
    return Tool(rows()[name], properties, required, run, reads)


def argument(kind: str, about: str) -> Schema:
    """The schema of one argument. The items of a list are texts: no tool takes another list."""
    schema: Schema = {"type": kind, "description": about}
    if kind == "array":
        schema["items"] = {"type": "string"}
    return schema
