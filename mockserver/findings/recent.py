"""A bounded memory: the newest keys with what is known of them."""

from __future__ import annotations

from dataclasses import field
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(dict[K, V]):
    """A dictionary that forgets its oldest key beyond ``most``."""

    __slots__ = ("most",)

    def __init__(self, most: int) -> None:
        self.most = most

    def put(self, key: K, value: V) -> None:
        """Remember a key as the newest."""
        self.pop(key, None)
        self[key] = value
        if len(self) > self.most:
            del self[next(iter(self))]


def memory(most: int) -> Any:
    """A field that begins as an empty memory."""
    return field(init=False, repr=False, default_factory=lambda: Recent(most))
