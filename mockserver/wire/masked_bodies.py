"""Request bodies as they may be shown: no full card number and no ccv, wherever a caller put them.

Source: control document, Security.
"""

from __future__ import annotations

from collections.abc import Callable

from mockserver.domain.masking import EFFORT, LONGEST_TEXT, mask_digits, mask_json, sendable_json
from mockserver.wire.jsonio import MalformedJson, loads

_MOST_VALUES = 20_000
_LONGEST = 1_000_000


def mask_body(raw: bytes, beyond: int = 0) -> object:
    """A body as it may be shown. One that is not JSON, is very long or holds too many values to be looked at one by
    one, is shown as the beginning of its text with every digit masked; so is one with bytes ``beyond`` those that are
    there."""
    return _shown(raw, mask_json, beyond)


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
    text = mask_digits(raw[:LONGEST_TEXT].decode("utf-8", "replace"))
    whole = len(raw) + beyond
    return text if whole <= LONGEST_TEXT else f"{text}... ({whole} bytes)"


def _has_few_values(raw: bytes) -> bool:
    """Whether a JSON text cannot hold too many values: commas in texts, as those of a batch, part none."""
    if raw.count(b",") <= _MOST_VALUES:
        return True
    bare = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    # A field with a text has four quotes.
    is_short = bare.count(b'"') <= 4 * _MOST_VALUES
    return is_short and sum(part.count(b",") for part in bare.split(b'"')[::2]) <= _MOST_VALUES
