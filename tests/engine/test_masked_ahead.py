"""What has to be masked of a row is masked with pauses, and the row is written as it would be at once."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from mockserver.domain import windows
from mockserver.domain.masking import mask_field
from mockserver.engine import masked_ahead
from mockserver.engine.codec import form
from mockserver.engine.masked_ahead import written
from tests.pauses import drive
from tests.rows import each

WRITE = form(list[Mapping[str, str]]).write


@each(
    "texts, pauses",
    [
        ({"a": "short 4111111111111111", "4111111111111111": "", "ccv": "123"}, 0),
        ({"a": "411111111111111x" * 5_000}, 8),
        ({"pan": "411111111111111x" * 5_000, "ccv": "1" * 50_000}, 24),
        ({"411111111111111x" * 5_000: "4111111111111111"}, 8),
        ({f"{number}": f"{number} 4111111111111111 " * 40 for number in range(200)}, 150),
    ],
)
def test_a_row_is_written_as_it_would_be_at_once(
    monkeypatch: pytest.MonkeyPatch, texts: dict[str, str], pauses: int
) -> None:
    made, rested = drive(written(WRITE, [texts, texts]))
    assert rested >= pauses
    assert bool(rested) == bool(pauses)
    masked = {mask_field("", name): mask_field(name, text) for name, text in texts.items()}
    assert made == [masked, masked] == WRITE([texts, texts], False)
    with monkeypatch.context() as patched:
        patched.setattr(masked_ahead, "MUCH", 10**9)
        patched.setattr(masked_ahead, "WINDOW", 10**9)
        assert drive(written(WRITE, [texts, texts])) == (made, 0)


def test_one_text_is_masked_a_window_at_a_time() -> None:
    _, rested = drive(written(WRITE, [{"a": "x" * 50 * windows.WINDOW}]))
    assert rested >= 50
