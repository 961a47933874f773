"""The money of a run beside that of the run without a fault, and the verdict that follows."""

from typing import Any

import pytest

from mockserver.books.shop_rows import Claim
from mockserver.explore.review import (
    beside_fault,
    beside_shop,
    beside_unforged,
    beside_usual,
    moves_of,
)
from mockserver.explore.run_end import Reference, RunEnd
from mockserver.explore.run_money import RunMoney, invariants_of, key_of, money_differences
from mockserver.explore.telling import Ending, Telling
from mockserver.explore.verdicts import Verdict, judged
from tests.explore.after import after

NAMES = (
    "held",
    "captured",
    "refunded",
    "refunding",
    "pending",
    "waiting",
    "returned",
    "transferred",
)


def order(
    reference: str | None = "order-1",
    currency: str = "AUD",
    *,
    charge_id: str = "ch_1",
    peak: float = 0,
    is_in_doubt: bool = False,
    **sums: float,
) -> dict[str, Any]:
    amounts = {**dict.fromkeys(NAMES, 0), **sums}
    key = {"charge": None if reference else charge_id, "subscription": None, "reference": reference}
    charge = {
        "chargeId": charge_id,
        "added": "2031-01-01T00:00:00Z",
        **amounts,
        "in_doubt": is_in_doubt,
    }
    return {
        **key,
        "currency": currency,
        **amounts,
        "peak": max(peak, amounts["captured"]),
        "charges": [charge],
    }


def renewed(*days: int) -> dict[str, Any]:
    """A subscription that was paid on some days."""
    each = [
        {**dict.fromkeys(NAMES, 0), "captured": 5, "added": f"2031-01-{day:02}T00:00:00Z"}
        for day in days
    ]
    known = order(None, captured=5 * len(days))
    return {**known, "charge": None, "subscription": f"sub_{len(days)}", "charges": each}


def money(
    *orders: dict[str, Any], doubts: tuple[str, ...] = (), now: str = "2031-01-01T00:00:00Z"
) -> RunMoney:
    lines = [{"entry": 1, "line": f"{op} 20 AUD: the connection was reset"} for op in doubts]
    return RunMoney.of({"orders": list(orders), "now": now, "in_doubt": lines})


PAID = money(order(captured=20))
REFUNDED = money(order(captured=20, refunded=5))
SENT_ON = money(order(captured=20, transferred=15))
PAID_AGAIN = RunMoney([{**order(captured=40, refunded=20), "peak": 20}], "2031-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("base", "run", "harm", "words"),
    [
        pytest.param(
            PAID,
            money(order(captured=40)),
            True,
            "customer paid 40.00 AUD for order-1 of 20.00",
            id="twice",
        ),
        pytest.param(
            PAID,
            money(order(captured=20, held=20)),
            True,
            "40.00 AUD are taken, held or pending",
            id="held",
        ),
        pytest.param(
            REFUNDED,
            money(order(captured=20, refunded=10)),
            True,
            "10.00 AUD of order-1 were given",
            id="back",
        ),
        pytest.param(
            REFUNDED,
            money(order(captured=20), doubts=("charge.refund",)),
            True,
            "the refund of 5.00 AUD of order-1 was not made",
            id="a-refund-lost",
        ),
        pytest.param(
            PAID_AGAIN,
            money(order(captured=40, peak=40)),
            True,
            "customer paid 40.00 AUD for order-1 of 20.00",
            id="paid-again-and-nothing-given-back",
        ),
        pytest.param(
            PAID, money(), False, "order-1: paid 0.00 AUD instead of 20.00 AUD", id="declined"
        ),
        pytest.param(
            PAID,
            money(order(pending=20)),
            False,
            "pending 20.00 AUD instead of 0.00 AUD",
            id="pending",
        ),
        pytest.param(
            SENT_ON,
            money(order(captured=20, transferred=30)),
            True,
            "30.00 AUD of order-1 were transferred, 15.00 AUD were meant",
            id="transferred-again",
        ),
        pytest.param(
            SENT_ON,
            money(order(captured=20)),
            False,
            "transferred 0.00 AUD instead of 15.00",
            id="not-transferred",
        ),
        pytest.param(
            PAID,
            money(order(currency="NZD", captured=20)),
            False,
            "20.00 NZD",
            id="another-currency",
        ),
        pytest.param(
            money(), money(order(captured=9)), True, "customer paid 9.00 AUD", id="money-of-nothing"
        ),
    ],
)
def test_what_differs_is_told_in_money(
    base: RunMoney, run: RunMoney, harm: bool, words: str
) -> None:
    found = money_differences(base, run, {"order-1"})
    assert any(one.is_harm is harm and words in one.words for one in found), found
    assert any(one.is_harm for one in found) is harm


