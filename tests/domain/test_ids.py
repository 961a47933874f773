"""Ids and digests."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.domain.ids import Ids, Kind, digest


@pytest.mark.parametrize(
    ("shape", "form"),
    [
        ("hex32", "[0-9a-f]{32}"),
        ("hex24", "[0-9a-f]{24}"),
        ("uuid", "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}"),
    ],
)
def test_ids_have_the_published_shape_and_differ(shape: str, form: str) -> None:
    ids = Ids(1, "sandbox")
    made = [getattr(ids, shape)("charge") for _ in range(5000)]
    assert all(re.fullmatch(form, made_id) for made_id in made)
    assert len(set(made)) == 5000


def test_ids_look_unrelated() -> None:
    ids = Ids(1, "sandbox")
    heads = [ids.hex32("charge")[:4] for _ in range(500)]
    assert len(set(heads)) > 450


def test_the_same_seed_and_sandbox_make_the_same_ids() -> None:
    one, same = Ids(1, "sandbox"), Ids(1, "sandbox")
    assert [one.hex32("charge") for _ in range(5)] == [same.hex32("charge") for _ in range(5)]


@pytest.mark.parametrize(
    ("seed", "sandbox", "kind"),
    [(2, "sandbox", "charge"), (1, "other", "charge"), (1, "sandbox", "vault")],
)
def test_another_seed_sandbox_or_kind_makes_other_ids(seed: int, sandbox: str, kind: Kind) -> None:
    ids, others = Ids(1, "sandbox"), Ids(seed, sandbox)
    made = {ids.hex32("charge") for _ in range(100)}
    assert made.isdisjoint({others.hex32(kind) for _ in range(100)})


def test_kinds_count_apart() -> None:
    ids, undisturbed = Ids(1, "sandbox"), Ids(1, "sandbox")
    ids.hex32("vault")
    assert ids.hex32("charge") == undisturbed.hex32("charge")
    assert ids.counters == {"vault": 1, "charge": 1}


def test_restored_counters_go_on_where_they_stopped() -> None:
    ids = Ids(1, "sandbox")
    ids.hex32("charge")
    restored = Ids(1, "sandbox")
    restored.counters.update(ids.counters)
    expected = ids.hex32("charge")
    assert restored.hex32("charge") == expected


def test_parts_of_a_digest_do_not_run_together() -> None:
    assert digest("ab", "c") != digest("a", "bc")
    assert digest("ab") != digest("ab", "")
    assert digest("12") == digest(12) == digest(b"12")
    assert digest("\ud800") != digest("\udfff")


@given(st.lists(st.text(max_size=4), max_size=4), st.lists(st.text(max_size=4), max_size=4))
def test_two_digests_are_equal_only_for_equal_parts(one: list[str], other: list[str]) -> None:
    assert (digest(*one) == digest(*other)) is (one == other)


@pytest.mark.parametrize("size", [1, 8, 16, 64])
def test_a_digest_is_as_long_as_asked(size: int) -> None:
    assert len(digest("a", size=size)) == size
