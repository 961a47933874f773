"""How a sandbox speaks: the words and digits in which its answers differ from profile to profile."""

from __future__ import annotations

from functools import lru_cache

from mockserver.assumptions import AUTHORISED_WORD, CARD_DATA_ALIAS, CARD_IIN_DIGITS, Assumed
from mockserver.domain.states import ChargeState


class Voice:
    """The wire forms that the assumptions of a sandbox settle, worked out once."""

    __slots__ = ("assumed", "card_data", "iin_digits", "status")

    def __init__(self, assumed: Assumed) -> None:
        self.assumed = assumed
        self.iin_digits = assumed[CARD_IIN_DIGITS]
        self.card_data = assumed[CARD_DATA_ALIAS] == "yes"
        self.status: dict[ChargeState, str] = {state: state.value for state in ChargeState}
        self.status[ChargeState.AUTHORISED] = assumed[AUTHORISED_WORD]


@lru_cache(maxsize=4096)
def voice_of(assumed: Assumed) -> Voice:
    """The voice of a set of assumptions."""
    return Voice(assumed)


STATUS_BY_WORD: dict[str, ChargeState] = {
    **{state.value.lower(): state for state in ChargeState},
    "authorised": ChargeState.AUTHORISED,
}
"""Charge states by every accepted spelling (assumption ``charge.status filter``)."""
