"""Paths as routes are looked for by them."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote

from starlette.types import ASGIApp, Receive, Scope, Send

ASKED_PATH = "mockserver.asked_path"
"""The scope key of the path as it was asked for, while routes are looked for by another."""


def tidied(path: str) -> str:
    """A path without doubled and trailing slashes, which are ignored; ``*`` and other targets without a slash as they
    are. A line end is encoded: patterns would ignore the last one, and values are decoded once more anyway."""
    if not path.startswith("/"):
        return path
    while "//" in path:
        path = path.replace("//", "/")
    return (path.rstrip("/") or "/").replace("\n", "%0A")


def decoded(parameters: Mapping[str, str]) -> dict[str, str]:
    """The values of placeholders, which some clients encode twice (docs/spec/published-facts.md, 1.0)."""
    return {name: unquote(value) for name, value in parameters.items()}


class TidyPaths:
    """Lets Starlette look for routes by tidy paths, from their beginning wherever the application is mounted: the guard
    in front of it judges the same. An endpoint puts back the path that was asked for."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            scope[ASKED_PATH] = scope["path"]
            scope["path"] = tidied(scope["path"])
            scope["root_path"] = ""
        await self.app(scope, receive, send)
