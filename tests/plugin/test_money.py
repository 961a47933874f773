"""Money in pytest: the shop's books, invariants, and assertions about money, as another project's
tests use them."""

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


def test_what_is_wrong_in_the_function_of_the_books_is_told_with_its_line(run: Run) -> None:
    done = run(
        test_shop="""
        import pytest

        def books():
            return [{"reference": "order-1", "paid": int("12,50")}]

        @pytest.mark.mockserver(books="test_shop:books")
        def test_pays(mockserver):
            assert mockserver.client.post("/charge/card", json={**CHARGE, "reference": "order-1"}).status_code == 201

        @pytest.mark.mockserver(books="test_shop:nothing")
        def test_names_no_function(mockserver):
            pass
        """
    )
    assert "2 failed" in done.stdout
    assert '>       return [{"reference": "order-1", "paid": int("12,50")}]' in done.stdout
    assert done.stdout.count("marker mockserver: books: ") == 1
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


def test_an_exception_that_escapes_the_shop_has_told_nobody(run: Run) -> None:
    done = run(
        "--mockserver-explore=lost_answer,lost_request",
        test_shop="""
        import pytest

        BOOKED = []

        def books():
            return BOOKED

        @pytest.fixture(autouse=True)
        def fresh():
            BOOKED.clear()

        def pay(mockserver):
            paid = mockserver.client.post("/charge/card", json={**CHARGE, "reference": "order-1"})
            assert paid.status_code == 201
            BOOKED.append({"reference": "order-1", "state": "paid"})

        @pytest.mark.mockserver(books="test_shop:books")
        def test_pays(mockserver):
            pay(mockserver)

        @pytest.mark.mockserver(books="test_shop:books")
        def test_pays_safely(mockserver):
            with mockserver.money_safe():
                pay(mockserver)

        def test_has_no_books(mockserver):
            pay(mockserver)
        """,
    )
    assert "taken for order-1, its books do not know" in done.stdout
    assert "4 failed, 1 doubtful, 1 unsafe" in done.stdout
    assert "1 failed, 8 passed" in done.stdout


CLIENTS = """
import httpx, itertools, pytest

NUMBERS = itertools.count()


def sent(mockserver, reference="order-1", **more):
    try:
        return mockserver.client.post("/charge/card", json={**CHARGE, "reference": reference, **more}).json()
    except httpx.TransportError:
        return None


def found(mockserver, reference):
    [charge] = mockserver.client.get("/charge", params={"Reference": reference}).json()["charges"]
    return charge


def test_gives_up(mockserver):
    sent(mockserver)


def test_looks(mockserver):
    assert (sent(mockserver) or found(mockserver, "order-1"))["status"] in ("SUCCESS", "PENDING")


def test_new_reference(mockserver):
    assert sent(mockserver, "order-1a") or sent(mockserver, "order-1b")


def test_is_content(mockserver):
    assert sent(mockserver)


def test_keeps_books(mockserver):
    answer = sent(mockserver)
    state = "paid" if answer and answer.get("status") == "SUCCESS" else "unknown"
    mockserver.books([{"reference": "order-1", "state": state}])


def test_keeps_wrong_books(mockserver):
    paid = (sent(mockserver) or {}).get("amount", 0)
    mockserver.books([{"reference": "order-1", "paid": paid}])


@pytest.mark.parametrize("turn", [1, 2])
def test_one_reference_for_all_tests_of_an_application(mockserver_app, turn):
    assert sent(mockserver_app) or mockserver_app.client.get("/charge", params={"Reference": "order-1"}).json()


def test_other_money_each_time(mockserver):
    assert sent(mockserver, amount=10 + next(NUMBERS))
"""


def test_money_decides_as_it_does_for_a_command(run: Run) -> None:
    done = run("--mockserver-explore=lost_answer,pending", test_money=CLIENTS)
    _, _, shown = done.stdout.partition("- mockserver explore -")
    found: dict[str, list[str]] = {}
    for line in shown.splitlines():
        if line.startswith("test_money.py::") and "#1  " in line:
            name, verdict = line.removeprefix("test_money.py::test_").split(" charge.create#1 ")
            found.setdefault(name, []).append(verdict.strip())
    # The fault at the provider, then that at the answer.
    assert found == {
        "gives_up": ["doubtful", "UNSAFE"],
        "looks": ["doubtful", "survived"],
        "new_reference": ["doubtful", "UNSAFE"],
        "is_content": ["doubtful", "failed"],
        "keeps_books": ["survived", "survived"],
        "keeps_wrong_books": ["UNSAFE", "UNSAFE"],
        "one_reference_for_all_tests_of_an_application[1]": ["doubtful", "survived"],
        "one_reference_for_all_tests_of_an_application[2]": ["doubtful", "survived"],
        "other_money_each_time": ["survived", "failed"],
    }, done.stdout
    assert (
        "    order-1: paid 0.00 AUD instead of 12.50 AUD, pending 12.50 AUD instead of 0.00 AUD"
        in shown
    )
    assert shown.count("customer paid 25.00 AUD for all orders of 12.50 AUD") == 1
    assert (
        "test_other_money_each_time: two runs without any fault moved different money: only "
        "findings" in shown
    )