def test_the_same_money_is_no_difference() -> None:
    assert money_differences(PAID, PAID, {"order-1"}) == []
    assert Reference.of(PAID, PAID).money is PAID
    assert Reference.of(PAID, REFUNDED).money is None


def test_a_reference_of_each_run_counts_in_the_total_alone() -> None:
    first, second = money(order("a-1", captured=20)), money(order("a-2", captured=20))
    assert Reference.of(first, second).money is first
    assert money_differences(first, second, set()) == []
    assert [
        one.words for one in money_differences(first, money(order("a-3", captured=40)), set())
    ] == ["customer paid 40.00 AUD for all orders of 20.00 AUD"]


def test_orders_without_a_reference_are_held_apart() -> None:
    both = money(order(None, captured=20), order(None, charge_id="ch_2", captured=10))
    assert money_differences(both, both, set()) == []


def test_more_than_was_ever_missed_at_once_is_harm() -> None:
    voided = money(order(captured=20, peak=40))
    assert [
        one.is_harm
        for one in money_differences(voided, money(order(captured=20, held=20)), {"order-1"})
    ] == [False]
    assert [
        one.is_harm
        for one in money_differences(voided, money(order(captured=20, held=21)), {"order-1"})
    ] == [True]


def test_a_refund_on_its_way_is_as_good_as_made() -> None:
    assert money_differences(PAID_AGAIN, money(order(captured=40, refunding=20)), {"order-1"}) == []
    assert money_differences(REFUNDED, money(order(captured=20, refunding=5)), {"order-1"}) == []


def test_renewals_count_up_to_the_end_of_the_run_without_a_fault() -> None:
    base = money(renewed(1, 8), now="2031-01-10T00:00:00Z")
    longer = money(renewed(1, 8, 15, 22), now="2031-01-24T00:00:00Z")
    assert money_differences(base, longer, set()) == []
    assert Reference.of(base, longer).money is base
    assert [one.is_harm for one in money_differences(base, money(renewed(1, 2, 8)), set())] == [
        True
    ]


def test_money_taken_twice_shows_beside_an_order_that_was_declined() -> None:
    base = money(order(captured=20), order("a-1", captured=20))
    run = money(order("a-2", captured=60))
    assert [one.is_harm for one in money_differences(base, run, {"order-1"})] == [False, True]


def test_a_scenario_says_what_must_hold() -> None:
    assert invariants_of(REFUNDED, {"order-1"}) == [
        'net("order-1") <= 15',
        'refunded("order-1") <= 5',
    ]
    assert invariants_of(REFUNDED, set()) == []
    assert invariants_of(REFUNDED, {"order-1"}, has_books=True) == []
    sent = 'transferred("order-1") <= 15 or net("order-1") > 20'
    assert invariants_of(SENT_ON, {"order-1"}) == [sent, 'net("order-1") <= 20']
    assert invariants_of(SENT_ON, {"order-1"}, has_books=True) == [sent]


def test_rows_of_orders_that_the_sandbox_never_saw() -> None:
    rows = [
        {"reference": "order-1"},
        {"Reference": "seeded"},
        {"charge": "ch_1"},
        {"reference": "", "charge": "ch_9"},
    ]
    assert money(order()).unseen(rows) == [
        {"Reference": "seeded"},
        {"reference": "", "charge": "ch_9"},
    ]
    masked = order("4111********1111")
    assert money(masked).unseen([{"reference": "4111111111111111"}]) == []
    assert key_of({"paid": 1}) is None


MASKED = order("4111********1111", captured=20, is_in_doubt=True)


@pytest.mark.parametrize(
    ("number", "is_booked"), [("4111111111111111", True), ("4242424242424242", False)]
)
def test_an_order_number_that_could_be_a_card_number_is_found_in_the_books(
    number: str, is_booked: bool
) -> None:
    rows = [{"reference": number, "paid": 20, "state": "paid"}]
    assert money(MASKED).unbooked(rows) == ([] if is_booked else [MASKED])
    assert (money(MASKED).untold(rows) == []) is is_booked
    end = RunEnd(money(MASKED), [], rows=rows)
    assert end.claims(MASKED) == ({Claim.TAKEN} if is_booked else set())
    assert len(list(end.concluded())) == is_booked


