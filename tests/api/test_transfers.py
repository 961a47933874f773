"""Transfers and settlements over HTTP (published facts, 1.1 rows 69-71 and 76, 2.14)."""

from typing import Any

import pytest

from mockserver.engine import transfers
from tests.driving import DUMMY, Api, card_charge, problem_of

FIELDS = [
    "transferId", "status", "reference", "groupReference", "providerId", "currency", "account", "chargeId",
    "dateAdded", "totalAmount", "amount",
]  # fmt: skip
SETTLEMENT_FIELDS = [
    "settlementId", "providerId", "providerName", "chargeId", "settlementDate", "createdDate", "amount",
]  # fmt: skip
BANK = {"bankCode": "123-456", "accountNumber": "12345678", "accountName": "Ann Example"}


def row(account: str = "acc-1", amount: object = 5, **fields: object) -> dict[str, object]:
    return {"account": account, "amount": amount, **fields}


def group(*rows: dict[str, object], **fields: object) -> dict[str, object]:
    return {
        "providerId": DUMMY,
        "groupReference": "group-1",
        "transfers": list(rows) or [row()],
        **fields,
    }


def made(api: Api, body: dict[str, object]) -> Any:
    reply = api.post("/transfer", body)
    assert reply.status == 201, reply.raw
    return reply.body


def test_a_group_answers_with_a_bare_list(api: Api) -> None:
    charge = api.charge(amount=20)["chargeId"]
    first = row("acc-1", "5.50", currency="aud", message="share", reference="t-1")
    rows = made(api, group(first, row("acc-2", 4.0), chargeId=charge))
    assert [list(found) for found in rows] == [FIELDS, FIELDS]
    assert [(found["account"], found["amount"], found["totalAmount"]) for found in rows] == [
        ("acc-1", 5.5, 9.5), ("acc-2", 4, 9.5),
    ]  # fmt: skip
    assert {(found["status"], found["currency"], found["chargeId"]) for found in rows} == {
        ("SUCCESS", "AUD", charge)
    }
    assert [found["reference"] for found in rows] == ["t-1", None]
    assert {found["groupReference"] for found in rows} == {"group-1"}
    assert api.get(f"/transfer/{rows[0]['transferId']}").body == rows[0]


def test_pascal_case_and_no_charge(api: Api) -> None:
    rows = made(api, {"ProviderId": DUMMY, "Transfers": [{"Account": "a", "Amount": "7"}]})
    assert (rows[0]["chargeId"], rows[0]["currency"], rows[0]["amount"]) == (None, "AUD", 7)


@pytest.mark.parametrize(
    ("body", "code", "place"),
    [
        (group(providerId="nothing"), 39, "ProviderId"),
        (group(chargeId="nothing"), 84, "ChargeId"),
        (group(transfers=[]), 67, "Transfers"),
        (group(transfers=None), 67, "Transfers"),
        (group(row(amount=0)), 60, "Transfers.0.Amount"),
        (group(row(amount="1.001")), 60, "Transfers.0.Amount"),
        (group(row(currency="QQQ")), 29, "Transfers.0.Currency"),
        (group(row(currency="NZD")), 29, "Transfers.0.Currency"),
        (group(groupReference=""), 61, "GroupReference"),
        (group(groupReference="x" * 41), 61, "GroupReference"),
        (group(row(reference="x" * 41)), 61, "Transfers.0.Reference"),
        (group(row(reference="r"), row(reference="r")), 70, "Transfers.1.Reference"),
        (group(row("")), 90, "Transfers.0.Account"),
        (group({"account": "a"}), 90, "Transfers.0.Amount"),
    ],
)
def test_a_group_of_transfers_with_a_bad_one_is_refused_as_a_whole(
    shared: Api, body: dict[str, object], code: int, place: str
) -> None:
    reply = shared.post("/transfer", body)
    assert (problem_of(reply), list(reply["details"])) == ((400, code), [place])
    assert shared.get("/transfer")["count"] == 0


def test_references_of_forty_characters_are_taken(api: Api) -> None:
    assert len(made(api, group(row(reference="x" * 40), groupReference="y" * 40))) == 1


