"""The catalogue of outcomes: one name for everything a provider can say, with the codes that say it.

``outcomes.csv`` has them. Those above ``refer_to_card_issuer`` are test values under the names that payment developers
know. From there on it holds every issuer code of published facts, 3.1 that means a refusal (908, 910, 911, 916 and 932
are approvals of a kind), named as published: ``gateway_code`` is the two-digit response code of ISO 8583,
``error_code`` 900 + that code.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mockserver.domain.codes import Code
from mockserver.domain.record import record
from mockserver.domain.reference_data import read_table
from mockserver.scenario import foreign_words
from mockserver.scenario.foreign_words import hint
from mockserver.scenario.provider_outcome import Approve, Challenge, Decline, Pending, ProviderOutcome, Settlement


@record
class DeclineRow:
    """One named outcome. ``meaning`` explains the code in plain words; codes are None where nothing is refused."""

    name: str
    meaning: str
    provider: ProviderOutcome
    error_code: int | None = None
    error_message: str | None = None
    gateway_code: str | None = None
    gateway_message: str | None = None
    is_retryable: bool | None = None


_TAKEN: Mapping[str, ProviderOutcome] = {
    "approved": Approve(),
    "pending": Pending(),
    "pending_failed": Pending(Settlement.FAILED),
    "three_ds_challenge": Challenge(),
}
"""The outcomes that refuse nothing."""


def _row(name: str, code: str, gateway_code: str, gateway_message: str, retry: str, meaning: str) -> DeclineRow:
    error = Code[code] if code else None
    said = (int(error), error.message) if error is not None else (None, None)
    if name in _TAKEN:
        return DeclineRow(name, meaning, _TAKEN[name], *said)
    refused = (*said, gateway_code or None, gateway_message or None, retry == "yes")
    return DeclineRow(name, meaning, Decline(name, *refused), *refused)


CATALOGUE: Mapping[str, DeclineRow] = {row.name: row for row in read_table("outcomes", _row, Path(__file__).parent)}
"""Every outcome by its name, in the order in which it is printed."""

DECLINES: Mapping[str, Decline] = {
    row.name: row.provider for row in CATALOGUE.values() if isinstance(row.provider, Decline)
}
"""The rows that refuse."""

PROVIDER_DOWN = DECLINES["provider_down"]
PROVIDER_TIMEOUT = DECLINES["provider_timeout"]


def decline(name: str) -> Decline:
    """The refusal of that name. Raises ``ValueError`` with the nearest known name."""
    found = DECLINES.get(name)
    if found is None:
        meant = hint(name, foreign_words.DECLINES, DECLINES) or "; `mockserver outcomes` prints all"
        raise ValueError(f"got '{name[:60]}', which is not a known decline{meant}")
    return found