def test_a_masked_order_that_nobody_knows_of_is_named_by_its_charges() -> None:
    charges = [{**MASKED["charges"][0], "chargeId": name} for name in ("ch_1", "ch_2")]
    both = {**MASKED, "charges": charges}
    assert [row["charge"] for row in money(both).untold([])] == ["ch_1", "ch_2"]
    booked = [{"charge": "ch_2", "paid": 20}]
    assert money(both).untold(booked) == [{"charge": "ch_1", "currency": "AUD", "state": "unknown"}]


@pytest.mark.parametrize(
    ("rows", "is_in_doubt", "is_told"),
    [
        pytest.param([], True, True, id="no-row"),
        pytest.param([], False, False, id="answered"),
        pytest.param([{"reference": "order-1", "state": "unpaid"}], True, False, id="a-row"),
        pytest.param(
            [{"charge": "ch_1", "state": "unpaid"}], True, False, id="a-row-of-its-charge"
        ),
        pytest.param([{"reference": "order-2", "paid": 20}], True, True, id="a-row-of-another"),
    ],
)
def test_an_order_in_doubt_that_the_books_do_not_have_is_unknown(
    rows: list[dict[str, Any]], is_in_doubt: bool, is_told: bool
) -> None:
    found = money(order(captured=20, is_in_doubt=is_in_doubt)).untold(rows)
    assert found == (
        [{"reference": "order-1", "currency": "AUD", "state": "unknown"}] if is_told else []
    )


TWICE = {
    "finding": "taken-twice",
    "severity": "error",
    "evidence": [{"line": "customer paid 40.00"}],
}
HOLD = {
    "finding": "hold-left-open",
    "severity": "warning",
    "evidence": [{"line": "20.00 AUD stay held"}],
}
DOUBT = {
    "finding": "doubt-left-open",
    "severity": "warning",
    "evidence": [{"line": "charge.create: no answer came"}],
}
BOOKS = {"orders": [order(captured=20)], "now": "2031-01-01T00:00:00Z", "in_doubt": []}


@pytest.mark.parametrize(
    ("code", "end", "has_books", "wanted"),
    [
        pytest.param(0, after([], BOOKS), False, Verdict.SURVIVED, id="survived"),
        pytest.param(0, after([], BOOKS), True, Verdict.SURVIVED, id="books-agree"),
        pytest.param(0, after([TWICE], BOOKS), True, Verdict.UNSAFE, id="books-differ"),
        pytest.param(1, after([TWICE], BOOKS), True, Verdict.UNSAFE, id="books-differ-loudly"),
        pytest.param(0, after([], BOOKS, differed=[TWICE]), True, Verdict.HEALED, id="healed"),
        pytest.param(0, after([HOLD], BOOKS), True, Verdict.DOUBTFUL, id="a-hold"),
        pytest.param(0, after([DOUBT], BOOKS), False, Verdict.UNSAFE, id="a-doubt"),
        pytest.param(
            0, after([DOUBT], BOOKS), True, Verdict.SURVIVED, id="a-doubt-that-the-books-settle"
        ),
        pytest.param(3, after([DOUBT], BOOKS), False, Verdict.FAILED, id="it-told-a-person"),
        pytest.param(0, after([]), False, Verdict.DOUBTFUL, id="less-money"),
        pytest.param(1, after([]), False, Verdict.FAILED, id="less-money-and-loud"),
        pytest.param(
            0, after([], BOOKS, failed="--books: exit code 1"), True, Verdict.FAILED, id="no-books"
        ),
        pytest.param(
            1,
            after([], BOOKS, failed="--books: exit code 1"),
            True,
            Verdict.FAILED,
            id="no-books-and-loud",
        ),
        pytest.param(
            1, after([], BOOKS, broken=["net(*) == 0"]), False, Verdict.UNSAFE, id="an-invariant"
        ),
        pytest.param(None, after([], BOOKS), False, Verdict.HUNG, id="hung"),
    ],
)
def test_the_verdict(code: int | None, end: Any, has_books: bool, wanted: Verdict) -> None:
    reference = Reference(PAID, {"order-1"})
    assert judged(code, end, reference, has_books=has_books, has_fired=True).verdict is wanted