def test_references_are_used_once(api: Api) -> None:
    made(api, group(row(reference="t-1")))
    assert problem_of(api.post("/transfer", group(row(reference="t-2")))) == (400, 69)
    again = api.post("/transfer", group(row(reference="t-1"), groupReference="group-2"))
    assert problem_of(again) == (400, 70)
    assert len(made(api, group(row(reference="t-2"), groupReference="group-2"))) == 1


def test_a_transfer_takes_no_more_than_the_charge_has_left(api: Api) -> None:
    charge = api.charge(amount=20)["chargeId"]
    api.delete(f"/refund/{charge}", amount=5)
    over = api.post("/transfer", group(row(amount=10), row(amount="5.01"), chargeId=charge))
    assert (problem_of(over), list(over["details"])) == ((400, 68), ["Amount"])
    made(api, group(row(amount=10), chargeId=charge))
    assert problem_of(api.post("/transfer", group(row(amount="5.01"), chargeId=charge, groupReference="2"))) == (
        400, 68,
    )  # fmt: skip
    made(api, group(row(amount=5), chargeId=charge, groupReference="2"))


@pytest.mark.parametrize(("profile", "status"), [("documented", 409), ("sdk", 400)])
def test_only_paid_charges_are_shared(profile: str, status: int) -> None:
    api = Api(profile=profile, waits=True)
    held = api.charge(capture=False)["chargeId"]
    assert problem_of(api.post("/transfer", group(chargeId=held))) == (status, 54)
    api.post(f"/charge/{held}")
    assert api.post("/transfer", group(chargeId=held)).status in (200, 201)


def test_a_transfer_can_take_its_time() -> None:
    api = Api(assumptions={"transfer.settles_after": "1h"})
    found = made(api, group())[0]
    assert found["status"] == "PENDING"
    assert api.get("/transfer", status="pending")["count"] == 1
    api.advance("1h")
    assert api.get(f"/transfer/{found['transferId']}").body == {**found, "status": "SUCCESS"}
    assert (
        api.get("/transfer", status="pending")["count"],
        api.get("/transfer", status="Success")["count"],
    ) == (0, 1)


def test_transfers_are_found_by_every_parameter(api: Api) -> None:
    rows = []
    for number in range(3):
        body = group(row(amount=9 - number, reference=f"t-{number}"), groupReference=f"g-{number}")
        rows.append(made(api, body)[0]["transferId"])
        api.advance("1h")

    def found(**query: object) -> list[str]:
        return [entry["transferId"] for entry in api.get("/transfer", **query)["transfers"]]

    assert found() == rows[::-1]
    assert found(Reference="t-1") == found(reference="g-1") == [rows[1]]
    assert found(ProviderId=DUMMY, addedAfter="2031-03-01T00:30:00Z") == [rows[2], rows[1]]
    assert found(addedBefore="2031-03-01T00:30:00Z") == [rows[0]]
    assert found(providerId="nothing") == []
    assert found(sortBy="Amount", sortOrder="asc") == rows[::-1]
    page = api.get("/transfer", limit=1, skip=1).body
    assert list(page) == ["limit", "skip", "count", "transfers"]
    assert (page["limit"], page["skip"], page["count"], page["transfers"][0]["transferId"]) == (
        1,
        1,
        3,
        rows[1],
    )
    assert problem_of(api.get("/transfer", sortBy="colour")) == (400, 90)


def test_an_unknown_transfer_is_not_found(api: Api) -> None:
    assert problem_of(api.get("/transfer/nothing")) == (404, 88)
    assert problem_of(Api(profile="sdk").get("/transfer/nothing")) == (400, 88)


def settled(api: Api, start: str, end: str | None = None) -> list[tuple[str, float]]:
    query = {"startDate": start} | ({"endDate": end} if end else {})
    return [
        (entry["settlementDate"][:10], entry["amount"])
        for entry in api.get("/settlements", **query).body
    ]


