"""Placeholders: ``{ann.customerId}`` in a call stands for a member of an earlier call's answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

PLACEHOLDER = re.compile(r"\{([A-Za-z0-9_-]+)\.([A-Za-z0-9_][A-Za-z0-9_.-]*)\}")


def placeholders(value: object) -> Iterator[tuple[str, str]]:
    """Every placeholder in the texts of a value: the id of the call, and the whole of it."""
    match value:
        case str():
            yield from ((found[1], found[0]) for found in PLACEHOLDER.finditer(value))
        case Mapping():
            for one in value.values():
                yield from placeholders(one)
        case list() | tuple():
            for one in value:
                yield from placeholders(one)
        case _:
            return


def filled(value: Any, answers: Mapping[str, object]) -> Any:
    """The value with every placeholder replaced. A text that is one placeholder becomes the member itself, of any type.

    Raises ``LookupError`` naming a placeholder whose member no answer has.
    """
    if isinstance(value, str):
        whole = PLACEHOLDER.fullmatch(value)
        if whole is not None:
            return _member(whole, answers)
        return PLACEHOLDER.sub(lambda found: _text(_member(found, answers)), value)
    if isinstance(value, Mapping):
        return {key: filled(one, answers) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [filled(one, answers) for one in value]
    return value


def _text(value: object) -> str:
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def _member(found: re.Match[str], answers: Mapping[str, object]) -> object:
    member: object = answers.get(found[1])
    for part in found[2].split("."):
        if isinstance(member, Mapping):
            member = member.get(part)
        elif isinstance(member, list) and part.isdecimal() and int(part) < len(member):
            member = member[int(part)]
        else:
            member = None
        if member is None:
            raise LookupError(f"{found[0]}: the answer of '{found[1]}' has no such member")
    return member
