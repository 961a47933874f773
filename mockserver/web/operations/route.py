"""What an operation of the payments API is: where it is found over HTTP, what it takes, and the
function that acts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from mockserver.domain.record import record
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import Step
from mockserver.web.runner import Runner
from mockserver.wire.profile import WireProfile

B = TypeVar("B", covariant=True)
Q = TypeVar("Q", covariant=True)
C = TypeVar("C", covariant=True)
TakenBody = TypeVar("TakenBody")
TakenQuery = TypeVar("TakenQuery")


class Becomes(Protocol[C]):
    """A body that becomes a command of the domain, whichever of its variants it is."""

    def command(self) -> C:
        """What is asked for."""


@record
class OperationCall(Generic[B, Q]):
    """One authenticated, validated call. ``body`` and ``query`` are of the types of the route, None
    where it has none; ``ready`` is what the route's ``ahead`` has made, None when it was not asked
    to."""

    step: Step
    profile: WireProfile
    body: B
    query: Q
    resource: str
    ready: Any = None

    @property
    def path(self) -> Mapping[str, str]:
        """The placeholders of the route."""
        return self.step.asked.path

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox whose step is being taken."""
        return self.step.sandbox


class NamesProvider(Protocol):
    """A body or a query that may name a provider."""

    @property
    def provider_id(self) -> str | None: ...


def named_provider(call: OperationCall[NamesProvider, NamesProvider]) -> str | None:
    """The provider that the header, the query or the body names, in this order (published facts, 8
    rows 18-19)."""
    header = call.step.asked.headers.get("providerid")
    return header or call.query.provider_id or call.body.provider_id


Ahead: TypeAlias = Callable[[Runner, Step], Awaitable[object] | None]
"""Begins work that an operation needs before its step, and that changes nothing; None when there is
little of it."""


@record
class Route(Generic[TakenBody, TakenQuery]):
    """One operation: method and path, the name of the operation for rules, and the function that
    acts.

    ``handle`` gives the body of the answer, or a ``Reply`` of which status and body alone count.
    ``reply`` is the name of that answer in the tables of replies, ``body`` and ``query`` what it
    takes. ``is_public``: a public key opens it too. ``creates``: the assumption
    ``response.created_status`` says with which status it answers. ``largest`` are the bytes that
    its body may have, None for the limit of the settings; ``headers`` those that it reads.
    ``source`` is a section of the service document or of the published facts (the paths that the
    document does not show).
    """

    method: str
    path: str
    op: str
    handle: Callable[[OperationCall[TakenBody, TakenQuery]], object]
    reply: str
    summary: str
    source: str
    body: type[TakenBody] | None = None
    query: type[TakenQuery] | None = None
    creates: bool = False
    is_public: bool = False
    largest: int | None = None
    headers: tuple[str, ...] = ()
    ahead: Ahead | None = None

    @property
    def name(self) -> str:
        """What the journal knows it by."""
        return f"{self.method} {self.path}"


AnyRoute: TypeAlias = Route[Any, Any]
"""A row of the table of routes, whatever its operation takes."""
