"""What a row of the route table says, and what a handler is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    handle: Callable[[OperationCall], object]
    reply: Any
    body: type[Body] | None
    query: type[Body] | None
    ahead: Callable[[Sandbox, Step], Slices[object] | None] | None


class Route:
    """One operation: where it is, what it takes, who may call it, what it answers, and on which source that rests.

    ``ahead`` is long work that the operation needs and that changes nothing, done in slices before its step. With
    ``is_dated`` the answer shows how things stood when it was asked, not when it was given.
    ``handle``, ``reply``, ``body``, ``query`` and ``ahead`` may be deferred: their modules are imported when they are
    first looked at.
    """

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
        self._deferred = _Parts(handle=handle, reply=reply, body=body, query=query, ahead=ahead)

    @cached_property
    def handle(self) -> Callable[[OperationCall], object]:
        """The endpoint function."""
        function: Callable[[OperationCall], object] = loaded(self._deferred.handle)
        return function

    @cached_property
    def reply(self) -> Any:
        """The type of the answer."""
        return loaded(self._deferred.reply)

    @cached_property
    def body(self) -> type[Body] | None:
        """The model of the body; None when there is none."""
        model: type[Body] | None = loaded(self._deferred.body)
        return model

    @cached_property
    def query(self) -> type[Body] | None:
        """The model of the query; None when there is none."""
        model: type[Body] | None = loaded(self._deferred.query)
        return model

    @cached_property
    def ahead(self) -> Callable[[Sandbox, Step], Slices[object] | None] | None:
        """What is done before the step; None when nothing is."""
        work: Callable[[Sandbox, Step], Slices[object] | None] | None = loaded(self._deferred.ahead)
        return work