def test_a_fault_that_did_not_strike_says_nothing() -> None:
    found = judged(
        0, after([], BOOKS), Reference(PAID, {"order-1"}), has_books=True, has_fired=False
    )
    assert found.verdict is Verdict.NOT_REACHED


def held_beside(*rows: dict[str, Any], base: RunMoney = PAID, **sums: Any) -> Verdict:
    """The verdict with books that agree, on a run that leaves a hold of order-1."""
    books = {
        "orders": [order(**{"captured": 20, "held": 20, **sums})],
        "now": "2031-01-01T00:00:00Z",
        "in_doubt": [],
    }
    end = after([], books, rows=rows, states={"done": "paid"})
    return judged(0, end, Reference(base, {"order-1"}), has_books=True, has_fired=True).verdict


@pytest.mark.parametrize(
    "row",
    [
        pytest.param({"reference": "order-1", "paid": 20, "state": "paid"}, id="paid"),
        pytest.param({"reference": "order-1", "paid": "20"}, id="an-amount-alone"),
        pytest.param(
            {"charge": "ch_1", "paid": 20, "state": "Done"}, id="a-charge-and-a-state-of-its-own"
        ),
        pytest.param(
            {"reference": "order-1", "paid": 20, "refunded": 20, "state": "refunded"}, id="refunded"
        ),
    ],
)
def test_a_hold_that_books_do_not_name_is_doubtful_where_no_fault_leaves_none(
    row: dict[str, Any],
) -> None:
    assert held_beside(row) is Verdict.DOUBTFUL
    assert held_beside(row, base=money(order(captured=20, held=20))) is Verdict.SURVIVED
    assert held_beside(row, held=0) is Verdict.SURVIVED
    # It will be taken, once it has settled.
    assert held_beside(row, held=0, pending=20) is Verdict.DOUBTFUL


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(
            [{"reference": "order-1", "paid": 20, "held": 20, "state": "paid"}], id="named"
        ),
        pytest.param([{"reference": "order-1", "state": "pending"}], id="pending"),
        pytest.param([{"reference": "order-1", "state": "unknown"}], id="unknown"),
        pytest.param(
            [{"reference": "order-1", "paid": 20, "state": "void_asked"}], id="a-state-of-its-own"
        ),
        pytest.param(
            [{"reference": "order-1", "paid": 20}, {"reference": "order-1", "state": "pending"}],
            id="parts",
        ),
        pytest.param([{"reference": "order-2", "paid": 20}], id="not-known"),
        pytest.param([{"reference": "order-1"}], id="says-nothing"),
    ],
)
def test_a_hold_that_books_name_or_excuse_is_none(rows: list[dict[str, Any]]) -> None:
    assert held_beside(*rows) is Verdict.SURVIVED


def test_of_an_order_that_is_called_held_more_than_it_ever_had_is_doubtful() -> None:
    row = {"reference": "order-1", "state": "held"}
    voided = money(order(held=20, peak=20))
    assert held_beside(row, base=voided, captured=0, held=40) is Verdict.DOUBTFUL
    # A capture that was refused leaves what the order had.
    assert held_beside(row, base=PAID, captured=0) is Verdict.SURVIVED


def test_what_was_transferred_again_is_unsafe_whatever_the_books_say() -> None:
    def verdict(*, fault_moves_money: bool = False, **sums: Any) -> Verdict:
        end = after(
            [],
            {**BOOKS, "orders": [order(**sums)]},
            rows=[{"reference": "order-1", "paid": sums["captured"]}],
        )
        reference = Reference(SENT_ON, {"order-1"})
        return judged(
            0, end, reference, has_books=True, has_fired=True, fault_moves_money=fault_moves_money
        ).verdict

    assert verdict(captured=20, transferred=30) is Verdict.UNSAFE
    assert verdict(captured=20, transferred=15) is Verdict.SURVIVED
    assert verdict(captured=20, transferred=30, fault_moves_money=True) is Verdict.SURVIVED
    # The share of a higher price is higher.
    assert verdict(captured=30, transferred=22) is Verdict.SURVIVED


