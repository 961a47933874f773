"""Percent-encoded parts are read as ``unquote`` reads them, in a time that bare percent signs do not stretch."""

from random import Random
from time import process_time
from urllib.parse import unquote

import pytest

from mockserver.domain.masking import mask_text
from mockserver.domain.percent import decoded

PIECES = ["%", "%4", "%41", "%C3", "%A9", "%E2", "%82", "%ac", "%F0", "%9f", "%ED", "%A0", "%25", "a", "5", "é", "٤"]


@pytest.mark.parametrize("seed", range(4))
def test_a_text_is_decoded_as_by_unquote(seed: int) -> None:
    random = Random(seed)
    for _ in range(2_000):
        text = "".join(random.choices(PIECES, k=random.randint(0, 9)))
        assert decoded(text) == unquote(text)


def test_percent_signs_take_no_more_time_than_digits() -> None:
    def shortest(text: str) -> float:
        times = []
        for _ in range(5):
            before = process_time()
            mask_text(text)
            times.append(process_time() - before)
        return min(times)

    assert shortest("%" * 20_000) < 6 * shortest("1" * 20_000)
