"""Long texts are masked a window at a time, as they would be at once."""

from __future__ import annotations

from random import Random

import pytest

from mockserver.domain import masking, windows
from mockserver.domain.masking import mask_field, mask_text, masking_field
from mockserver.domain.percent import decoded
from tests.pauses import drive
from tests.rows import each

PIECES = [
    *("4111111111111111", "4111 1111-1111/1111", "5555555555554444", "411111111111111", "4", "7 ", "12", "3---"),
    *("9    ", "0123456789abcdef01234567", "7b3e0c55-4111-4111-8111-111111111111", "abc", "x", " ", ", ", "\n"),
    *("é", "٤", "\uff15", "·", "sk_", "sk_a", "sk_live.~-", "~", "%", "%3", "%34", "%2534", "%C3", "%A9"),
    *("%E2%82", "%ac", "%20", "%25"),
]


def text_of(random: Random) -> str:
    few = random.sample(PIECES, random.randint(1, 4))
    return "".join(random.choices(few, k=random.randint(0, 400)))


@each("name", ["", "cardNumber"])
@each("seed", range(4))
def test_no_window_changes_what_is_shown(monkeypatch: pytest.MonkeyPatch, name: str, seed: int) -> None:
    # As in the true ones, a run that goes over the end of a window is longer than what is looked at.
    monkeypatch.setattr(masking, "_MOST_LOOKED_AT", 100)
    random, split = Random(seed), 0
    for _ in range(400):
        text = text_of(random)
        monkeypatch.setattr(windows, "WINDOW", 10**9)
        whole, read = mask_field(name, text), decoded(text)
        monkeypatch.setattr(windows, "WINDOW", random.randint(240, 400))
        assert decoded(text) == read, text
        shown, pauses = drive(masking_field(name, text))
        assert shown == whole, text
        split += pauses > 2 and shown != text
    assert split > 50


@each(
    "text",
    [
        *("4", "4-", "4-4-4-", "4111 1111 1111 111 ", "411111111111111x", "4111111111111111 ", "٤", "4   ", "4    "),
        *("é4111111111111111 ", "sk_", "sk_a ", "%34", "%2534", "%80", "%20a", "%", "x", "0123456789abcdef01234567 "),
    ],
)
def test_a_long_text_is_masked_with_a_pause_for_each_window(text: str) -> None:
    longer = (text * 300_000)[:300_000]
    _, pauses = drive(masking_field("", longer))
    assert pauses >= 300_000 / windows.WINDOW - 2


def test_a_card_in_a_long_text_is_found_wherever_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    number = "4111 1111 1111 1111"
    for place in (*range(windows.WINDOW - 90, windows.WINDOW + 30), 2 * windows.WINDOW - 70):
        begin, end = "x" * place, "y" * (3 * windows.WINDOW - place)
        assert mask_text(f"{begin}{number}{end}") == f"{begin}4111********1111{end}"
    texts = [begin + digits * 2_000 for begin in ("", "x " * 4_990) for digits in (f"{number} ", f"{number} x ", "4-")]
    shown = [mask_text(text) for text in texts]
    monkeypatch.setattr(windows, "WINDOW", 10**9)
    assert shown == [mask_text(text) for text in texts]
