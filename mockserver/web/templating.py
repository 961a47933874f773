"""Templates of the pages, loaded when the first page is asked for. Every value is escaped unless a template says so,
and none does."""

from __future__ import annotations

from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING

from mockserver.domain.masking import mask_text
from mockserver.domain.money import CURRENCIES
from mockserver.web import assets

if TYPE_CHECKING:
    from jinja2 import Environment


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
    made.globals["static"] = assets.path()
    made.filters["clip"] = clip
    return made
