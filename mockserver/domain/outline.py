"""Where digits stand in a body, seen in one pass over its text.

It is asked twice of each: for numbers of an unusual form as the body is read, and for card numbers in the wrong place
once it is answered. Both look closer only where the outline has something to look at.
"""

from __future__ import annotations

RUN = 13
"""Digits of the shortest run that is counted: fewer are no card number."""

_ZEROS = b"0" * RUN
_SHAPES = bytes.maketrans(b"123456789 +-./_\tNiEan%\\" + bytes(range(128, 256)), b"0" * 18 + b"eee" + b"\1" * 130)
HIDDEN = b"\1"
"""Where a digit, or what parts digits, may be several characters: escaped, percent-encoded or beyond ASCII."""


def outline_of(text: bytes) -> tuple[bytes, int]:
    """The text with digits, and what may stand between them, as 0, with what may hide one of those as ``HIDDEN`` and
    with what may begin an exponent as e; and how often ``RUN`` zeros stand there. NaN becomes 0e0, like an exponent,
    and the end of Infinity 0e0ty."""
    shapes = text.translate(_SHAPES)
    return shapes, shapes.count(_ZEROS)
