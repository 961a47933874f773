"""Readers of the values of options: a text in, the value out. Each raises ``ValueError`` for what is not allowed."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from urllib.parse import urlsplit


def read_whole(low: int, high: int) -> Callable[[str], int]:
    """A reader of whole numbers within both bounds."""

    def read(text: str) -> int:
        if not text.isascii() or not text.isdecimal() or not low <= int(text[:20]) <= high:
            raise ValueError(text)
        return int(text)

    return read


def read_choice(*choices: str) -> Callable[[str], str]:
    """A reader of one of some words, in any letter case."""

    def read(text: str) -> str:
        if text.lower() not in choices:
            raise ValueError(text)
        return text.lower()

    return read


def read_text(text: str) -> str:
    """A printable text that is not empty."""
    if not text or not text.isprintable():
        raise ValueError(text)
    return text


def read_header_text(text: str) -> str:
    """A text that a header can hold."""
    if not text.isascii():
        raise ValueError(text)
    return read_text(text)


def read_host(text: str) -> str:
    """A host name or an IP address, the brackets of an IPv6 address taken off."""
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    if not bare or any(character.isspace() or character in "/@?#" for character in bare):
        raise ValueError(text)
    return bare


_SWITCHES = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def read_switch(text: str) -> bool:
    """True or false, in the words that environments use."""
    return _SWITCHES[read_choice(*_SWITCHES)(text)]


def read_negated(text: str) -> bool:
    """The opposite of a switch, for options that begin with ``--no-``."""
    return not read_switch(text)


def read_clock(text: str) -> str:
    """A mode of the clock, or the instant at which it stands still."""
    if text.lower() in ("real", "manual"):
        return text.lower()
    datetime.fromisoformat(text)
    return text


_LENGTH = r"[1-9]\d{0,6}(s|m|h|d)"


def read_length(text: str) -> str:
    """A length of time as text: a whole number above 0 with its unit."""
    if not re.fullmatch(_LENGTH, text):
        raise ValueError(text)
    return text


_UNFIT = frozenset(" \"'<>\\;,*")
"""Signs that would mean something else where an address stands in the policy of a page."""


def read_url(text: str) -> str:
    """An http or https address without query; its trailing slashes are taken off."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(text)
    if not text.isascii() or not text.isprintable() or _UNFIT & set(text):
        raise ValueError(text)
    return text.rstrip("/")


_SIZES = {"kb": 1_000, "mb": 1_000_000, "kib": 1_024, "mib": 1_048_576, "b": 1, "": 1}


def read_size(text: str) -> int:
    """A size in bytes from 1 KB to 1000 MB."""
    digits = text.rstrip("BbIiKkMm ")
    unit = text[len(digits) :].strip().lower()
    if unit not in _SIZES:
        raise ValueError(text)
    size = read_whole(1, 1_000_000_000)(digits) * _SIZES[unit]
    if not 1_000 <= size <= 1_000_000_000:
        raise ValueError(text)
    return size