@pytest.mark.parametrize(
    ("row", "sums", "words"),
    [
        pytest.param(
            {"paid": 30, "state": "paid"},
            {"captured": 30},
            "paid 30.00 AUD for order-1 of 20",
            id="a-fee",
        ),
        pytest.param(
            {"paid": 40}, {"captured": 40}, "paid 40.00 AUD for order-1 of 20", id="both-payments"
        ),
        pytest.param({"paid": 20, "state": "paid"}, {"captured": 20}, "", id="the-same"),
        pytest.param(
            {"paid": 40, "refunded": 20}, {"captured": 40, "refunded": 20}, "", id="one-given-back"
        ),
        pytest.param(
            {"state": "unknown"}, {"captured": 40}, "", id="it-knows-that-it-does-not-know"
        ),
    ],
)
def test_what_books_agree_on_and_no_fault_takes_is_noted(
    row: dict[str, Any], sums: Any, words: str
) -> None:
    books = {"orders": [order(peak=20, **sums)], "now": "2031-01-01T00:00:00Z", "in_doubt": []}
    end = after([], books, rows=[{"reference": "order-1", **row}])
    found = judged(0, end, Reference(PAID, {"order-1"}), has_books=True, has_fired=True)
    assert found.verdict is Verdict.SURVIVED
    assert len(found.words) == bool(words)
    assert all(one.startswith("the books agree: ") and words in one for one in found.words)
    ours = judged(
        0, end, Reference(PAID, {"order-1"}), has_books=True, has_fired=True, fault_moves_money=True
    )
    assert not ours.words


@pytest.mark.parametrize(
    ("has_books", "words"),
    [(True, ["40.00 AUD are taken, held or pending for order-1 of 20.00 AUD"]), (False, [])],
)
def test_what_a_finding_costs_is_told_where_the_books_agree(
    has_books: bool, words: list[str]
) -> None:
    usual = Reference(money(order(pending=20, peak=20)), {"order-1"})
    found = [told_row("double-charge")]
    end = RunEnd(money(order(pending=40, peak=40)), found, rows=CALLED_PENDING)
    made = judged(0, end, usual, has_books=has_books, has_fired=True)
    assert (made.verdict, made.words) == (Verdict.UNSAFE, words)


@pytest.mark.parametrize(
    ("row", "refunded", "words"),
    [
        ({"paid": 20, "refunded": 0, "state": "paid"}, 0, "0.00 AUD of order-1 were given back"),
        ({"paid": 20, "refunded": 5, "state": "paid"}, 5, ""),
        ({"state": "unknown"}, 0, ""),
        ({"paid": 20, "state": "refund-owed"}, 0, ""),
    ],
    ids=["not made", "made", "unknown", "owed"],
)
def test_a_refund_that_is_not_made_and_not_booked_is_noted(
    row: dict[str, Any], refunded: int, words: str
) -> None:
    usual = Reference(money(order(captured=20, refunded=5)), {"order-1"})
    end = RunEnd(
        money(order(captured=20, refunded=refunded)), [], rows=[{"reference": "order-1", **row}]
    )
    found = judged(0, end, usual, has_books=True, has_fired=True)
    assert found.verdict is Verdict.SURVIVED
    assert found.words == ([f"the books agree: {words}, 5.00 AUD were meant"] if words else [])


def told_row(finding: str, *, informed: bool = True, severity: str = "error") -> dict[str, Any]:
    lines = [{"line": "charge.refund 5 AUD ch_1: answered", "entry": 1, "webhook": None}]
    about = {"charge": "ch_1"} if finding == "double-charge" else {"event": "evt_1"}
    return {
        "finding": finding,
        "severity": severity,
        "informed": informed,
        "about": about,
        "evidence": lines,
    }


@pytest.mark.parametrize(
    ("informed", "run", "severities"),
    [
        (True, order(captured=40, peak=40), []),
        (True, order(captured=60, peak=60), ["error"]),
        (True, order(captured=60, refunded=20, peak=60), ["error"]),
        (False, order(captured=40, peak=40), ["warning"]),
    ],
    ids=["as much", "more", "more for a time", "it did not know"],
)
def test_who_knew_and_has_taken_no_more_paid_twice_on_purpose(
    informed: bool, run: dict[str, Any], severities: list[str]
) -> None:
    usual = Reference(money(order(captured=40, peak=40)), {"order-1"})
    row = told_row("double-charge", informed=informed, severity="warning")
    found = beside_usual(RunEnd(money(run), [row]), usual, fault_moves_money=False).findings
    assert [one["severity"] for one in found] == severities


