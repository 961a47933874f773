"""What becomes of the webhooks that an operation causes, as a file says it and as it runs.

Source: scenario language, Outcomes, webhook.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema

from mockserver.domain.clock import duration_text
from mockserver.scenario.part import keys_of, part
from mockserver.scenario.scalars import Duration, Flag, Text, whole


def _read_answer(value: object) -> object:
    if value == "timeout" or (isinstance(value, int) and not isinstance(value, bool) and 100 <= value <= 599):
        return value
    raise ValueError(f"got '{value}', wanted an HTTP status from 100 to 599 or timeout")


Answer = Annotated[
    int | str,
    BeforeValidator(_read_answer),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 100, "maximum": 599}, {"const": "timeout"}]}),
]


@part
class WebhookPlan:
    """What becomes of the webhooks that the operation causes."""

    drop: Annotated[Flag, Field(description="never send them")] = False
    delay: Annotated[Duration, Field(description="send them so much later")] = 0
    copies: Annotated[int, whole(1, 100), Field(description="how often each is sent")] = 1
    gap: Annotated[Duration, Field(description="pause between copies")] = 0
    before_answer: Annotated[Flag, Field(description="send them before the API call is answered")] = False
    swap_with_next: Annotated[Flag, Field(description="let the next one overtake")] = False
    stale: Annotated[Flag, Field(description="tell the state before the last change")] = False
    bad_signature: Annotated[Flag, Field(description="sign with a wrong key")] = False
    authorization: Annotated[Text | None, Field(description="Authorization header to send instead")] = None
    receiver: Annotated[
        tuple[Answer, ...],
        Field(max_length=100, description="pretend that the receiver answered so, in turn, without calling it"),
    ] = ()

    @classmethod
    def given(cls, data: Mapping[str, object]) -> Mapping[str, object]:
        """Refuses a plan that says nothing, or more than that nothing is sent."""
        if not data:
            raise ValueError(f"got nothing, wanted at least one of {', '.join(keys_of(cls))}")
        if data.get("drop") is True and data.keys() != {"drop"}:
            raise ValueError("drop sends nothing, so nothing else can be said about it")
        return data

    def __post_init__(self) -> None:
        if self.before_answer and self.delay:
            raise ValueError("got before_answer and delay, only one of them is allowed")

    @property
    def words(self) -> str:
        """What explanations say."""
        said = []
        for one in fields(self):
            value = getattr(self, one.name)
            if value == one.default:
                continue
            match one.name:
                case "delay" | "gap":
                    said.append(f"{one.name} {duration_text(value)}")
                case "authorization":
                    said.append("another authorization")
                case "receiver":
                    said.append("receiver answers " + ", ".join(str(answer) for answer in value))
                case _:
                    said.append(one.name if value is True else f"{one.name} {value}")
        return "webhook: " + (", ".join(said) or "as usual")
