"""What pages are made of: templates, and the style sheets and scripts of the package with the path that names them.

Templates are loaded when the first page is asked for. Every value is escaped unless a template says so, and none does.
The path holds a hash of all style sheets and scripts, and a browser keeps what it fetched by that path: the control
page is made of some twenty scripts, which would each be asked for with every load. Other bytes have another path.
"""

from __future__ import annotations

import importlib.resources
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING

from mockserver.domain.masking import mask_text
from mockserver.domain.money import CURRENCIES
from mockserver.domain.record import record
from mockserver.web.asgi import RawHeader

if TYPE_CHECKING:
    from jinja2 import Environment

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
def static_version() -> str:
    """The same for the same files."""
    tags = "".join(f"{name} {found.tag}\n" for name, found in sorted(static_files().items()))
    return blake2b(tags.encode(), digest_size=8).hexdigest()


def static_path() -> str:
    """The folder of the files in the addresses that pages name."""
    return f"/__static/{static_version()}"


@cache
def static_files() -> Mapping[str, StaticFile]:
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


def render(name: str, **values: object) -> bytes:
    """The HTML of a template."""
    return _environment().get_template(name).render(values).encode("utf-8", "replace")


def money(amount: Decimal, currency: str) -> str:
    """``AUD 1,250.00``: an amount as a payer reads it."""
    known = CURRENCIES.get(currency)
    return f"{currency} {amount:,.{known.digits if known else 2}f}"


def clip(text: str | None, most: int) -> str:
    """A merchant's text of any length, cut to ``most`` characters; masked before, so that no cut uncovers a number."""
    masked = mask_text(text or "")
    return masked if len(masked) <= most else f"{masked[: most - 1].rstrip()}…"


def _shown(value: object) -> object:
    """What a template prints of a value: a card number in whatever field a merchant put it is masked, a picture is not
    touched."""
    plain = type(value) is str and not value.startswith("data:")
    return mask_text(value) if plain and isinstance(value, str) else value


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("mockserver.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        finalize=_shown,
    )
    made.globals["money"] = money
    made.globals["static"] = static_path()
    made.filters["clip"] = clip
    return made