@pytest.mark.parametrize(("captured", "severities"), [(40, []), (60, ["warning"])])
def test_more_money_under_a_fault_that_moves_money_is_no_proof(
    captured: int, severities: list[str]
) -> None:
    usual = Reference(money(order(captured=40, peak=40)), {"order-1"})
    row = told_row("double-charge", severity="warning")
    end = RunEnd(money(order(captured=captured, peak=captured)), [row])
    found = beside_usual(end, usual, fault_moves_money=True).findings
    assert [one["severity"] for one in found] == severities


@pytest.mark.parametrize(("count", "severities"), [(2, []), (3, ["error"])])
def test_a_repeat_that_the_usual_run_has_too_is_none(count: int, severities: list[str]) -> None:
    usual = Reference(PAID, {"order-1"}, operations={"charge.refund": 2})
    row = told_row("webhook-not-deduplicated", severity="warning")
    end = RunEnd(PAID, [row], operations={"charge.refund": count})
    assert [
        one["severity"] for one in beside_usual(end, usual, fault_moves_money=False).findings
    ] == severities


@pytest.mark.parametrize(
    ("has_moved", "has_books", "differs", "severities"),
    [
        (True, True, False, ["error"]),
        (True, False, False, ["error"]),
        (False, True, True, ["error", "error"]),
        (False, True, False, []),
        (False, False, False, ["warning"]),
    ],
)
def test_a_forgery_is_judged_by_what_follows(
    has_moved: bool, has_books: bool, differs: bool, severities: list[str]
) -> None:
    rows = [told_row("forged-webhook-accepted")]
    rows += [told_row("paid-without-money")] if differs else []
    end, control = RunEnd(PAID, rows), RunEnd(PAID, [])
    found = beside_unforged(end, control, has_moved=has_moved, has_books=has_books).findings
    assert [row["severity"] for row in found] == severities


def test_what_differs_without_the_forgery_too_is_not_its_doing() -> None:
    rows = [told_row("forged-webhook-accepted"), told_row("paid-without-money")]
    control = RunEnd(PAID, [told_row("paid-without-money")])
    found = beside_unforged(RunEnd(PAID, rows), control, has_moved=False, has_books=True).findings
    assert [row["finding"] for row in found] == ["paid-without-money"]


def test_the_moves_of_a_charge_are_those_that_name_it() -> None:
    calls = [
        {"op": op, "call": 1, "charges": [charge]}
        for op, charge in [
            ("charge.capture", "ch_1"),
            ("charge.get", "ch_1"),
            ("charge.refund", "ch_2"),
        ]
    ]
    assert moves_of(["ch_1"], calls) == {"charge.capture": 1}


BESIDE = "paid-beside-pending"


@pytest.mark.parametrize(
    ("usual", "run", "severities"),
    [
        (order(captured=20), order(captured=40), ["error"]),
        (order(captured=20), order(captured=20, waiting=20), ["error"]),
        (order(captured=40), order(captured=20, pending=20), []),
        (order(captured=20), order(captured=40, refunded=20, peak=40), []),
    ],
    ids=["both came", "one may come", "two were meant", "one was given back"],
)
def test_a_payment_beside_a_pending_one_is_judged_by_what_may_come(
    usual: dict[str, Any], run: dict[str, Any], severities: list[str]
) -> None:
    end = RunEnd(money(run), [told_row(BESIDE)])
    found = beside_usual(
        end, Reference(money(usual), {"order-1"}), fault_moves_money=False
    ).findings
    assert [row["severity"] for row in found] == severities


@pytest.mark.parametrize("has_books", [True, False])
def test_a_payment_that_may_still_come_beside_another_is_doubtful(has_books: bool) -> None:
    row = {**told_row(BESIDE, severity="warning"), "evidence": [{"line": "it may still come"}]}
    end = RunEnd(money(order(captured=20, waiting=20)), [row])
    made = judged(0, end, Reference(PAID, {"order-1"}), has_books=has_books, has_fired=True)
    assert (made.verdict, made.words) == (Verdict.DOUBTFUL, ["it may still come"])


def left_after(name: str, *entries: int, state: str = "", printed: bytes = b"") -> bool:
    """Whether a warning of a charge is left when the shop has printed that, and its books, if any,
    give the order that state; the command's last call is the third of the journal."""
    lines = [{"entry": entry, "line": "GET /charge"} for entry in entries]
    row = told_row(name, severity="warning") | {"evidence": lines, "count": 1}
    row |= {"about": {"charge": "ch_1"}}
    rows = [{"reference": "order-1", "state": state}] if state else []
    end = RunEnd(money(order(held=20)), [row], rows=rows)
    return bool(beside_shop(end, printed, 3).findings)


