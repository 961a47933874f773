"""Words that people bring along from other tools and services, and what they are called here: ``foreign_words.csv``."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from mockserver.domain.errors import nearest
from mockserver.domain.reference_data import read_table

_ROWS = read_table("foreign_words", lambda among, word, here: (among, word, here), Path(__file__).parent)


def _words(among: str) -> Mapping[str, str]:
    return {word: here for group, word, here in _ROWS if group == among}


DECLINES: Mapping[str, str] = _words("decline")
"""Reasons of declines, as other services name them."""

OPERATIONS: Mapping[str, str] = _words("operation")
"""Operations, as other services name them."""

_KEYS: Mapping[str, Mapping[str, str]] = {own: _words(own) for own in ("sequence", "transport", "before_answer")}
"""Keys of a rule, of an outcome and of a webhook, as other tools and people name them; by a key that only these have.
"""


def unknown_key(key: str, known: Sequence[str]) -> str:
    """What is said of a key that no part has."""
    foreign = next((words for own, words in _KEYS.items() if own in known), {})
    return f"unknown key '{key[:60]}'{hint(key, foreign, known) or ', allowed: ' + ', '.join(known)}"


def hint(word: str, foreign: Mapping[str, str], known: Collection[str]) -> str:
    """What a word that is not known may mean, as the end of a message: its name here, else the nearest known one."""
    ours = foreign.get(word)
    if ours is None:
        return nearest(word, known)
    return f" - here it is {ours if ' ' in ours else repr(ours)}"
