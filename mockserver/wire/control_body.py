"""What control calls carry, in bodies and in queries: names are taken as they are documented, and
none that is unknown. The payments API must read what the service reads, but of our own calls
nobody relies on a misspelt name: a test that moves the clock by ``{"avance": "1d"}`` must fail, not
pass without having moved it.

Source: docs/control-api.md.
"""

from collections.abc import Mapping
from itertools import islice
from typing import Any, TypeVar

from pydantic import ConfigDict

from mockserver.domain.errors import MOST_FAULTS, invalid, nearest
from mockserver.domain.masking import mask_start
from mockserver.domain.reading import camel
from mockserver.wire.fields import Body, Folded, names_of, pascal, refuse_many, validate

B = TypeVar("B", bound="ControlBody")

MOST_MEMBERS = 25_000
"""Members of objects, and items of lists, that the body of one control call may have."""


class ControlBody(Body):
    """Base of what control calls carry: by itself, nothing."""

    model_config = ConfigDict(extra="forbid", alias_generator=camel)


class OpenBody(ControlBody):
    """Base of bodies with fields that are not known beforehand."""

    model_config = ConfigDict(extra="allow")


def read_exactly(model: type[B], given: Mapping[str, Any], what: str = "field") -> B:
    """The typed body or query; ``what`` its parts are called: fields or parameters. Raises
    ``Invalid`` (90) naming those that are unknown, ``MOST_FAULTS`` at most, else every other
    fault: a misspelt name often is the reason that another is missing."""
    names = names_of(model)
    unknown = list(islice((name for name in given if name not in names), MOST_FAULTS))
    if unknown and not issubclass(model, OpenBody):
        allowed = ", ".join(names) or "none"
        faults: dict[str, str] = {}
        for name in unknown:
            words = f"unknown {what}{nearest(name, names)}, allowed: {allowed}"
            faults[pascal([mask_start(name, 40)])] = words
        raise invalid(faults)
    folded = Folded(dict(given), [], [])
    refuse_many(folded, MOST_MEMBERS)
    return validate(model, folded)
