"""The style sheets and scripts of the pages, from the package; ``vendor`` holds those of others, and licences."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from importlib.resources import files

from mockserver.domain.record import record
from mockserver.web.page import TEXT, Headers, PageCall
from mockserver.web.request import Reply

_TYPES: Mapping[str, bytes] = {
    "css": b"text/css; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "svg": b"image/svg+xml",
}


@record
class StaticFile:
    """A file with its tag: the same bytes always have the same one."""

    body: bytes
    headers: Headers
    tag: str


def serve(call: PageCall) -> Reply:
    """A style sheet or a script by its name."""
    found = _files().get(call.path["name"])
    if found is None:
        return Reply(404, b"No such file.", headers=(TEXT,))
    return answer(call, found)


def named(name: str) -> StaticFile:
    """A file that the package is known to hold."""
    return _files()[name]


def answer(call: PageCall, found: StaticFile, *extra: tuple[bytes, bytes]) -> Reply:
    """The file, or 304 to a browser that has it."""
    if call.headers.get("if-none-match") == found.tag:
        return Reply(304, b"", headers=(*found.headers, *extra))
    return Reply(200, found.body, headers=(*found.headers, *extra))


@cache
def _files() -> Mapping[str, StaticFile]:
    found: dict[str, StaticFile] = {}
    static = files("mockserver.web").joinpath("static")
    for entry in (*static.iterdir(), *static.joinpath("vendor").iterdir()):
        kind = _TYPES.get(entry.name.rpartition(".")[2])
        if kind is not None:
            body = entry.read_bytes()
            tag = f'"{blake2b(body, digest_size=8).hexdigest()}"'
            headers = (
                (b"content-type", kind),
                (b"etag", tag.encode()),
                (b"cache-control", b"no-cache"),
                (b"x-content-type-options", b"nosniff"),
            )
            found[entry.name] = StaticFile(body, headers, tag)
    return found
