"""The style sheets and scripts of the pages, from the package; ``vendor`` holds those of others, and licences.

What a payer types into the client script ``/js/payfurl.js`` stands in a frame of this server (``/js/fields``), as with
the published script. A closed shadow root would not do: key and input events come out of it, and the listeners of the
shop hear them first. Source: published facts, 7.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from importlib.resources import files

from mockserver.domain.record import record
from mockserver.web.page import TEXT, Headers, PageCall, html, policy
from mockserver.web.request import Reply
from mockserver.web.templating import render

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


_READABLE_ANYWHERE = (
    (b"access-control-allow-origin", b"*"),
    (b"cross-origin-resource-policy", b"cross-origin"),
)


def script(call: PageCall) -> Reply:
    """The script; any shop may load it."""
    return answer(call, named("payfurl.js"), *_READABLE_ANYWHERE)


def entry_frame(call: PageCall) -> Reply:
    """The frame for the fields of a card or a PayTo agreement; any shop may show it."""
    return html(200, render("entry.html"), policy(scripts=True, forms_to="'none'"))
