"""The end of a test in one call, and its report: what every client asks (``/__admin/verify``,
``/__admin/report``)."""

import pytest

from tests.driving import DUMMY, Api


def timeline(api: Api) -> list[str]:
    return api.get("/__admin/report", parts="timeline").raw.decode().split("\n")


def ended(api: Api, **asked: object) -> tuple[int, list[str], list[str]]:
    reply = api.post("/__admin/verify", {"rules": True, "finish": True, **asked})
    return reply.status, reply["differences"], [one["finding"] for one in reply["findings"]]


def test_what_was_left_open_is_listed_and_fails_at_its_severity(api: Api) -> None:
    api.charge(capture=False, reference="order-1")
    assert ended(api, findings="error") == (200, [], ["authorisation-forgotten"])
    status, differences, _ = ended(api, findings="none")
    assert (status, differences[0].partition(":")[0]) == (409, "authorisation-forgotten")


def test_an_allowed_finding_is_listed_and_does_not_fail(api: Api) -> None:
    api.charge(capture=False, reference="order-1")
    assert ended(api, findings="none", allow=["authorisation-forgotten"])[:2] == (200, [])
    assert ended(api, findings="none", allow=["double-charge"])[0] == 409


@pytest.mark.parametrize(("sentence", "status"), [("net(*) <= 20", 200), ("net(*) <= 19", 409)])
def test_a_sentence_about_money_must_hold(api: Api, sentence: str, status: int) -> None:
    api.charge(reference="order-1")
    reply = api.post("/__admin/verify", {"money": [sentence]})
    assert (reply.status, bool(reply["differences"])) == (status, status == 409)


def test_since_a_mark_the_money_is_that_of_the_orders_touched_since(api: Api) -> None:
    api.charge(reference="order-1")
    api.post("/__admin/marks", {"name": "here"})
    asked = {"money": ["net(*) <= 19"]}
    assert api.call("POST", "/__admin/verify", asked, {"since": "here"}).status == 200
    api.charge(reference="order-2")
    assert api.call("POST", "/__admin/verify", asked, {"since": "here"}).status == 409


def test_a_scenario_that_did_nothing_is_named() -> None:
    api = Api(
        scenario="version: 1\nrules: [{id: r, when: {request.amount: 7}, then: {decline: "
        "do_not_honour}}]"
    )
    assert "idle" not in api.post("/__admin/verify", {"rules": True}).body
    assert len(api.post("/__admin/verify", {"finish": True})["idle"]) == 1


@pytest.mark.parametrize(
    ("body", "field", "words"),
    [
        ({"allow": ["double-charg"]}, "Allow[0]", "did you mean 'double-charge'"),
        ({"money": ["net(*) <="]}, "Money[0]", "wanted comparisons with and, or"),
        ({"money": [7]}, "Money[0]", "got '7'"),
        ({"finish": False}, "Requests", "nothing is verified"),
        ({"money": "net(*) <= 1"}, "Money", "list"),
    ],
)
def test_a_bad_expectation_is_refused_by_its_place(
    api: Api, body: dict[str, object], field: str, words: str
) -> None:
    reply = api.post("/__admin/verify", body)
    assert (reply.status, words in reply["details"].get(field, "")) == (400, True), reply.body


def test_the_report_has_timeline_findings_and_books_of_this_sandbox_alone(api: Api) -> None:
    api.call("POST", "/charge/card", {"amount": 1}, key="sk_other")
    api.charge(reference="order-1", amount=12.5, capture=False)
    api.post("/__admin/findings/finish")
    text = api.get("/__admin/report").raw.decode()
    parts = [part.partition("\n")[0] for part in text.split("\n\n")]
    assert (parts[0], "findings" in parts, parts[-1]) == ("timeline", True, "books")
    assert " authorisation-forgotten: " in text
    assert text.endswith("order-1: held 12.50 AUD")
    assert text.count("POST /charge/card") == 1


def test_a_report_of_one_part_is_that_alone_and_an_unknown_part_is_refused(api: Api) -> None:
    assert api.get("/__admin/report", parts="timeline").raw == b"no request reached this sandbox"
    refused = api.get("/__admin/report", parts="timelin")
    assert (refused.status, "timeline" in refused["details"]["Parts"]) == (400, True)


def test_the_timeline_says_what_a_retry_asks_for(api: Api) -> None:
    paid = api.charge(amount=20, reference="order-1")["chargeId"]
    api.charge(amount="20.50", currency="AUD", reference="4111111111111111")
    api.call("DELETE", f"/refund/{paid}", query={"amount": 5})
    api.call("GET", f"/charge/{paid}")
    lines = [line[25:] for line in timeline(api) if line[25:26] in {"P", "D", "G"}]
    assert lines == [
        "POST /charge/card  201  amount 20 AUD for order-1",
        "POST /charge/card  201  amount 20.50 AUD for 4111********1111",
        f"DELETE /refund/{paid}  200  amount 5",
        f"GET /charge/{paid}  200",
    ]


def test_the_timeline_says_field_by_field_why_a_request_was_refused(api: Api) -> None:
    api.post(
        "/charge/card",
        {"amount": 1, "providerId": DUMMY, "paymentInformation": {"cardNumber": "x", "ccv": "12"}},
    )
    api.post("/charge/token", {"amount": 1, "token": "abc"})
    api.call("GET", "/charges")
    lines = [line[25:] for line in timeline(api)]
    assert lines[:4] == [
        "POST /charge/card  400  Validation Error (code 90)  amount 1",
        "CardNumber: wanted 12 to 19 digits with a right check digit",
        "Ccv: wanted 3 or 4 digits",
        "ExpiryDate: required",
    ]
    assert lines[-4:] == [
        "POST /charge/token  400  Invalid Or Expired Token (code 51)  amount 1",
        "Token: no token 'abc' in this sandbox",
        "GET /charges  404  Not Found (code 1)",
        "Path: no such route - did you mean '/charge'?",
    ]


def test_the_timeline_of_a_declined_payment_does_not_repeat_the_payment(api: Api) -> None:
    assert api.try_charge(number="4000000000000002", email="ann@example.com").status == 400
    lines = timeline(api)
    assert len(lines) == 2, lines
    assert " declined: (new) -> FAILED" in lines[1]


def test_the_timeline_is_bounded_and_shows_neither_cards_nor_lines_of_a_client() -> None:
    api = Api(strict=True)
    names = [f"extra{number}" for number in range(30)]
    api.post(
        "/charge/token",
        dict.fromkeys(["4111111111111111\n2031 GET /all  200", "x" * 5_000, *names], 1),
    )
    lines = timeline(api)
    assert lines[-1].strip() == f"and {len(names) + 4 - 10} more"
    assert len(lines) == 12
    assert max(map(len, lines)) < 500
    assert not [line for line in lines if "4111111111111111" in line]
    assert [line for line in lines if line.startswith("2031")] == lines[:1]


def test_what_a_client_sends_does_not_look_like_lines_of_the_report(api: Api) -> None:
    api.charge(reference="order-1\nbooks\nerror \x1b[31m", amount=5, capture=False)
    api.post("/__admin/findings/finish")
    lines = api.get("/__admin/report").raw.decode().split("\n")
    assert lines.count("books") == 1
    assert lines[-1] == "order-1?books?error ?[31m: held 5.00 AUD"
    assert [line for line in lines if "\x1b" in line or line.startswith("error")] == []


def test_the_report_masks_cards(api: Api) -> None:
    api.charge(reference="4111111111111111")
    assert b"4111111111111111" not in api.get("/__admin/report").raw
