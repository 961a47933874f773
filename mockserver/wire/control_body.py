"""What control calls carry, in bodies and in queries: names are taken as they are documented, and
none that is unknown. A misspelt one must not change what a call does.

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
    """The typed body or query. Raises ``Invalid`` (90) naming those that are unknown,
    ``MOST_FAULTS`` at most, else every other fault."""
    names = names_of(model)
    unknown = list(islice((name for name in given if name not in names), MOST_FAULTS))
    if unknown and not issubclass(model, OpenBody):
        allowed = ", ".join(names) or "none"
        faults = {
            mask_start(name, 40): f"unknown {what}{nearest(name, names)}, allowed: {allowed}"
            for name in unknown
        }
        raise invalid({pascal([name]): words for name, words in faults.items()})
    folded = Folded(dict(given), [], [])
    refuse_many(folded, MOST_MEMBERS)
    return validate(model, folded)
