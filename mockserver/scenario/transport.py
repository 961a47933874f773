"""Faults of the network and of the service's front door, as a file says them and as they run.

Source: scenario language, Outcomes, transport. ``web.faults`` performs them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from mockserver.domain.clock import duration_text
from mockserver.scenario.part import part
from mockserver.scenario.scalars import Duration, Switch, Text, whole

_FIRST_BAD = 400
_BODILESS = (204, 205, 304)
_FRAMING = ("content-length", "transfer-encoding")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\xa0-\xff]*")


class At(StrEnum):
    """Where in an operation's life a transport fault strikes: before anything happened, or after all of it did."""

    RECEIVE = "receive"
    ANSWER = "answer"


class FaultKind(StrEnum):
    """Everything that the network can be told to do to an answer."""

    STATUS = "status"
    DELAY = "delay"
    RESET = "reset"
    CLOSE_AFTER = "close_after"
    TRUNCATE = "truncate"
    DRIBBLE = "dribble"
    GARBAGE = "garbage"
    HANG = "hang"
    MALFORMED_JSON = "malformed_json"


_NEEDS_ANSWER = (FaultKind.CLOSE_AFTER, FaultKind.TRUNCATE, FaultKind.DRIBBLE, FaultKind.MALFORMED_JSON)


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """The service's own error object, worded when it is sent. ``code`` is None for the one that fits the status and the
    operation, ``message`` for the text of the code."""

    code: int | None = None
    message: str | None = None


OURS = ErrorBody()
"""The body of a status whose body the file leaves to us."""


@part
class Dribble:
    """The answer in small pieces."""

    chunk: Annotated[int, whole(1, 1_000_000), Field(description="bytes of a piece")]
    every: Annotated[Duration, Field(description="pause between pieces")]


def _header_name(name: str) -> str:
    if _HEADER_NAME.fullmatch(name) is None:
        raise ValueError(f"got '{name[:60]}', which is no name of a header")
    if name.lower() in _FRAMING:
        raise ValueError(f"{name} is the server's own; use truncate for a wrong length")
    return name


def _header_value(text: str) -> str:
    if _HEADER_VALUE.fullmatch(text) is None:
        raise ValueError("wanted one line of Latin-1 text")
    return text


Headers = dict[Annotated[str, AfterValidator(_header_name)], Annotated[Text, AfterValidator(_header_value)]]


@part
class Transport:
    """A fault of the network, and its place in the operation's life."""

    at: Annotated[
        At, Field(description="receive: nothing has happened; answer: it has happened and the client does not know")
    ]
    status: Annotated[Annotated[int, whole(200, 599)] | None, Field(description="answer with this HTTP status")] = None
    body: Annotated[Any, Field(description="body of that answer; default: an error object")] = OURS
    headers: Annotated[Headers | None, Field(description="headers of that answer")] = None
    retry_after: Annotated[
        Annotated[int, whole(0, 86_400)] | None, Field(description="its Retry-After, in seconds")
    ] = None
    delay: Annotated[Duration, Field(description="wait first; may join any other fault")] = 0
    reset: Annotated[Switch, Field(description="reset the connection")] = False
    close_after: Annotated[
        Annotated[int, whole(0, 10_000_000)] | None, Field(description="close after so many bytes")
    ] = None
    truncate: Annotated[Switch, Field(description="promise the whole body, send half of it, close")] = False
    dribble: Annotated[Dribble | None, Field(description="send the answer in small pieces")] = None
    garbage: Annotated[Switch, Field(description="send bytes that are no answer")] = False
    hang: Annotated[Switch, Field(description="never answer")] = False
    malformed_json: Annotated[Switch, Field(description="answer with broken JSON")] = False
    kind: FaultKind = field(init=False)

    @classmethod
    def given(cls, data: Mapping[str, object]) -> Mapping[str, object]:
        """What is null is absent, but for the body. Refuses a fault that names none, or parts of an answer without its
        status."""
        data = {key: value for key, value in data.items() if value is not None or key == "body"}
        if not data.keys() & set(FaultKind):
            raise ValueError(f"wanted one of {', '.join(FaultKind)}")
        extra = [word for word in ("body", "headers", "retry_after") if word in data]
        if extra and "status" not in data:
            raise ValueError(f"{' and '.join(extra)} belong to status, which is not given")
        return data

    def __post_init__(self) -> None:
        asked = [(kind, getattr(self, kind.value)) for kind in FaultKind if kind is not FaultKind.DELAY]
        kinds = [kind for kind, value in asked if value is not None and value is not False]
        if len(kinds) > 1:
            raise ValueError(f"got {' and '.join(kinds)}, only one of them is allowed (delay may join any)")
        kind = kinds[0] if kinds else FaultKind.DELAY
        if kind in _NEEDS_ANSWER and self.at is At.RECEIVE:
            raise ValueError(f"{kind} spoils an answer, and at: receive there is none; use at: answer")
        if self.status in _BODILESS and self.body is not None and self.body != OURS:
            raise ValueError(f"got a body, and an answer of status {self.status} has none")
        object.__setattr__(self, "kind", kind)
        if self.body == OURS and (self.status or 0) < _FIRST_BAD:
            object.__setattr__(self, "body", None)
        if self.retry_after is not None:
            object.__setattr__(self, "headers", {**(self.headers or {}), "Retry-After": str(self.retry_after)})

    @property
    def words(self) -> str:
        """What explanations say."""
        match self.kind:
            case FaultKind.STATUS:
                words = f"status {self.status}"
            case FaultKind.CLOSE_AFTER:
                words = f"close after {self.close_after} bytes"
            case FaultKind.DRIBBLE if self.dribble is not None:
                words = f"dribble {self.dribble.chunk} bytes every {duration_text(self.dribble.every)}"
            case FaultKind.DELAY:
                return f"transport at {self.at}: delay {duration_text(self.delay)}"
            case _:
                words = self.kind.value
        return f"transport at {self.at}: {words}" + (f" after {duration_text(self.delay)}" if self.delay else "")
