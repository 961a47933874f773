"""Failure stories that payment teams tell, each said by one scenario file and confirmed by real requests.

The table says which file tells a story and in how many lines of rules, ``id`` included. Each story has a test of the
name of its file.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from mockserver.web.faults import Cut
from tests.driving import Api, card, card_charge, problem_of

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"
STORIES = """
fifteen calls a second, then 429            | fifteen-a-second          | 4
a merchant's daily limit                    | daily-limit               | 4
a refund that fails after three days        | refund-fails-late         | 4
a refund unseen until it settles            | refund-settles-late       | 3
captures booked at night                    | capture-pending           | 2
a direct debit returned after two weeks     | direct-debit-returned     | 3
an answer lost once for each customer       | once-per-customer         | 4
closed each night, across summer time       | maintenance-window        | 3
"""
ROWS = [[cell.strip() for cell in line.split("|")] for line in STORIES.strip().splitlines()]
BOB = "5555555555554444"


def shop(name: str) -> Api:
    """A caller of a sandbox in which one file is in force."""
    return Api(scenario=(SCENARIOS / f"{name}.yaml").read_text("utf-8"))


def lines_of_rules(name: str) -> int:
    """Lines between ``rules:`` and the next part of a file, blank ones and comments left out."""
    lines = iter((SCENARIOS / f"{name}.yaml").read_text("utf-8").splitlines())
    next(line for line in lines if line == "rules:")
    told = []
    for line in lines:
        if line and not line.startswith((" ", "#")):
            break
        told += [line] if line.strip() and not line.lstrip().startswith("#") else []
    return len(told)


@pytest.mark.parametrize(("name", "lines"), [(name, int(lines)) for _, name, lines in ROWS])
def test_lines(name: str, lines: int) -> None:
    assert lines_of_rules(name) == lines


def test_every_story_is_confirmed() -> None:
    assert [name for _, name, _ in ROWS if f"test_{name.replace('-', '_')}" not in globals()] == []
    assert len({name for _, name, _ in ROWS}) == len(ROWS)


def test_fifteen_a_second() -> None:
    api = shop("fifteen-a-second")
    for _ in range(3):
        replies = [api.get("/customer") for _ in range(17)]
        assert [reply.status for reply in replies] == [200] * 15 + [429] * 2
        assert (problem_of(replies[16]), replies[16].headers["retry-after"]) == ((429, 35), "1")
        api.advance("1s")


def test_daily_limit() -> None:
    api = shop("daily-limit")
    for pause in ("4h", "24h", "1h"):
        replies = [api.post("/charge/card", card_charge()) for _ in range(4)]
        assert [reply.status for reply in replies] == [201, 201, 201, 400]
        assert problem_of(replies[3]) == (400, 965)
        if pause != "1h":
            api.advance(pause)
    api.advance("1h")
    assert problem_of(api.post("/charge/card", card_charge())) == (400, 965)


def test_once_per_customer() -> None:
    api = shop("once-per-customer")
    made = [
        api.post("/customer/card", {"providerId": card_charge()["providerId"], "paymentInformation": card(number)})
        for number in ("4111111111111111", BOB)
    ]
    ids = [reply["customerId"] for reply in made]
    bodies = [{"customerId": one, "amount": amount} for amount in (1, 2, 3) for one in ids]
    for body in bodies[:2]:
        with pytest.raises(Cut):
            api.post("/charge/customer", body)
    assert [api.post("/charge/customer", body).status for body in bodies[2:]] == [201] * 4
    assert api.get("/charge")["count"] == 6


def test_maintenance_window() -> None:
    api = shop("maintenance-window")
    open_, shut = [], []
    api.advance("31m")
    for _ in range(3 * 24):
        (shut if api.get("/charge").status == 503 else open_).append(len(open_) + len(shut))
        api.advance("1h")
    # 15:30 and 16:30 UTC of the first night, one hour more in the next, an hour later from then on.
    assert shut == [0, 1, 24, 25, 26, 49, 50]


def test_refund_fails_late() -> None:
    api = shop("refund-fails-late")
    charge_id = api.charge()["chargeId"]
    assert api.delete(f"/refund/{charge_id}")["status"] == "REFUND"
    api.advance("3d")
    failed = api.get(f"/charge/{charge_id}").body
    assert (failed["status"], failed["refundedAmount"], failed["refunds"]) == ("SUCCESS", 0, [])
    assert api.delete(f"/refund/{charge_id}")["refundedAmount"] == 20


def test_refund_settles_late() -> None:
    api = shop("refund-settles-late")
    charge_id = api.charge()["chargeId"]
    assert api.delete(f"/refund/{charge_id}")["status"] == "SUCCESS"
    assert problem_of(api.delete(f"/refund/{charge_id}")) == (400, 76)
    api.advance("5d")
    assert api.get(f"/charge/{charge_id}")["status"] == "REFUND"


def test_capture_pending() -> None:
    api = shop("capture-pending")
    ids = [api.charge(amount=amount, capture=False)["chargeId"] for amount in (100, 100.01)]
    assert [api.post(f"/charge/{one}")["status"] for one in ids] == ["PENDING"] * 2
    api.advance("12h")
    assert [api.get(f"/charge/{one}")["status"] for one in ids] == ["SUCCESS", "FAILED"]


def test_direct_debit_returned() -> None:
    api = shop("direct-debit-returned")
    account = {"bankCode": "001-002", "accountNumber": "123456", "accountName": "Ann"}
    body = {"amount": 5, "providerId": card_charge()["providerId"], "bankPaymentInformation": account}
    charge_id = api.post("/charge/bank_account", body)["chargeId"]
    seen = []
    for pause in ("1d", "12d", "1d", "0s"):
        seen.append(api.get(f"/charge/{charge_id}")["status"])
        api.advance(pause)
    assert seen == ["PENDING", "SUCCESS", "SUCCESS", "FAILED"]
