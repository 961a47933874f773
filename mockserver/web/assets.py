"""The style sheets and scripts of the package, and the path by which pages name them.

The path holds a hash of all of them, and a browser keeps what it fetched by that path: the control page is made of some
twenty scripts, which would each be asked for with every load. Other bytes have another path.
"""

from __future__ import annotations

import importlib.resources
from collections.abc import Mapping
from functools import cache
from hashlib import blake2b

from mockserver.domain.record import record
from mockserver.web.asgi import RawHeader

_TYPES: Mapping[str, bytes] = {
    "css": b"text/css; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "svg": b"image/svg+xml",
}


@record
class StaticFile:
    """A file with its tag: the same bytes always have the same one. ``kept`` are the headers for the path of the
    version, by which a browser need not ask again."""

    body: bytes
    headers: tuple[RawHeader, ...]
    kept: tuple[RawHeader, ...]
    tag: str


@cache
def version() -> str:
    """The same for the same files."""
    tags = "".join(f"{name} {found.tag}\n" for name, found in sorted(files().items()))
    return blake2b(tags.encode(), digest_size=8).hexdigest()


def path() -> str:
    """The folder of the files in the addresses that pages name."""
    return f"/__static/{version()}"


@cache
def files() -> Mapping[str, StaticFile]:
    """Every file by its name."""
    found: dict[str, StaticFile] = {}
    static = importlib.resources.files("mockserver.web").joinpath("static")
    for entry in (*static.iterdir(), *static.joinpath("vendor").iterdir()):
        kind = _TYPES.get(entry.name.rpartition(".")[2])
        if kind is not None:
            body = entry.read_bytes()
            tag = f'"{blake2b(body, digest_size=8).hexdigest()}"'
            headers, kept = (
                (
                    (b"content-type", kind),
                    (b"etag", tag.encode()),
                    (b"cache-control", cache_control),
                    (b"x-content-type-options", b"nosniff"),
                )
                for cache_control in (b"no-cache", b"max-age=31536000, immutable")
            )
            found[entry.name] = StaticFile(body, headers, kept, tag)
    return found