@pytest.mark.parametrize(
    ("state", "is_left"),
    [("held", False), ("authorised", False), ("unknown", False), ("paid", True), ("", True)],
)
def test_a_hold_that_the_books_name_is_not_forgotten(state: str, is_left: bool) -> None:
    assert left_after("authorisation-forgotten", 1, state=state) is is_left


@pytest.mark.parametrize(
    ("state", "printed", "entries", "is_left"),
    [
        ("pending", b"", (1,), False),
        ("unpaid", b"", (1,), False),
        ("paid", b"go to http://127.0.0.1/3ds/ch_1", (1,), True),
        ("", b"go to http://127.0.0.1/3ds/ch_1", (1,), False),
        ("", b"go to http://127.0.0.1/3ds/ch_2", (1,), True),
        ("", b"go to http://127.0.0.1/3ds/ch_1", (1, 2), True),
    ],
)
def test_who_prints_the_address_of_a_challenge_or_books_it_knows_of_it(
    state: str, printed: bytes, entries: tuple[int, ...], is_left: bool
) -> None:
    left = left_after("challenge-ignored", *entries, state=state, printed=printed)
    assert left is is_left


@pytest.mark.parametrize(
    ("state", "is_left"),
    [("unknown", False), ("pending", True), ("paid", True), ("", True)],
)
def test_a_doubt_that_the_books_name_is_left_to_a_person(state: str, is_left: bool) -> None:
    assert left_after("doubt-left-open", 1, state=state) is is_left


@pytest.mark.parametrize(
    ("state", "is_left"),
    [("unknown", False), ("pending", False), ("shipped", True), ("refunded", True), ("", True)],
)
def test_a_part_that_the_books_do_not_call_paid_is_not_ignored(state: str, is_left: bool) -> None:
    assert left_after("partial-approval-ignored", 1, state=state) is is_left


NOBODY = "ConnectError: All connection attempts failed"


@pytest.mark.parametrize(
    ("end_of_try", "has_books", "differs", "is_left"),
    [
        (NOBODY, True, False, False),
        (NOBODY, False, False, True),
        (NOBODY, True, True, True),
        ("500", True, False, True),
        ("ReadTimeout", True, False, True),
    ],
    ids=["nobody listens any more", "no books", "books differ", "it refuses", "it hangs"],
)
def test_a_webhook_that_nobody_could_hear_is_not_lost_where_the_books_agree(
    end_of_try: str, has_books: bool, differs: bool, is_left: bool
) -> None:
    line = f"webhook w_1  transaction.status.changed ch_1 try 6: {end_of_try}"
    found = [told_row("webhook-lost", severity="warning") | {"evidence": [{"line": line}]}]
    found += [told_row("charged-but-unpaid")] if differs else []
    rows = [{"reference": "order-1", "paid": 20}] if has_books else []
    left = beside_shop(RunEnd(PAID, found, rows=rows), b"", 3).findings
    assert ("webhook-lost" in [row["finding"] for row in left]) is is_left


@pytest.mark.parametrize(
    ("name", "severity", "faults", "of_two", "is_left"),
    [
        ("wrong-state", "warning", ["sent_twice"], False, False),
        ("wrong-state", "warning", ["lost_answer", "sent_twice"], False, False),
        ("blind-retry", "warning", ["sent_twice"], False, True),
        ("wrong-state", "warning", ["lost_answer"], False, True),
        ("blind-retry", "warning", ["twice_at_request"], True, False),
        ("paid-at-once-twice", "error", ["twice_at_request"], True, True),
        ("hold-left-open", "warning", ["twice_at_request"], True, True),
    ],
)
def test_a_warning_that_the_fault_brings_on_anybody_is_left_out(
    name: str, severity: str, faults: list[str], of_two: bool, is_left: bool
) -> None:
    end = RunEnd(PAID, [told_row(name, severity=severity)])
    assert bool(beside_fault(end, faults, of_two=of_two).findings) is is_left


