"""Collecting every broken rule of a command before refusing it, so that a caller can fix them all at once.

The form of a request was checked before: a command exists only when each of its fields could be read.
"""

from __future__ import annotations

from mockserver.domain.codes import Code
from mockserver.domain.errors import Invalid

_MUTE = frozenset({Code.INVALID_CARD_NUMBER})
"""Codes whose error object carries no details (published facts, 4.1: asserted by a client suite)."""


class Faults:
    """Faults found so far: a code and, per PascalCase field, what was got and what is allowed."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: list[tuple[Code, str, str]] = []

    def add(self, code: Code, field: str, text: str) -> None:
        """Remember one fault."""
        self._found.append((code, field, text))

    def absorb(self, refused: Invalid) -> None:
        """Remember the faults of a check that raises when it is asked alone."""
        self._found += [(refused.code, field, text) for field, text in (refused.details or {}).items()]

    def blames(self, field: str) -> bool:
        """Whether a fault of a field, or of something in it, is known: what follows from the field is then in doubt."""
        return any(name == field or name.startswith(field + ".") for _, name, _ in self._found)

    def __bool__(self) -> bool:
        return bool(self._found)

    def refuse(self) -> None:
        """Raise ``Invalid`` when there is a fault: with the code that all of them share, else with 90."""
        if not self._found:
            return
        codes = {code for code, _, _ in self._found}
        code = codes.pop() if len(codes) == 1 else Code.VALIDATION_ERROR
        raise Invalid(code, None if code in _MUTE else {field: text for _, field, text in self._found})
