"""Request bodies as they may be shown: no full card number and no ccv, wherever a caller put them.

Source: control document, Security.
"""

from __future__ import annotations

from collections.abc import Callable

from mockserver.domain.masked_json import mask_json, sendable_json
from mockserver.domain.masking import KEY, LONGEST_TEXT, mask_digits
from mockserver.wire.jsonio import MalformedJson, loads

_LONGEST = 1_000_000
"""Bytes of a body that is looked at value by value."""


def mask_body(raw: bytes, beyond: int = 0) -> object:
    """A body as it may be shown. One that is not JSON or is very long is shown as the beginning of its text with every
    digit and key masked; so is one with bytes ``beyond`` those that are there."""
    return _shown(raw, mask_json, beyond)


def sendable_body(raw: bytes) -> object:
    """The same, fit to be sent again: see ``sendable_json``."""
    return _shown(raw, sendable_json)


def _shown(raw: bytes, show: Callable[[object], object], beyond: int = 0) -> object:
    if not raw or raw.isspace():
        return None
    if not beyond and len(raw) <= _LONGEST:
        try:
            return show(loads(raw))
        except MalformedJson:
            pass
    text = mask_digits(KEY.sub("sk_***", raw[:LONGEST_TEXT].decode("utf-8", "replace")))
    whole = len(raw) + beyond
    return text if whole <= LONGEST_TEXT else f"{text}... ({whole} bytes)"