@pytest.mark.parametrize(
    ("back", "names"), [(10, []), (15, ["double-refund"])], ids=["as much", "more"]
)
def test_two_refunds_that_give_no_more_back_were_meant(back: int, names: list[str]) -> None:
    usual = Reference(money(order(captured=20, refunded=10)), {"order-1"})
    row = told_row("double-refund") | {"about": {"charge": "ch_1"}}
    end = RunEnd(money(order(captured=20, refunded=back)), [row])
    found = beside_usual(end, usual, fault_moves_money=False).findings
    assert [row["finding"] for row in found] == names


@pytest.mark.parametrize(("entries", "is_left"), [((2, 3), True), ((3, 4), False), ((4, 5), True)])
def test_a_pause_of_the_command_is_none_of_its_nightly_job(
    entries: tuple[int, ...], is_left: bool
) -> None:
    assert left_after("retry-after-ignored", *entries) is is_left


CALLED_PENDING = [{"reference": "order-1", "state": "pending"}]


@pytest.mark.parametrize(
    ("more", "usual", "wanted"),
    [
        ({}, {}, Verdict.DOUBTFUL),
        ({"is_due": True}, {}, Verdict.SURVIVED),
        ({}, {"leaves_pending": True}, Verdict.SURVIVED),
        ({"rows": [{"reference": "order-1", "state": "unknown"}]}, {}, Verdict.SURVIVED),
        ({"money": money(order(held=20))}, {}, Verdict.SURVIVED),
        ({"money": money(order(captured=20, waiting=30))}, {}, Verdict.SURVIVED),
    ],
    ids=["nothing is due", "a settlement is due", "as usual", "unknown", "a hold", "a balance"],
)
def test_pending_is_a_claim_that_ends(
    more: dict[str, Any], usual: dict[str, Any], wanted: Verdict
) -> None:
    end = RunEnd(**{"money": PAID, "findings": [], "rows": CALLED_PENDING, **more})
    found = judged(0, end, Reference(**usual), has_books=True, has_fired=True)
    assert found.verdict is wanted
    if wanted is Verdict.DOUBTFUL:
        assert "20.00 AUD taken for order-1, called pending" in found.words[0]


def test_what_stays_pending_when_all_has_settled_names_the_nightly_job() -> None:
    rows = [{**told_row("charged-but-unpaid"), "severity": "error"}]
    end = RunEnd(PAID, rows, rows=CALLED_PENDING, is_settled=True)
    found = judged(0, end, Reference(), has_books=True, has_fired=True)
    assert found.verdict is Verdict.UNSAFE
    assert found.words[0].startswith("--reconcile")


CRASH, DESK = Ending(Telling.CRASHED, "Lost: x", 1), Ending(Telling.SAID, "the desk looks", 1)


@pytest.mark.parametrize(
    ("more", "wanted", "words"),
    [
        ({"ending": CRASH}, Verdict.FAILED, []),
        ({"ending": CRASH, "untold": ["80.00 AUD held"]}, Verdict.DOUBTFUL, ["80.00 AUD held"]),
        ({"ending": DESK, "untold": ["20.00 AUD taken"]}, Verdict.DOUBTFUL, ["20.00 AUD taken"]),
        (
            {"ending": DESK, "unread": "--books: exit code 1"},
            Verdict.DOUBTFUL,
            ["--books: exit code 1", "20.00 AUD taken for order-1"],
        ),
        (
            {"ending": DESK, "unread": "--books: exit code 1", "money": money()},
            Verdict.FAILED,
            ["--books: exit code 1"],
        ),
    ],
)
def test_an_error_is_judged_by_what_it_told(
    more: dict[str, Any], wanted: Verdict, words: list[str]
) -> None:
    end = RunEnd(**{"money": PAID, "findings": [], **more})
    found = judged(1, end, Reference(), has_books=True, has_fired=True)
    assert (found.verdict, [*found.words]) == (wanted, words)


def test_a_crash_is_named_beside_what_it_hides() -> None:
    rows = [{**told_row("charged-but-unpaid"), "severity": "error"}]
    end = RunEnd(PAID, rows, ending=CRASH)
    found = judged(1, end, Reference(), has_books=True, has_fired=True)
    assert found.verdict is Verdict.UNSAFE
    assert found.words[-1] == "the command crashed: Lost: x"


def test_without_books_an_error_says_what_was_taken() -> None:
    end = RunEnd(PAID, [], ending=CRASH)
    found = judged(1, end, Reference(), has_books=False, has_fired=True)
    assert (found.verdict, [*found.words]) == (Verdict.FAILED, ["20.00 AUD taken for order-1"])
