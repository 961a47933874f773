"""What a batch's script says about its rows."""

from __future__ import annotations

from collections.abc import Mapping

from mockserver.domain.ids import digest
from mockserver.scenario.outcome import BatchScript, ProviderOutcome, RowRule
from mockserver.scenario.rule import DRAW_BITS


def row_outcome(script: BatchScript, number: int, row: Mapping[str, object], salt: str) -> ProviderOutcome | None:
    """What the first matching row rule says about row ``number`` (from 1); None when none matches.

    ``row`` holds paymentMethodId, amount, currency and reference; ``salt`` is that of the decision which gave the
    script, so that a share of the rows is the same share in every run.
    """
    for index, rule in enumerate(script.rows):
        if _holds(rule, index, number, row, salt):
            return rule.outcome
    return None


def _holds(rule: RowRule, index: int, number: int, row: Mapping[str, object], salt: str) -> bool:
    if rule.at is not None:
        return number in rule.at
    if rule.every is not None:
        return number % rule.every == 0
    if rule.share is not None:
        draw = int.from_bytes(digest("row", salt, index, number, size=DRAW_BITS // 8), "big")
        return draw < int(rule.share * (1 << DRAW_BITS))
    return all(test.difference_of(row.get(test.path)) is None for test in rule.where or ())
