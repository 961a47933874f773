"""What a row of the route table says, and what a handler is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mockserver.domain.record import record
from mockserver.domain.slices import Slices
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import Step
from mockserver.web.lazy import loaded
from mockserver.wire.base import Body
from mockserver.wire.profile import WireProfile


class Auth(StrEnum):
    """Which key opens an operation."""

    SECRET = "secret key"
    PUBLIC = "public or secret key"


class Success(StrEnum):
    """Whether an operation creates something: it decides the HTTP status (assumption ``response.created_status``)."""

    CREATED = "created"
    OK = "ok"


@record
class OperationCall:
    """One authenticated, validated call. ``body`` and ``query`` are the models of the route, ``path`` its
    placeholders; ``ready`` is what the route's ``ahead`` has made, None when it was not asked to."""

    sandbox: Sandbox
    profile: WireProfile
    path: Mapping[str, str]
    body: Any
    query: Any
    headers: Mapping[str, str]
    resource: str
    ready: Any = None


@dataclass(frozen=True, slots=True)
class StatusReply:
    """An answer that sets its own status; handlers return a plain reply when the route's will do."""

    status: int
    body: object


class Route:
    """One operation: where it is, what it takes, who may call it, what it answers, and on which source that rests.

    ``handle`` is the endpoint function, ``reply`` the type of its answer, ``body`` and ``query`` the models of what it
    takes. ``ahead`` is long work that the operation needs and that changes nothing, done in slices before its step.
    Each of them may be deferred: its module is imported when it is first looked at. With ``is_dated`` the answer shows
    how things stood when it was asked, not when it was given.
    """

    handle: Callable[[OperationCall], object]
    reply: Any
    body: type[Body] | None
    query: type[Body] | None
    ahead: Callable[[Sandbox, Step], Slices[object] | None] | None

    def __init__(
        self,
        method: str,
        path: str,
        op: str,
        handle: Callable[[OperationCall], object],
        reply: Any,
        source: str,
        *,
        body: type[Body] | None = None,
        query: type[Body] | None = None,
        headers: tuple[str, ...] = (),
        auth: Auth = Auth.SECRET,
        success: Success = Success.OK,
        summary: str = "",
        ahead: Callable[[Sandbox, Step], Slices[object] | None] | None = None,
        is_dated: bool = False,
    ) -> None:
        self.method = method
        self.path = path
        self.op = op
        self.source = source
        self.headers = headers
        self.auth = auth
        self.success = success
        self.summary = summary
        self.is_dated = is_dated
        self._deferred = {"handle": handle, "reply": reply, "body": body, "query": query, "ahead": ahead}

    def __getattr__(self, name: str) -> Any:
        if name == "_deferred" or name not in self._deferred:
            raise AttributeError(name)
        found = loaded(self._deferred[name])
        setattr(self, name, found)
        return found
