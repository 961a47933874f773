"""What the request log shows of a path: the short way to leave an ordinary one alone shows what the
long way shows."""

import tracemalloc
from json import loads
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mockserver.domain.masking import mask_text
from mockserver.web.access import Access, shown_path

IDS = st.text("0123456789abcdef", min_size=32, max_size=32)
PARTS = st.one_of(
    IDS,
    st.text("0123456789", max_size=19),
    st.sampled_from(["charge", "4111111111111111", "sk_live", "4111", "1111"]),
)


def shown(path: str) -> str:
    return shown_path({"path": path, "headers": []})


@given(st.lists(PARTS, max_size=6).map(lambda parts: "".join(f"/{part}" for part in parts)))
def test_a_path_is_shown_as_masking_shows_it(path: str) -> None:
    assert shown(path) == mask_text(path)


def test_a_card_number_in_parts_of_a_path_is_masked() -> None:
    assert "1111/1111" not in shown("/charge/4111/1111/1111/1111")
    assert (
        shown("/charge/f31cfdaf91dd0a476c645fef202aa9c3")
        == "/charge/f31cfdaf91dd0a476c645fef202aa9c3"
    )


def test_keys_that_are_too_long_for_a_sandbox_are_not_kept_with_how_they_are_shown() -> None:
    tracemalloc.start()
    try:
        for number in range(200):
            headers = [(b"x-secretkey", b"%d" % number + b"k" * 20_000)]
            scope = {
                "method": "GET",
                "path": "/charge",
                "query_string": b"limit=1",
                "headers": headers,
            }
            for as_json in (False, True):
                assert "k" * 10 not in Access(scope, 0, 0, 401).lines(as_json=as_json)[0]
        assert tracemalloc.get_traced_memory()[0] < 1_000_000
    finally:
        tracemalloc.stop()


def test_the_time_of_a_request_is_reported_in_hundredths_of_a_millisecond() -> None:
    scope: dict[str, Any] = {
        "method": "GET",
        "path": "/",
        "query_string": b"",
        "headers": [],
        "path_params": {},
    }
    for took, shown in (
        (0, "0.00"),
        (4, "0.00"),
        (5, "0.01"),
        (1_234, "1.23"),
        (1_236, "1.24"),
        (9_999_996, "10000.00"),
    ):
        for _ in range(2):
            told = Access(scope, 1_000, 1_000 + took, 200)
            assert f" {shown:>9}ms " in told.lines(as_json=False)[0]
            assert loads(told.lines(as_json=True)[0])["ms"] == float(shown)
