"""How a file says a refusal: the name of a row of the catalogue, single fields of it replaced, or all one's own."""

from __future__ import annotations

from typing import Annotated, Any

from mockserver.domain.codes import MESSAGES, Code
from mockserver.domain.marks import Before, FileKey, Marker, ShownWith, after
from mockserver.scenario.outcome_catalogue import DECLINES, PROVIDER_DOWN, PROVIDER_TIMEOUT, decline
from mockserver.scenario.part import Empty, any_of, part
from mockserver.scenario.provider_outcome import Decline
from mockserver.scenario.scalars import Flag, Text, whole


@part
class DeclineMap:
    """A refusal: a row of the catalogue with single fields replaced, or all one's own (then errorCode is required)."""

    schema = any_of(("name", "errorCode"))

    name: Text | None = None
    error_code: Annotated[Annotated[int, whole(0, 9999)] | None, FileKey("errorCode")] = None
    error_message: Annotated[Text | None, FileKey("errorMessage")] = None
    gateway_code: Annotated[Text | None, FileKey("gatewayCode")] = None
    gateway_message: Annotated[Text | None, FileKey("gatewayMessage")] = None
    is_retryable: Annotated[Flag | None, FileKey("isRetryable")] = None

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
        return Decline(
            name=base.name,
            error_code=base.error_code if code is None else code,
            error_message=self.error_message or message,
            gateway_code=base.gateway_code if self.gateway_code is None else self.gateway_code,
            gateway_message=base.gateway_message if self.gateway_message is None else self.gateway_message,
            is_retryable=base.is_retryable if self.is_retryable is None else self.is_retryable,
            own_code=code,
            own_message=self.error_message,
        )


_CODES = frozenset(map(int, Code))


def _named(value: object) -> object:
    return {"name": value} if isinstance(value, str) else value


class _Read(Marker):
    """Reads the map, and gives the refusal that it means."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return after(DeclineMap.decline, handler.generate_schema(DeclineMap))


class _Fixed(Marker):
    """Reads ``{}``, and gives one row of the catalogue."""

    def __init__(self, meant: Decline) -> None:
        self._meant = meant

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return after(lambda _: self._meant, handler.generate_schema(Empty))


_Name = Annotated[str, ShownWith({"enum": list(DECLINES)})]
DeclineWord = Annotated[Decline, _Read(), Before(_named, _Name | DeclineMap)]
Down = Annotated[Decline, _Fixed(PROVIDER_DOWN)]
TimedOut = Annotated[Decline, _Fixed(PROVIDER_TIMEOUT)]
