"""Request bodies as they may be shown: no full card number and no ccv, wherever a caller put them.

Source: docs/security.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from mockserver.domain.masked_json import mask_json, sendable_json
from mockserver.domain.masking import (
    EFFORT,
    KEY,
    LONGEST_TEXT,
    is_masked_by_name,
    is_plain,
    mask_digits,
    mask_field,
    mask_text,
)
from mockserver.wire.jsonio import MalformedJson, compact, dumps, loads

_MOST_VALUES = 20_000
_LONGEST = 1_000_000

_LONGEST_NAME = 100


def mask_body(raw: bytes, beyond: int = 0) -> object:
    """A body as it may be shown. One that is not JSON, is very long or holds too many values to be looked at one by
    one, is shown as the beginning of its text with every digit and key masked; so is one with bytes ``beyond`` those
    that are there."""
    text = _masked_at_once(raw) if not beyond else None
    return _shown(raw, mask_json, beyond) if text is None else loads(text.encode())


def masked_text(raw: bytes) -> str:
    """The JSON text of what is shown of a body."""
    text = _masked_at_once(raw)
    return dumps(_shown(raw, mask_json)).decode() if text is None else text


def sendable_body(raw: bytes) -> object:
    """The same, fit to be sent again: see ``sendable_json``."""
    return _shown(raw, sendable_json)


def _shown(raw: bytes, show: Callable[[object], object], beyond: int = 0) -> object:
    if not raw or (raw[:1].isspace() and raw.isspace()):
        return None
    EFFORT.signs += min(len(raw), _LONGEST) // 10
    if not beyond and len(raw) <= _LONGEST and _has_few_values(raw):
        try:
            return show(loads(raw))
        except MalformedJson:
            pass
    text = mask_digits(KEY.sub("sk_***", raw[:LONGEST_TEXT].decode("utf-8", "replace")))
    whole = len(raw) + beyond
    return text if whole <= LONGEST_TEXT else f"{text}... ({whole} bytes)"


def _masked_at_once(raw: bytes) -> str | None:
    """The JSON text of a short body as it may be shown, in a quarter of the time of looking at each value: where every
    field that its name masks holds a text, and the rest has nothing to mask. None for other bodies."""
    # Of so short a body all is shown, whatever values it has.
    if len(raw) > LONGEST_TEXT or b"%" in raw or (plain := compact(raw)) is None:
        return None
    EFFORT.signs += len(raw) // 10
    text = plain.decode()
    # Without escapes every other part is a text, or a name where a colon follows.
    parts = text.split('"')
    names = {part for part, behind in zip(parts[1::2], parts[2::2], strict=True) if behind[:1] == ":"}
    if max(map(len, names), default=0) > _LONGEST_NAME:
        return None
    for name in filter(is_masked_by_name, names):
        expected = text.count(f'"{name}":')
        text, found = _texts_in(name).subn(lambda field: f'{field[1]}{mask_field(field[2], field[3])}"', text)
        if found != expected:
            return None
    # No card number or key goes over the quotes of a text: one that is found is in a text, a name or a number alone.
    return text if is_plain(text.encode()) or mask_text(text) == text else None


@lru_cache(100)
def _texts_in(name: str) -> re.Pattern[str]:
    return re.compile(rf'("({re.escape(name)})":")([^"]*)"')


def _has_few_values(raw: bytes) -> bool:
    """Whether a JSON text cannot hold too many values: commas in texts, as those of a batch, part none."""
    if raw.count(b",") <= _MOST_VALUES:
        return True
    bare = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    # A field with a text has four quotes.
    is_short = bare.count(b'"') <= 4 * _MOST_VALUES
    return is_short and sum(part.count(b",") for part in bare.split(b'"')[::2]) <= _MOST_VALUES