def test_a_day_settles_at_the_next_midnight(api: Api) -> None:
    charge = api.charge(amount=20)["chargeId"]
    api.charge(amount=7)
    api.charge(capture=False)
    api.post("/charge/card", card_charge(paymentInformation={
        "cardNumber": "4000000000000002", "expiryDate": "12/40", "ccv": "123",
    }))  # fmt: skip
    api.delete(f"/refund/{charge}", amount="2.50")
    api.advance("23h")
    assert settled(api, "2031-03-01") == []
    api.advance("1h")
    rows = api.get("/settlements", startDate="2031-03-01", endDate="2031-03-02").body
    assert [list(found) for found in rows] == [SETTLEMENT_FIELDS, SETTLEMENT_FIELDS]
    assert [found["amount"] for found in rows] == [17.5, 7]
    assert len({found["settlementId"] for found in rows}) == 1
    assert (rows[0]["chargeId"], rows[0]["providerId"], rows[0]["providerName"]) == (
        charge,
        DUMMY,
        "Dummy",
    )
    assert rows[0]["settlementDate"] == rows[0]["createdDate"] == "2031-03-02T00:00:00.0000000Z"
    assert api.get("/settlements", startDate="2031-03-01").body == rows


def test_a_later_refund_is_taken_back_on_its_own_day(api: Api) -> None:
    charge = api.charge(amount=20)["chargeId"]
    api.advance("2d")
    api.delete(f"/refund/{charge}")
    api.advance("1d")
    assert settled(api, "2031-03-01") == [("2031-03-02", 20), ("2031-03-04", -20)]
    assert settled(api, "2031-03-03", "2031-03-04") == [("2031-03-04", -20)]
    assert settled(api, "2031-03-02", "2031-03-02") == [("2031-03-02", 20)]
    assert settled(api, "2031-03-05", "2031-03-09") == []


def test_a_charge_refunded_the_same_day_does_not_show(api: Api) -> None:
    api.delete(f"/refund/{api.charge(amount=20)['chargeId']}")
    api.advance("1d")
    assert settled(api, "2031-03-01") == []


def test_refunds_and_captures_of_many_days_settle_day_by_day_by_provider() -> None:
    api = Api()
    other = api.post("/provider", {"type": "dummy", "name": "Other"})["providerId"]
    early = api.charge(amount=20)["chargeId"]
    held = api.charge(amount=9, capture=False)["chargeId"]
    api.charge(amount=3, providerId=other)
    api.charge(amount=4)
    for _ in range(2):
        api.advance("1d")
        api.delete(f"/refund/{early}", amount=5)
        api.delete(f"/refund/{early}", amount=1)
    api.post(f"/charge/{held}", {"amount": 8})
    api.advance("1d")
    first, second, third = (f"2031-03-0{day}" for day in (2, 3, 4))
    bought = (
        [(first, 20), (first, 4), (first, 3)]
        if other > DUMMY
        else [(first, 3), (first, 20), (first, 4)]
    )
    wanted = [*bought, (second, -6), (third, -6), (third, 8)]
    assert settled(api, "2031-03-01") == wanted
    copy = Api()
    assert copy.put("/__admin/state", api.get("/__admin/state").body).status == 200
    assert settled(copy, "2031-03-01") == wanted


def test_pending_money_settles_when_it_has_come(api: Api) -> None:
    api.post(
        "/charge/bank_account", {"amount": 30, "providerId": DUMMY, "bankPaymentInformation": BANK}
    )
    api.advance("1d")
    assert settled(api, "2031-03-01") == []
    api.advance("1d")
    assert settled(api, "2031-03-01") == [("2031-03-03", 30)]


def test_settlements_need_a_start_that_is_no_later_than_the_end(api: Api) -> None:
    missing = api.get("/settlements")
    assert (problem_of(missing), list(missing["details"])) == ((400, 90), ["StartDate"])
    assert problem_of(api.get("/settlements", startDate="soon")) == (400, 90)
    wrong = api.get("/settlements", startDate="2031-03-02", endDate="2031-03-01")
    assert (problem_of(wrong), list(wrong["details"])) == ((400, 90), ["EndDate"])
    assert api.get("/settlements", startDate="2031-04-01").body == []
    assert api.get("/settlements", startDate="2031-04-01", endDate="2031-04-02").body == []


def test_settlements_of_too_many_charges_are_refused(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        api.charge(amount=5)
        api.advance("1d")
    monkeypatch.setattr(transfers, "MOST_SETTLED", 2)
    assert len(settled(api, "2031-03-01", "2031-03-03")) == 2
    refused = api.get("/settlements", startDate="2031-03-01")
    assert problem_of(refused) == (400, 90)
    assert refused["details"] == {
        "StartDate": "got days with 3 charges, wanted at most 2: ask for fewer days"
    }
