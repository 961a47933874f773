"""What the service document leaves open, as one table of questions, and the answers in force for one sandbox.

Profile ``documented`` keeps to the words of the service document; ``sdk`` speaks as the published client libraries
expect. A value can be overridden per server, per sandbox and per scenario. Code asks ``assumed[KEY]``, and a use
case ``step.assume(KEY)``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mockserver.assumptions.table import ROWS as ROWS
from mockserver.assumptions.table import Assumption as Assumption
from mockserver.assumptions.table import Profile as Profile
from mockserver.assumptions.table import ValueKind as ValueKind
from mockserver.domain.errors import invalid, nearest


class Assumed:
    """The values in force for one sandbox: a profile and the overrides on top of it; ``values`` by key.

    They never change, and sandboxes share them.
    """

    def __init__(self, profile: Profile, overrides: Mapping[str, object] | None = None) -> None:
        self.profile = profile
        self.overrides: dict[str, object] = dict(overrides or {})
        self.values: dict[str, Any] = {key: row.value(profile) for key, row in ROWS.items()}
        for key, given in self.overrides.items():
            self.values[key] = read(key, given)

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    def or_else(self, profile: Profile, overrides: Mapping[str, object]) -> Assumed:
        """These, when they are of this profile and have just these overrides; else others. Raises ``Invalid`` (90)."""
        # By the texts, as 1 is equal to True.
        is_same = profile is self.profile and repr(dict(overrides)) == repr(self.overrides)
        return self if is_same else Assumed(profile, overrides)

    def with_overrides(self, overrides: Mapping[str, object]) -> Assumed:
        """These values with more overrides on top. Raises ``Invalid`` (90) naming every bad row."""
        return Assumed(self.profile, {**self.overrides, **overrides})


def read(key: str, given: object) -> Any:
    """The typed value of an override. Raises ``Invalid`` (90) with what is allowed and the nearest known key."""
    row = ROWS.get(key)
    if row is None:
        raise invalid({key: f"no such assumption{nearest(key, ROWS)}"})
    try:
        return row.kind.read(given)
    except ValueError as problem:
        raise invalid({key: str(problem)}) from None
