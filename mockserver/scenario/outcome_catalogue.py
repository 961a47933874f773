"""The catalogue of outcomes: one name for everything a provider can say, with the codes that say it.

``outcomes.csv`` has them. Those above ``refer_to_card_issuer`` are test values under the names that payment developers
know. From there on it holds every issuer code of published facts, 3.1 that means a refusal (908, 910, 911, 916 and 932
are approvals of a kind), named as published: ``gateway_code`` is the two-digit response code of ISO 8583,
``error_code`` 900 + that code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import BeforeValidator, Field, GetPydanticSchema
from pydantic_core.core_schema import no_info_after_validator_function

from mockserver.domain.codes import MESSAGES, Code
from mockserver.domain.record import record, replace, updated
from mockserver.domain.reference_data import read_table
from mockserver.scenario.file_model import Empty, file_model, given, given_as
from mockserver.scenario.operations import FOREIGN_DECLINES, hint
from mockserver.scenario.provider_outcome import Approve, Challenge, Decline, Pending, ProviderOutcome, Settlement
from mockserver.scenario.scalars import Flag, Text, whole

T = TypeVar("T")


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
        meant = hint(name, FOREIGN_DECLINES, DECLINES) or "; `mockserver outcomes` prints all"
        raise ValueError(f"got '{name[:60]}', which is not a known decline{meant}")
    return found


@file_model
class DeclineMap:
    """A refusal: a row of the catalogue with single fields replaced, or all one's own (then errorCode is required)."""

    schema: ClassVar[dict[str, Any]] = {"anyOf": [given_as("name", {"enum": list(DECLINES)}), given("errorCode")]}
    bare = "errorCode"
    others = "the name of a decline (`mockserver outcomes`), or "

    name: Text | None = None
    error_code: Annotated[Annotated[int, whole(0, 9999)] | None, Field(alias="errorCode")] = None
    error_message: Annotated[Text | None, Field(alias="errorMessage")] = None
    gateway_code: Annotated[Text | None, Field(alias="gatewayCode")] = None
    gateway_message: Annotated[Text | None, Field(alias="gatewayMessage")] = None
    is_retryable: Annotated[Flag | None, Field(alias="isRetryable")] = None

    def decline(self) -> Decline:
        """The refusal. Raises ``ValueError`` for a name that no row has, when nothing else says what it means."""
        base = DECLINES.get(self.name) if self.name is not None else None
        code = self.error_code
        if base is None and code is None:
            if self.name is None:
                raise ValueError("wanted the name of a refusal, or an errorCode of your own")
            base = decline(self.name)
        if base is None:
            base = Decline(self.name or f"error_{code}", code or 0, "Declined", None, None, is_retryable=False)
        other = code is not None and (code != base.error_code or base.name not in DECLINES)
        message = MESSAGES.get(Code(code), base.error_message) if other and code in _CODES else base.error_message
        return replace(
            updated(base, self),
            error_message=self.error_message or message,
            own_code=code,
            own_message=self.error_message,
        )


_CODES = frozenset(map(int, Code))


def _read_as(file_model: type[T], meant: Callable[[T], Decline]) -> GetPydanticSchema:
    """Reads what a file says, and gives the refusal that it means."""
    return GetPydanticSchema(lambda _, handler: no_info_after_validator_function(meant, handler(file_model)))


_Name = Annotated[str, Field(json_schema_extra={"enum": list(DECLINES)})]
DeclineWord = Annotated[
    Decline,
    _read_as(DeclineMap, DeclineMap.decline),
    BeforeValidator(lambda value: {"name": value} if isinstance(value, str) else value, _Name | DeclineMap),
]
Down = Annotated[Decline, _read_as(Empty, lambda _: PROVIDER_DOWN)]
TimedOut = Annotated[Decline, _read_as(Empty, lambda _: PROVIDER_TIMEOUT)]
