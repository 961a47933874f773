"""The head of a request, as uvicorn reads it, in fewer steps where its target is an ordinary path."""

from __future__ import annotations

import asyncio
import re

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

TRANSPORT = "mockserver.transport"
"""The scope extension under which the application finds the connection's transport."""

_ORDINARY = re.compile(rb"(/(?!/)[A-Za-z0-9._~@:,;=!$&'()*+/-]*+)(?:\?([!-\"$-~]*+))?")
"""A target without escapes in its path: what its parts are needs no parser of URLs."""

_LONGEST = 65_535
"""Bytes of a target that the parser of URLs takes, and so every target."""


class Heads(HttpToolsProtocol):
    """Makes the scope of a request of its head, and begins to serve it."""

    def on_message_begin(self) -> None:
        """A request begins."""
        self.url = b""
        self.expect_100_continue = False
        self.headers = []
        self.scope = {
            "type": "http",
            "asgi": {"version": self.asgi_version, "spec_version": "2.3"},
            "http_version": "1.1",
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme,  # type: ignore[typeddict-item]
            "root_path": self.root_path,
            "headers": self.headers,
            "state": self.app_state.copy(),
            "extensions": {TRANSPORT: self.transport},  # type: ignore[dict-item]
        }

    def on_headers_complete(self) -> None:
        """The head is whole."""
        parser, found = self.parser, _ORDINARY.fullmatch(self.url) if len(self.url) <= _LONGEST else None
        if found is None or self.root_path or self.limit_concurrency is not None or parser.should_upgrade():
            super().on_headers_complete()
            return
        scope, version, before = self.scope, parser.get_http_version(), self.cycle
        path, query = found.groups(b"")
        scope["method"] = parser.get_method().decode("ascii")
        if version != "1.1":
            scope["http_version"] = version
        scope["path"], scope["raw_path"], scope["query_string"] = path.decode("ascii"), path, query
        self.cycle = cycle = RequestResponseCycle(
            scope,
            self.transport,
            self.flow,
            self.logger,
            self.access_logger,
            self.access_log,
            self.server_state.default_headers,
            asyncio.Event(),
            self.expect_100_continue,
            version != "1.0" and parser.should_keep_alive(),
            self.on_response_complete,
        )
        is_free: bool = before is None or before.response_complete  # type: ignore[redundant-expr]
        if is_free:
            self._start_asgi_task(cycle, self.app)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((cycle, self.app))
