"""Requests that no route takes: an answer that names the nearest path, and an entry in the journal of the sandbox whose
key came with them.

Source: assumption ``error.unknown_route``; control document, Control API (``/__admin/journal``).
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

from mockserver.domain.codes import Code
from mockserver.domain.errors import Refused
from mockserver.domain.masking import mask_start, star_key
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import Step
from mockserver.web.asgi import HungUp, RawHeaders, Receive, Scope, Send, TooLarge, headers_of, read_body, send_json
from mockserver.web.exchange import Reply, Request, note
from mockserver.web.host import Headers, Host
from mockserver.wire.jsonio import dumps
from mockserver.wire.problems import problem

OPERATION = "none"
"""Operation of such an entry."""

_OURS = "/__"
_ASKED_BY_BROWSERS = ("/favicon", "/apple-touch-icon", "/robots.txt", "/.well-known/")
_LIKE = 0.6
_LONGEST_PATH = 200
_MOST_SEGMENTS = 10


class Unrouted:
    """Answers in the place of a route; ``paths`` are those of all routes, with placeholders in braces."""

    def __init__(self, host: Host, paths: Iterable[str]) -> None:
        self.host = host
        self._templates = [path.split("/") for path in dict.fromkeys(paths)]

    async def unknown_path(self, scope: Scope, receive: Receive, send: Send) -> None:
        """404, with the nearest path."""
        path: str = scope["path"]
        near = self.nearest(path)
        await self._answer(scope, receive, send, 404, unknown_path(path, near), [], near)

    async def wrong_method(self, scope: Scope, receive: Receive, send: Send, allowed: str) -> None:
        """405, with the methods that the path has."""
        told = {"Method": f"got {scope['method']}, allowed: {allowed}"}
        body = dumps(problem(405, Code.UNKNOWN_ERROR, "Method Not Allowed", scope["path"], told))
        await self._answer(
            scope, receive, send, 405, body, [(b"allow", allowed.encode())], f"{allowed} {scope['path']}"
        )

    def nearest(self, path: str) -> str | None:
        """The path of a route that looks most alike, whatever stands in the place of its ids; None when none does."""
        given = path.lower().split("/")
        if len(path) > _LONGEST_PATH or len(given) > _MOST_SEGMENTS:
            return None
        ours, likest, found = path.startswith(_OURS), _LIKE, None
        matcher = SequenceMatcher(autojunk=False)
        for template in sorted(self._templates, key=lambda parts: abs(len(parts) - len(given))):
            if template[1].startswith("__") is not ours:
                continue
            fixed = [place for place, part in enumerate(template) if not part.startswith("{")]
            # One segment more is a prefix such as /v1: what stands in the place of ids is left out all the same.
            more = len(given) - len(template)
            theirs = given[:more] + [given[more + place] for place in fixed] if more in (0, 1) else given
            matcher.set_seqs("/".join(theirs), "/".join(template[place] for place in fixed))
            if matcher.real_quick_ratio() > likest and matcher.quick_ratio() > likest and matcher.ratio() > likest:
                likest, found = matcher.ratio(), "/".join(template)
        return found

    async def _answer(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        status: int,
        body: bytes,
        extra: RawHeaders,
        near: str | None,
    ) -> None:
        host, headers = self.host, headers_of(scope)
        sandbox = None if scope["path"].startswith(_OURS) else sandbox_of(host, headers)
        if sandbox is not None:
            try:
                raw = await read_body(receive, scope, host.settings.max_body)
            except HungUp:
                return
            except TooLarge:
                raw = b""
            await host.catch_up(sandbox)
            keep(host, sandbox, scope, headers, raw, status, body, near)
        await send_json(send, status, body, extra)


def unknown_path(path: str, near: str | None = None) -> bytes:
    """The answer to a path that no route has."""
    told = "no such route" + (f" - did you mean '{near}'?" if near else "")
    return dumps(problem(404, Code.UNKNOWN_ERROR, "Not Found", path, {"Path": told}))


def sandbox_of(host: Host, headers: Headers) -> Sandbox | None:
    """The sandbox of the key that came with a request; None without one that opens any."""
    if "x-secretkey" not in headers and "x-publickey" not in headers:
        return None
    try:
        return host.known(headers) if "x-secretkey" in headers else host.known_by_either_key(headers)
    except Refused:
        return None


def keep(
    host: Host,
    sandbox: Sandbox,
    scope: Scope,
    headers: Headers,
    raw: bytes,
    status: int,
    body: bytes,
    near: str | None = None,
) -> None:
    """Make a request that no route took an entry of the journal; ``near`` is what may have been meant."""
    path = star_key(scope["path"], sandbox.key)
    if path != scope["path"]:
        body, near = body.replace(sandbox.key.encode(), b"***"), near and star_key(near, sandbox.key)
    if sandbox.watch is not None and not path.startswith(_ASKED_BY_BROWSERS):
        what = mask_start(f"{scope['method']} {path}", _LONGEST_PATH)
        sandbox.watch.lost(
            sandbox.journal.last + 1, sandbox.now, what, mask_start(near, _LONGEST_PATH) if near else None
        )
    step = sandbox.step = Step(OPERATION, answers=True, headers=headers)
    request = Request(path, {}, scope["query_string"], headers, raw)
    note(host, sandbox, scope["method"], request, Reply(status, None, step), body)
