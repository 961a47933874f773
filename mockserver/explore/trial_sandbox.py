"""The sandbox of one run, asked over one plain connection: an exploration makes a dozen control calls a run, which cost
a general client more time than many a command takes. Source: docs/explore.md, What it runs.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import urlencode, urlsplit

from mockserver.remote import RemoteSandbox

_IDLE_SECONDS = 1.0
"""A connection that has rested for so long is not used again: the server may be about to close it."""


class TrialSandbox(RemoteSandbox):
    """A sandbox that one thread asks. A server with TLS is asked by the general client."""

    _last = 0.0

    @cached_property
    def _connection(self) -> HTTPConnection:
        return HTTPConnection(urlsplit(self.url).netloc)

    def exchange(
        self,
        method: str,
        path: str,
        content: bytes | None,
        headers: Mapping[str, str],
        *,
        params: Any,
        patience: float | None,
    ) -> tuple[int, bytes]:
        """One call: the status and the body of its answer. Raises ``httpx.NetworkError``."""
        if not self.url.startswith("http:"):
            return super().exchange(method, path, content, headers, params=params, patience=patience)
        connection = self._connection
        if time.monotonic() - self._last > _IDLE_SECONDS:
            connection.close()
        connection.timeout = patience
        if connection.sock is not None:
            connection.sock.settimeout(patience)
        target = f"{urlsplit(self.url).path}{path}" + (f"?{urlencode(params)}" if params else "")
        try:
            connection.request(method, target, content, {"x-secretkey": self.secret_key, **self._token, **headers})
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, HTTPException) as problem:
            from httpx import NetworkError

            connection.close()
            raise NetworkError(f"{type(problem).__name__}: {problem}") from problem
        finally:
            self._last = time.monotonic()

    def close(self) -> None:
        """Give the connections back."""
        super().close()
        with suppress(KeyError):
            self.__dict__["_connection"].close()
