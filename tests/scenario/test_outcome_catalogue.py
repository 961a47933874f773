"""The catalogue of outcomes against the published codes and the test values."""

from pathlib import Path

import pytest

from mockserver.domain.codes import Code
from mockserver.scenario import provider_outcome
from mockserver.scenario.provider_outcome import (
    CATALOGUE,
    DECLINES,
    Approve,
    Challenge,
    Decline,
    Pending,
    Settlement,
    decline,
)

APPROVALS = {908, 910, 911, 916, 932}
"""Codes of the issuer family that mean an approval of a kind (published facts, 3.1)."""

TEST_VALUES = [
    ("do_not_honour", 905, "05", False),
    ("insufficient_funds", 15, "51", True),
    ("lost_card", 941, "41", False),
    ("stolen_card", 943, "43", False),
    ("expired_card", 14, "54", False),
    ("wrong_ccv", 6, "N7", False),
    ("processing_error", 34, "96", True),
    ("over_frequency_limit", 965, "65", True),
    ("blocked_by_fraud_rules", 112, "59", False),
]


@pytest.mark.parametrize(("name", "code", "gateway", "retryable"), TEST_VALUES)
def test_rows_of_the_test_values(name: str, code: int, gateway: str, retryable: bool) -> None:
    row = DECLINES[name]
    assert (row.error_code, row.gateway_code, row.is_retryable) == (code, gateway, retryable)


def test_every_issuer_code_that_refuses_has_a_row_of_its_own() -> None:
    family = {int(code) for code in Code if 901 <= code <= 996} - APPROVALS
    rows = {row.error_code: row for row in CATALOGUE.values() if row.error_code in family}
    assert rows.keys() == family
    for code, row in rows.items():
        assert code is not None
        published = Code(code).name.lower().replace("honor", "honour")
        own = CATALOGUE[published]
        assert (own.error_code, own.gateway_code) == (code, f"{code - 900:02}")
        assert row.error_message == Code(code).message


def test_approvals_are_not_refusals() -> None:
    assert [row.name for row in CATALOGUE.values() if row.error_code in APPROVALS] == []


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("approved", Approve()),
        ("pending", Pending()),
        ("pending_failed", Pending(Settlement.FAILED)),
        ("three_ds_challenge", Challenge()),
    ],
)
def test_rows_that_refuse_nothing(name: str, outcome: object) -> None:
    assert CATALOGUE[name].provider == outcome


def test_outages_are_retryable() -> None:
    down, late = DECLINES["provider_down"], DECLINES["provider_timeout"]
    assert (down.error_code, down.is_retryable) == (34, True)
    assert (late.error_code, late.is_retryable) == (80, True)


def test_rows_are_complete_and_say_what_their_outcome_says() -> None:
    for row in CATALOGUE.values():
        assert row.meaning
        assert row.name == row.name.lower()
        if isinstance(row.provider, Decline):
            said = row.provider
            assert (said.name, said.error_code, said.error_message) == (
                row.name,
                row.error_code,
                row.error_message,
            )
            assert (said.gateway_code, said.gateway_message) == (
                row.gateway_code,
                row.gateway_message,
            )
            assert said.is_retryable is row.is_retryable
            assert (said.gateway_code is None) is (said.gateway_message is None)


def test_a_misspelt_name_is_reported_the_nearest() -> None:
    assert decline("lost_card").error_code == 941
    with pytest.raises(ValueError, match="did you mean 'lost_card'"):
        decline("lost_crad")


def test_no_name_of_an_outcome_stands_twice() -> None:
    table = Path(provider_outcome.__file__).with_name("outcomes.csv").read_text("utf-8")
    names = [line.partition(",")[0] for line in table.splitlines()]
    assert [name for name in names if names.count(name) > 1] == []
