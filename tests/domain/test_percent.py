"""Percent-encoded parts are read as ``unquote`` reads them, without work for bare percent signs."""

import sys
from random import Random
from urllib.parse import unquote

import pytest

from mockserver.domain.card_search import decoded
from mockserver.domain.masking import mask_text

PIECES = ["%", "%4", "%41", "%C3", "%A9", "%E2", "%82", "%ac", "%F0", "%9f", "%ED", "%A0", "%25", "a", "5", "é", "٤"]


@pytest.mark.parametrize("seed", range(4))
def test_a_text_is_decoded_as_by_unquote(seed: int) -> None:
    random = Random(seed)
    for _ in range(2_000):
        text = "".join(random.choices(PIECES, k=random.randint(0, 9)))
        assert decoded(text) == unquote(text)


def test_bare_percent_signs_take_no_calls() -> None:
    calls = 0

    def counted(*_: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(counted)
    try:
        mask_text("%" * 20_000)
    finally:
        sys.setprofile(None)
    assert calls < 200
