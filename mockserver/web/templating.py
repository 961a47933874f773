"""Templates of the pages, loaded when the first page is asked for. Every value is escaped unless a template says so,
and none does."""

from __future__ import annotations

from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING

from mockserver.domain.money import CURRENCIES

if TYPE_CHECKING:
    from jinja2 import Environment


def render(name: str, **values: object) -> bytes:
    """The HTML of a template."""
    return _environment().get_template(name).render(values).encode("utf-8", "replace")


def money(amount: Decimal, currency: str) -> str:
    """``AUD 1,250.00``: an amount as a payer reads it."""
    known = CURRENCIES.get(currency)
    return f"{currency} {amount:,.{known.digits if known else 2}f}"


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
    )
    made.globals["money"] = money
    return made
