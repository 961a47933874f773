"""What happens to a batch and its rows, as a file says it and as it runs.

A batch is many payments in one request, which the service works off in the background. The client
asks how far it is, and reads the results of the rows at the end. So a scenario says what becomes of
which rows, how fast they come, whether they ever end, and what is wrong with the results.

Source: docs/scenario-language.md, batch.
"""

from enum import StrEnum
from itertools import pairwise
from typing import Annotated

from pydantic import BeforeValidator, Field, PlainValidator

from mockserver.domain.errors import nearest
from mockserver.scenario.file_model import file_model, only_one
from mockserver.scenario.kinds import NUMBER, TEXT
from mockserver.scenario.matching import FieldTest, check_operators, compile_test
from mockserver.scenario.patterns import Patterns
from mockserver.scenario.provider_outcome import (
    Approve,
    DeclineWord,
    Down,
    Pending,
    ProviderOutcome,
    TimedOut,
)
from mockserver.scenario.scalars import Count, Duration, Flag, Share, whole
from mockserver.scenario.values import excerpt

ROW_FIELDS = ("paymentMethodId", "amount", "currency", "reference")
"""Columns of a row that ``where`` may test: a row has no others."""

_WHICH = ("at", "every", "where", "share")
_WHAT = ("decline", "approve", "pending", "provider_down", "provider_timeout", "stall")

_MOST_NUMBERS = 10_000


def _not_too_many(value: object) -> object:
    """Refuse more numbers than are read in a moment, before they are."""
    if isinstance(value, list) and len(value) > _MOST_NUMBERS:
        raise ValueError(f"got {len(value)} numbers of rows, wanted at most {_MOST_NUMBERS}")
    return value


Numbers = Annotated[frozenset[Count], BeforeValidator(_not_too_many, list[Count])]
"""Numbers of rows; one that stands twice counts once."""


class BatchEnd(StrEnum):
    """How a batch ends as a whole (service document, States and transitions, Batch)."""

    SUCCESS = "SUCCESS"
    FAILED = "FAILED"


def _read_where(value: object) -> tuple[FieldTest, ...] | None:
    """The tests of ``where``, each of one column of a row."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ValueError(f"got {excerpt(value)}, wanted a map of keys and values")
    tests: list[FieldTest] = []
    patterns = Patterns()
    for name, wanted in value.items():
        if name not in ROW_FIELDS:
            hint = nearest(str(name), ROW_FIELDS) or f", allowed: {', '.join(ROW_FIELDS)}"
            raise ValueError(f"unknown column '{str(name)[:60]}'{hint}")
        # First: what it refuses of operators says more than the kind would of their operands.
        check_operators(wanted)
        kind = NUMBER if name == "amount" else TEXT
        tests.append(compile_test(name, kind.wanted(wanted), patterns=patterns))
    return tuple(tests)


Where = Annotated[
    tuple[FieldTest, ...] | None, PlainValidator(_read_where, dict[str, object] | None)
]


@file_model
class Stall:
    """A row that never finishes: its provider never answers, and nothing is charged."""


@file_model
class RowRule:
    """Rows of a batch and their outcome; rows count from 1. ``where`` reads paymentMethodId,
    amount, currency and reference."""

    at: Annotated[Numbers, Field(min_length=1)] | None = None
    every: Count | None = None
    where: Where = None
    share: Share | None = None
    decline: DeclineWord | None = None
    approve: Approve | None = None
    provider_down: Down | None = None
    provider_timeout: TimedOut | None = None
    pending: Pending | None = None
    stall: Stall | None = None

    def __post_init__(self) -> None:
        for words in (_WHICH, _WHAT):
            only_one([word for word in words if getattr(self, word) is not None], words)

    @property
    def outcome(self) -> ProviderOutcome | Stall:
        """What the provider says to these rows, or that it never says anything."""
        outcomes: list[ProviderOutcome | Stall | None] = [getattr(self, word) for word in _WHAT]
        # ``only_one`` has refused a rule with none or several.
        (only,) = [outcome for outcome in outcomes if outcome is not None]
        return only


@file_model
class Progress:
    """A point of the progress curve: reach this share of the rows this long after the batch
    began."""

    reach: Share
    after: Duration


@file_model
class ResultsPlan:
    """What is wrong with the results text."""

    omit_rows: Numbers = frozenset()
    shuffle: Flag = False
    cut: Annotated[int, whole(0, 100_000_000)] | None = None


def _usual_if_null(value: object) -> object:
    """``results`` with nothing behind it says nothing: the usual results."""
    if value is None:
        return {}
    return value


@file_model
class BatchScript:
    """What happens to a batch."""

    says_something = True

    rows: tuple[RowRule, ...] = ()
    progress: tuple[Progress, ...] = ()
    stall_at: Share | None = None
    end: BatchEnd | None = None
    results: Annotated[ResultsPlan, BeforeValidator(_usual_if_null, ResultsPlan | None)] = (
        ResultsPlan()
    )

    def __post_init__(self) -> None:
        # A batch that fails as a whole ends before its first row, unless progress or ``stall_at``
        # say how far it gets: then the rule of a row that stalls would mean nothing.
        ends_at_once = self.end is BatchEnd.FAILED and not self.progress and self.stall_at is None
        if ends_at_once and any(row.stall is not None for row in self.rows):
            raise ValueError(
                "got stall and end: FAILED, so no row is ever reached: say with progress how far "
                "it gets"
            )
        for step, next_step in pairwise(self.progress):
            if next_step.reach < step.reach or next_step.after < step.after:
                raise ValueError("progress: wanted steps in order of reach and time")

    @property
    def words(self) -> str:
        words = []
        if self.rows:
            words.append(f"{len(self.rows)} rules for rows")
        if self.progress:
            words.append(f"{len(self.progress)} steps of progress")
        if self.stall_at is not None:
            words.append(f"stalls at {self.stall_at:f}")
        if self.end is not None:
            words.append(f"ends {self.end}")
        if self.results != ResultsPlan():
            words.append("results spoilt")
        return "batch: " + ", ".join(words)
