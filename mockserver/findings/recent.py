"""A bounded memory: the newest keys with what is known of them."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import field, fields
from functools import cache
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


def memory(most: int, *, is_pending: bool = False) -> Any:
    """A field that begins as an empty memory. One that ``is_pending`` asks for whole calls while it holds anything."""
    return field(
        init=False, repr=False, default_factory=lambda: Recent(most), metadata={_PENDING: True} if is_pending else None
    )


_PENDING = "is_pending"


def pending(judge: object) -> tuple[Sized, ...]:
    """What is empty while nothing that a judge saw before asks for whole calls."""
    kind: Any = type(judge)
    return tuple(getattr(judge, name) for name in _pending(kind))


@cache
def _pending(cls: Any) -> list[str]:
    return [one.name for one in fields(cls) if one.metadata.get(_PENDING)]
