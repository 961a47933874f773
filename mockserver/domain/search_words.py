"""The words of a search: plain ones, "whole phrases", and ``operator:value``; a leading hyphen excludes.

Source: docs/control-api.md (``q``).
"""

from __future__ import annotations

import re
from collections.abc import Collection

from mockserver.domain.errors import nearest
from mockserver.domain.record import record

LONGEST = 500
"""Characters of a search."""

MOST_WORDS = 20

_WORD = re.compile(r'(-?)(?:([A-Za-z]+):(?!//))?(?:"([^"]*)"|(\S+))')


@record
class Word:
    """One word of a search. ``operator`` is None for plain text, which is in small letters; ``excludes`` negates it."""

    operator: str | None
    value: str
    excludes: bool


def words_of(text: str, operators: Collection[str]) -> list[Word]:
    """The words of a search, all of which must hold. Raises ``ValueError``: too long, or an unknown operator."""
    if len(text) > LONGEST:
        raise ValueError(f"got {len(text)} characters, at most {LONGEST}")
    found = []
    for match in _WORD.finditer(text):
        minus, operator, phrase, plain = match.groups()
        value = phrase if phrase is not None else plain
        if operator is None:
            found.append(Word(None, value.lower(), bool(minus)))
        elif operator.lower() in operators:
            found.append(Word(operator.lower(), value, bool(minus)))
        else:
            hint, allowed = nearest(operator, operators), ", ".join(operators)
            raise ValueError(f"unknown operator '{operator[:40]}'{hint}; allowed: {allowed}")
    if len(found) > MOST_WORDS:
        raise ValueError(f"got {len(found)} words, at most {MOST_WORDS}")
    return [word for word in found if word.value]
