"""Money in pytest: the shop's books, invariants, and assertions about money, as another project's tests use them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.plugin.nested import run_pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return partial(run_pytest, tmp_path)


def test_books_and_invariants_judge_a_test(run: Run) -> None:
    done = run(
        test_shop="""
        import pytest

        def pay(mockserver, reference="order-1"):
            assert mockserver.client.post("/charge/card", json={**CHARGE, "reference": reference}).status_code == 201

        AMOUNT = CHARGE["amount"]

        def books():
            return [{"reference": "order-1", "paid": AMOUNT, "state": "paid"}]

        def test_right(mockserver):
            mockserver.invariant("charges(*) == 1")
            pay(mockserver)
            mockserver.books(books())

        @pytest.mark.mockserver(books="test_shop:books")
        def test_right_by_the_marker(mockserver):
            pay(mockserver)

        def test_twice(mockserver):
            pay(mockserver)
            pay(mockserver)
            with pytest.raises(AssertionError, match="taken-twice: customer paid"):
                mockserver.books(books())
            mockserver.books([{"reference": "order-1", "paid": 2 * AMOUNT}])

        @pytest.mark.mockserver(books="test_shop:books")
        def test_wrong_by_the_marker(mockserver):
            pay(mockserver, "order-2")

        def test_wrong_by_an_invariant(mockserver):
            mockserver.invariant("charges(*) == 1")
            pay(mockserver)
            pay(mockserver)

        @pytest.mark.mockserver(scenario="{version: 1, money: ['charges(*) == 1']}")
        def test_wrong_by_its_scenario(mockserver):
            pay(mockserver)
            pay(mockserver)

        @pytest.mark.mockserver(books="test_shop:nothing")
        def test_no_such_function(mockserver):
            pay(mockserver)
        """
    )
    assert "4 failed, 3 passed" in done.stdout
    assert "charged-but-unpaid: customer paid" in done.stdout
    assert done.stdout.count("charges(*) == 1 does not hold: charges of order-1 is 2") >= 2
    assert "marker mockserver: books: test_shop:nothing" in done.stdout


def test_an_assertion_about_money_makes_a_failure_unsafe(run: Run) -> None:
    done = run(
        "--mockserver-explore=declined_soft",
        test_shop="""
        def test_loud(mockserver):
            assert mockserver.client.post("/charge/card", json=CHARGE).status_code == 201

        def test_about_money(mockserver):
            answer = mockserver.client.post("/charge/card", json=CHARGE)
            with mockserver.money_safe():
                assert answer.status_code == 201
        """,
    )
    assert "1 failed, 3 passed" in done.stdout
    assert "unsafe: declined_soft at charge.create#1" in done.stdout
