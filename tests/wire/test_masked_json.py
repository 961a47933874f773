"""Masking of JSON values: the names of fields, which are kept as they are shown, as any other
text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.domain.masking import mask_field, sendable_field
from mockserver.wire.masked_bodies import mask_body, mask_json

NUMBERS = st.sampled_from(
    [
        "4111111111111111",
        "5555 5555 5555 4444",
        "sk_secret",
        "4111********1111",
        "ccv",
        "\uff15\uff15",
    ]
)
NAMES = st.lists(
    st.one_of(NUMBERS, st.text(max_size=3), st.text("0123456789 x", max_size=60)), max_size=4
).map("".join)


@given(st.lists(NAMES, max_size=4))
def test_a_name_is_masked_like_a_text(names: list[str]) -> None:
    for _ in range(2):
        for field in (mask_field, sendable_field):
            assert mask_json(dict.fromkeys(names), field) == {
                field("", name): None for name in names
            }


def test_a_value_with_very_many_names_is_shown_in_part() -> None:
    shown = mask_json({f"{number:x<90}": 1 for number in range(2_000)})
    assert isinstance(shown, dict)
    assert len(shown) < 1_100
    assert shown["..."] == f"{2_000 - len(shown) + 1} more"


@pytest.mark.parametrize("value", [411111111111111111, "411111111111111111"])
def test_of_very_many_long_numbers_the_first_are_shown(value: object) -> None:
    shown = mask_json([value] * 9_000)
    assert isinstance(shown, list)
    assert 1_000 < len(shown) < 2_000
    assert shown[-1] == f"... {9_001 - len(shown)} more"


def test_keys_are_masked_in_what_is_not_json_or_too_long() -> None:
    assert mask_body(b'{"key": "sk_live_abc", "ccv": "123') == '{"key": "sk_***", "ccv": "***'
    long = mask_body(b'{"a": "sk_live_abc", "b": "' + b"x" * 1_000_000 + b'"}')
    assert isinstance(long, str)
    assert long.startswith('{"a": "sk_***", "b": "xxx')
