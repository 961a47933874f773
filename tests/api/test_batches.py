"""Batches through HTTP: what is taken in, how they get on, what their results say (service
document, Batches)."""

import csv
from io import StringIO
from typing import Any

import pytest

from mockserver.domain.clock import HOUR
from mockserver.scenario.problems import ScenarioRefused
from tests.driving import CARD, DUMMY, HEADER, Api, Reply, problem_of

RESULTS = (
    HEADER + ",Status,TransactionId,FailureReason,GatewayErrorCode,GatewayErrorResponse,IsRetryable"
)
PATH = "/batch/transaction/payment_method"


def lines(*rows: str) -> str:
    return "\n".join((HEADER, *rows))


def hand_in(api: Api, text: str, count: int, **fields: object) -> Reply:
    return api.post(PATH, {"count": count, "description": "Monthly run", "batch": text, **fields})


def taken(api: Api, text: str, count: int, **fields: object) -> str:
    reply = hand_in(api, text, count, **fields)
    assert reply.status == 201, reply.raw
    return reply["batchId"]


def results(api: Api, batch_id: str) -> list[dict[str, str]]:
    text = api.get(f"/batch/{batch_id}")["results"]
    assert text.split("\n")[0] == RESULTS
    return list(csv.DictReader(StringIO(text)))


def standing(api: Api, batch_id: str) -> tuple[str, float, int, int]:
    found = api.get(f"/batch/{batch_id}/status").body
    return found["status"], found["progress"], found["success"], found["failure"]


def test_a_batch_is_reported_without_results_as_it_is_handed_in(api: Api) -> None:
    reply = hand_in(api, lines(f"{api.method()},10,AUD,a"), 1, metadata={"run": "7"})
    assert reply.status == 201
    assert reply.body == {
        "batchId": reply["batchId"],
        "count": 1,
        "success": 0,
        "failure": 0,
        "description": "Monthly run",
        "status": "RECEIVED",
        "progress": 0,
        "dateAdded": "2031-03-01T00:00:00.0000000Z",
        "metadata": {"run": "7"},
    }


def test_a_batch_walks_its_states_on_the_clock_and_its_rows_with_it(api: Api) -> None:
    pm = api.method()
    batch_id = taken(api, lines(*(f"{pm},{amount},AUD,r{amount}" for amount in (1, 2, 3, 4))), 4)
    assert {row["Status"] for row in results(api, batch_id)} == {"RECEIVED"}
    api.advance("50ms")
    assert standing(api, batch_id) == ("CREATED", 0, 0, 0)
    assert {row["Status"] for row in results(api, batch_id)} == {"CREATED"}
    api.advance("50ms")
    assert standing(api, batch_id) == ("IN_PROGRESS", 0, 0, 0)
    api.advance("2ms")
    assert standing(api, batch_id) == ("IN_PROGRESS", 0.25, 1, 0)
    assert [row["Status"] for row in results(api, batch_id)] == ["SUCCESS", *["IN_PROGRESS"] * 3]
    api.advance("5999us")
    assert standing(api, batch_id) == ("IN_PROGRESS", 0.75, 3, 0)
    api.advance("1us")
    assert standing(api, batch_id) == ("SUCCESS", 1, 4, 0)


def test_each_row_of_a_batch_is_a_charge_found_by_its_batch(api: Api) -> None:
    pm = api.method()
    batch_id = taken(api, lines(f"{pm},10.50,AUD,first", f"{pm},20,USD,second"), 2)
    api.advance("1s")
    found = api.get("/charge", BatchId=batch_id, SortBy="amount", SortOrder="asc")
    assert found["count"] == 2
    rows = results(api, batch_id)
    for charge, row in zip(found["charges"], rows, strict=True):
        assert (charge["chargeId"], charge["status"]) == (row["TransactionId"], "SUCCESS")
        assert (charge["reference"], charge["currency"]) == (row["Reference"], row["Currency"])
        assert charge["paymentInformation"]["paymentMethodId"] == pm
    assert [row["Amount"] for row in rows] == ["10.5", "20"]
    assert [charge["dateAdded"][20:26] for charge in found["charges"]] == ["102000", "104000"]


def test_a_declined_row_says_why_and_leaves_the_batch_successful(api: Api) -> None:
    good, poor = api.method(), api.method("4000000000000341")
    batch_id = taken(
        api, lines(f"{poor},10,AUD,a", f"{good},10,AUD,b", "test,1,AUD,c", f"{good},10,XXZ,d"), 4
    )
    api.advance("1s")
    assert standing(api, batch_id) == ("SUCCESS", 1, 1, 3)
    declined, paid, unknown, money = results(api, batch_id)
    assert declined["TransactionId"] == ""
    assert (declined["Status"], declined["GatewayErrorCode"], declined["IsRetryable"]) == (
        "FAILED",
        "05",
        "false",
    )
    assert declined["FailureReason"]
    assert declined["GatewayErrorResponse"]
    assert list(paid.values())[6:] == ["", "", "", ""]
    assert unknown["Status"] == money["Status"] == "FAILED"
    assert unknown["FailureReason"].startswith("Invalid Payment Method Id")
    assert "XXZ" in money["FailureReason"]
    assert api.get("/charge", BatchId=batch_id, Status="FAILED")["count"] == 1


@pytest.mark.parametrize(
    ("assumed", "row_status", "codes", "counts"),
    [("row_fails", "FAILED", ["113"], (0, 1)), ("charged", "SUCCESS", [], (1, 0))],
)
def test_a_row_that_asks_for_3d_secure_agrees_with_its_charge(
    assumed: str, row_status: str, codes: list[str], counts: tuple[int, int]
) -> None:
    api = Api(assumptions={"batch.three_ds": assumed})
    batch_id = taken(api, lines(f"{api.method('4000000000003220')},10,AUD,a"), 1)
    api.advance("1s")
    assert standing(api, batch_id) == ("SUCCESS", 1, *counts)
    [row] = results(api, batch_id)
    [charge] = api.get("/charge", BatchId=batch_id)["charges"]
    assert (row["Status"], charge["status"]) == (row_status, row_status)
    assert row["FailureReason"] == ("Require 3D Secure" if codes else "")
    assert [attempt["errorCode"] for attempt in charge["failedAttempts"]] == codes
    assert charge["threeDsRedirectUrl"] is None
    assert api.send("POST", f"/3ds/{charge['chargeId']}", b"result=pass").status == 404


@pytest.mark.parametrize(
    ("assumed", "told"), [("row_fails", ("FAILED", 1, 1)), ("stays", ("SUCCESS", 2, 0))]
)
def test_a_row_whose_payment_is_returned_later_agrees_with_its_charge(
    assumed: str, told: tuple[str, int, int]
) -> None:
    rule = (
        "{id: r, when: {op: batch.row, request.reference: r1}, then: {pending: {settle: "
        "FAILED, after: 2d}}}"
    )
    api = Api(
        scenario=f"version: 1\nname: s\nrules: [{rule}]",
        assumptions={"batch.returned_row": assumed},
    )
    paid = api.method()
    batch_id = taken(api, lines(f"{paid},1,AUD,r1", f"{paid},2,AUD,r2"), 2)
    api.advance("1d")
    assert standing(api, batch_id) == ("SUCCESS", 1.0, 2, 0)
    first = results(api, batch_id)[0]
    charge_id = first["TransactionId"]
    assert (first["Status"], api.get(f"/charge/{charge_id}")["status"]) == ("SUCCESS", "PENDING")
    api.advance("2d")
    status, success, failure = told
    assert standing(api, batch_id) == ("SUCCESS", 1.0, success, failure)
    row, other = results(api, batch_id)
    assert (row["Status"], other["Status"]) == (status, "SUCCESS")
    assert api.get(f"/charge/{charge_id}")["status"] == "FAILED"
    assert bool(row["FailureReason"]) is (status == "FAILED")
    document = api.get("/__admin/state?secrets=true").body
    assert api.call("PUT", "/__admin/state", document).status == 200
    assert api.get("/__admin/state?secrets=true").body == document


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff{header}\r\n{pm},1,AUD,a\r\n{pm},2,AUD,b\r\n",
        "{header}\n{pm},1,AUD,a\n{pm},2,AUD,b\n\n",
        '"PaymentMethodId","Amount","Currency","Reference"\n"{pm}","1","AUD","a"\n{pm},2,AUD,b',
        "paymentmethodid,amount,currency,reference\n{pm},1,AUD,a\n{pm},2,aud,b",
        "{header}\r{pm},1,AUD,a\r{pm},2,,b\r",
    ],
)
def test_a_batch_is_taken_in_every_form_of_csv(api: Api, text: str) -> None:
    batch_id = taken(api, text.format(header=HEADER, pm=api.method()), 2)
    api.advance("1s")
    assert standing(api, batch_id) == ("SUCCESS", 1, 2, 0)


def test_quoted_fields_of_a_batch_come_back_quoted(api: Api) -> None:
    pm = api.method()
    references = ['a "b", c', "two\nlines", "two\rlines", "two\r\nlines", "\r", "\n"]
    quoted = (reference.replace('"', '""') for reference in references)
    batch_id = taken(
        api, lines(*(f'{pm},1,AUD,"{reference}"' for reference in quoted)), len(references)
    )
    assert [row["Reference"] for row in results(api, batch_id)] == references
    api.advance("1s")
    assert [row["Reference"] for row in results(api, batch_id)] == references
    assert [charge["reference"] for charge in api.get("/charge")["charges"]] == references[::-1]


@pytest.mark.parametrize(
    ("text", "count", "field", "words"),
    [
        ("id,amount\nx,1", 1, "Batch.Line1", "wanted the header"),
        (lines("pm,1,AUD"), 1, "Batch.Line2", "wanted 4 columns, got 3"),
        (lines('pm,"5,5",AUD,r'), 1, "Batch.Line2", "got a comma"),
        (lines("pm,1,AUD,a", "pm,x,AUD,b"), 2, "Batch.Line3", "Amount"),
        (lines("pm,1,AUD,a", ",1,AUD,b"), 2, "Batch.Line3", "PaymentMethodId"),
        (
            lines("p" * 65 + ",1,AUD,b"),
            1,
            "Batch.Line2",
            "PaymentMethodId: got 65 characters, wanted 1 to 64",
        ),
        (lines("pm,1,AUD," + "r" * 41), 1, "Batch.Line2", "got 41 characters, wanted at most 40"),
        (lines('pm,1,AUD,"a\nb"', "pm,nan,AUD,b"), 2, "Batch.Line4", "Amount"),
        (lines("pm,1,AUD,a", "", "pm,1,AUD,b"), 2, "Batch.Line3", "blank"),
        (lines('pm,1,AUD,"open'), 1, "Batch.Line2", "unexpected end"),
        (lines("pm,1,AUD,a"), 2, "Count", "got 2, the batch has 1"),
        (lines("pm,1,AUD,a"), -1, "Count", "got -1"),
        (HEADER, 0, "Batch", "at least one"),
    ],
)
def test_a_batch_with_a_bad_header_or_row_is_refused_by_line_and_nothing_is_kept(
    api: Api, text: str, count: int, field: str, words: str
) -> None:
    reply = hand_in(api, text, count)
    assert problem_of(reply) == (400, 102)
    assert words in reply["details"][field]
    assert api.get("/batch")["count"] == 0


@pytest.mark.parametrize(
    ("header", "got", "advice"),
    [
        (
            HEADER.replace(",", ";"),
            HEADER.replace(",", ";"),
            "semicolons part its columns: write commas",
        ),
        (
            HEADER.replace(",", "\t"),
            HEADER.replace(",", "\\t"),
            "tabs part its columns: write commas",
        ),
        (f"sep=,\n{HEADER}", "sep=,", "this line is for spreadsheet programs alone: leave it out"),
        (f"SEP=;\n{HEADER}", "SEP=;", "leave it out; semicolons part its columns"),
        (
            f"\ufeffsep=,\n{HEADER}",
            "sep=,",
            "this line is for spreadsheet programs alone: leave it out",
        ),
        (
            f"\ufeff\ufeff{HEADER}",
            f"\\ufeff{HEADER}",
            "a second byte order mark stands before it: write one or none",
        ),
        (
            HEADER.replace("Amount", "Amnt"),
            HEADER.replace("Amount", "Amnt"),
            "did you mean 'Amount'?",
        ),
        ("4111111111111111,\x1b[2m", "4111********1111,?[2m", ""),
        ("x" * 5_000, "x" * 80, ""),
    ],
)
def test_a_batch_header_as_spreadsheets_write_it_is_refused_with_what_to_do(
    api: Api, header: str, got: str, advice: str
) -> None:
    [(field, words)] = hand_in(api, f"{header}\npm,1,AUD,a\n", 1)["details"].items()
    assert field == "Batch.Line1"
    assert words.startswith(f"line 1: got '{got}', wanted the header {HEADER}")
    assert words.endswith(HEADER) if not advice else advice in words, words


def test_a_batch_has_no_more_rows_than_the_assumption_allows() -> None:
    api = Api(assumptions={"batch.maximum": 2})
    rows = lines("pm,1,AUD,a", "pm,1,AUD,b"), lines("pm,1,AUD,a", "pm,1,AUD,b", "pm,1,AUD,c")
    refused = hand_in(api, rows[1], 3)
    assert problem_of(refused) == (400, 102)
    assert refused["details"] == {"Batch": "got 3 transactions, wanted at most 2"}
    assert api.get("/batch")["count"] == 0
    taken(api, rows[0], 2)


def test_every_faulty_line_of_a_batch_is_reported_up_to_twenty(api: Api) -> None:
    reply = hand_in(api, lines(*["bad"] * 30), 30)
    assert list(reply["details"]) == [f"Batch.Line{line}" for line in range(2, 22)]


@pytest.mark.parametrize(
    "fields",
    [
        {"description": "d" * 101},
        {"description": None},
        {"batch": ""},
        {"count": None},
        {"count": 1.5},
    ],
)
def test_a_batch_needs_its_count_its_description_of_a_hundred_characters_and_its_text(
    api: Api, fields: dict[str, object]
) -> None:
    body = {"count": 1, "description": "", "batch": lines("pm,1,AUD,a"), **fields}
    assert problem_of(api.post(PATH, body)) == (400, 90)
    assert (
        api.post(PATH, {**body, "count": 1, "description": "", "batch": lines("pm,1,AUD,a")}).status
        == 201
    )


def test_batches_are_listed_newest_first_and_found(api: Api) -> None:
    pm = api.method()
    first = taken(api, lines(f"{pm},1,AUD,a"), 1, description="March run")
    api.advance("1s")
    second = taken(api, lines(f"{pm},1,AUD,a"), 1, description="April run")
    listed = api.get("/batch").body
    assert [row["batchId"] for row in listed["batches"]] == [second, first]
    assert (listed["limit"], listed["skip"], listed["count"]) == (100, 0, 2)
    assert "results" not in listed["batches"][0]

    def found(**query: object) -> list[str]:
        return [row["batchId"] for row in api.get("/batch", **query)["batches"]]

    assert found(Description="march") == [first]
    assert found(Status="success") == [first]
    assert found(AddedAfter="2031-03-01T00:00:00.5Z") == [second]
    assert found(AddedBefore="2031-03-01T00:00:00.5Z") == [first]
    assert found(Limit=1, Skip=1) == [first]
    assert found(SortBy="description", SortOrder="asc") == [second, first]
    assert problem_of(api.get("/batch", Status="DONE")) == (400, 90)


@pytest.mark.parametrize("path", ["/batch/nope", "/batch/nope/status"])
def test_an_unknown_batch_is_not_found(api: Api, path: str) -> None:
    assert problem_of(api.get(path)) == (404, 101)


def scripted(batch: str) -> Api:
    return Api(
        scenario=f"version: 1\nname: s\nrules:\n  - "
        f"{{id: b, when: {{op: batch.create}}, then: {{batch: {batch}}}}}"
    )


def run(batch: str, count: int) -> tuple[Api, str]:
    api = scripted(batch)
    pm = api.method()
    return api, taken(api, lines(*(f"{pm},{row},AUD,r{row}" for row in range(1, count + 1))), count)


def failed_rows(api: Api, batch_id: str) -> list[int]:
    return [
        number for number, row in enumerate(results(api, batch_id), 1) if row["Status"] == "FAILED"
    ]


@pytest.mark.parametrize(
    ("rows", "failed"),
    [
        ("[{at: [3, 7, 99], decline: expired_card}]", [3, 7]),
        ("[{every: 4, decline: expired_card}]", [4, 8]),
        ("[{where: {amount: {gt: 8}}, decline: expired_card}]", [9, 10]),
        ("[{where: {reference: r5, currency: AUD}, provider_down: {}}]", [5]),
        ("[{at: [2], approve: {}}, {every: 2, decline: expired_card}]", [4, 6, 8, 10]),
    ],
)
def test_a_script_fails_rows_by_number_share_and_field(rows: str, failed: list[int]) -> None:
    api, batch_id = run(f"{{rows: {rows}}}", 10)
    api.advance("1s")
    assert failed_rows(api, batch_id) == failed
    assert standing(api, batch_id) == ("SUCCESS", 1, 10 - len(failed), len(failed))


def states(api: Api, batch_id: str) -> str:
    return "".join(row["Status"][0] for row in results(api, batch_id))


@pytest.mark.parametrize(
    ("rows", "told", "standing_at"),
    [
        ("[{at: [2], stall: {}}]", "SISSS", ("IN_PROGRESS", 0.8, 4, 0)),
        ("[{at: [1], stall: {}}]", "ISSSS", ("IN_PROGRESS", 0.8, 4, 0)),
        (
            "[{at: [4, 5], stall: {}}, {at: [2], decline: expired_card}]",
            "SFSII",
            ("IN_PROGRESS", 0.6, 2, 1),
        ),
        ("[{every: 1, stall: {}}]", "IIIII", ("IN_PROGRESS", 0, 0, 0)),
    ],
)
def test_a_row_can_stand_still_for_good(
    rows: str, told: str, standing_at: tuple[str, float, int, int]
) -> None:
    api, batch_id = run(f"{{rows: {rows}}}", 5)
    api.advance("110ms")
    document = api.get("/__admin/state").body
    other = Api(key="sk_other")
    assert other.put("/__admin/state", document).status == 200
    for sandbox in (api, other):
        sandbox.advance("30d")
        assert (states(sandbox, batch_id), standing(sandbox, batch_id)) == (told, standing_at)
        assert sandbox.get("/charge", BatchId=batch_id)["count"] == standing_at[2] + standing_at[3]


def test_a_batch_that_breaks_down_takes_the_rows_that_stood_still_with_it() -> None:
    api, batch_id = run(
        "{rows: [{at: [2], stall: {}}], progress: [{reach: 0.75, after: 500ms}], end: FAILED}", 4
    )
    api.advance("1s")
    assert (states(api, batch_id), standing(api, batch_id)) == ("SFSF", ("FAILED", 1, 2, 2))


def test_a_row_that_is_approved_in_part_tells_the_part() -> None:
    api = Api(
        scenario="version: 1\nrules:\n  - {id: p, when: {op: batch.row}, then: {partial_approve: "
        "5}}"
    )
    pm = api.method()
    batch_id = taken(api, lines(f"{pm},20,AUD,a", f"{pm},3,AUD,b"), 2)
    api.advance("1s")
    assert [row["Amount"] for row in results(api, batch_id)] == ["5", "3"]
    assert sorted(
        charge["amount"] for charge in api.get("/charge", BatchId=batch_id)["charges"]
    ) == [3, 5]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("{at: [1], stall: {}, approve: {}}", "got approve and stall, wanted exactly one of"),
        ("{at: [1], stall: {after: 1s}}", "unknown key 'after'"),
        ("{at: [1], pending: {settle: MAYBE}}", "got 'MAYBE', allowed: SUCCESS, FAILED"),
    ],
)
def test_a_row_that_makes_no_sense(row: str, words: str) -> None:
    with pytest.raises(ScenarioRefused) as refused:
        scripted(f"{{rows: [{row}]}}")
    assert words in str(refused.value)


def test_a_share_of_the_rows_is_exact_and_drawn_by_the_seed() -> None:
    api, batch_id = run("{rows: [{share: 0.05, decline: insufficient_funds}]}", 1000)
    api.advance("1m")
    assert standing(api, batch_id) == ("SUCCESS", 1, 950, 50)
    again, same = run("{rows: [{share: 0.05, decline: insufficient_funds}]}", 1000)
    again.advance("1m")
    failed = failed_rows(api, batch_id)
    assert failed_rows(again, same) == failed
    assert failed != list(range(1, 51))


def test_the_progress_of_a_batch_follows_its_curve() -> None:
    api, batch_id = run("{progress: [{reach: 0.2, after: 10s}, {reach: 1, after: 20s}]}", 10)
    seen = []
    for _ in range(5):
        api.advance("5s")
        seen.append(standing(api, batch_id)[:2])
    assert seen == [
        ("IN_PROGRESS", 0),
        ("IN_PROGRESS", 0.2),
        ("IN_PROGRESS", 0.6),
        ("SUCCESS", 1),
        ("SUCCESS", 1),
    ]


def test_a_batch_can_stand_still_for_good() -> None:
    api, batch_id = run("{stall_at: 0.6}", 5)
    api.advance("52w")
    assert standing(api, batch_id) == ("IN_PROGRESS", 0.6, 3, 0)


def test_a_batch_can_fail_as_a_whole() -> None:
    api, batch_id = run("{end: FAILED}", 3)
    api.advance("1s")
    assert standing(api, batch_id) == ("FAILED", 1, 0, 3)
    assert {row["FailureReason"] for row in results(api, batch_id)} != {""}
    assert api.get("/charge", BatchId=batch_id)["count"] == 0


def test_a_batch_can_break_down_on_the_way() -> None:
    api, batch_id = run("{stall_at: 0.5, end: FAILED}", 4)
    api.advance("1s")
    assert standing(api, batch_id) == ("FAILED", 1, 2, 2)
    assert api.get("/charge", BatchId=batch_id)["count"] == 2


def test_the_results_of_a_batch_can_be_wrong() -> None:
    api, batch_id = run("{results: {omit_rows: [2], shuffle: true}}", 20)
    api.advance("1s")
    seen = [row["Reference"] for row in results(api, batch_id)]
    assert sorted(seen) == sorted(f"r{row}" for row in range(1, 21) if row != 2)
    assert seen != [f"r{row}" for row in range(1, 21) if row != 2]
    api, batch_id = run("{results: {cut: 200}}", 20)
    api.advance("1s")
    assert len(api.get(f"/batch/{batch_id}")["results"]) == 200
    assert standing(api, batch_id)[2] == 20


def test_rules_see_each_row_and_its_number() -> None:
    rules = """
version: 1
name: s
rules:
  - {id: third, when: {op: batch.row, "request.reference": r3}, then: {decline: expired_card}}
  - id: once-each
    when: {source: batch, "request.amount": {gte: 5}}
    key: [batch.row]
    sequence: [{decline: lost_card}]
"""
    api = Api(scenario=rules)
    pm = api.method()
    text = lines(*(f"{pm},{row},AUD,r{row}" for row in range(1, 7)))
    batch_id = taken(api, text, 6)
    api.advance("1s")
    assert failed_rows(api, batch_id) == [3, 5, 6]
    again = taken(api, text, 6)
    api.advance("1s")
    assert failed_rows(api, again) == [3]
    hits: dict[str, Any] = {row["id"]: row["hits"] for row in api.get("/__admin/rules")["rules"]}
    assert (hits["third"], hits["once-each"]) == (2, 2)


def test_metadata_of_the_batch_can_name_an_outcome(api: Api) -> None:
    batch_id = taken(
        api, lines(f"{api.method()},1,AUD,a"), 1, metadata={"mock": "insufficient_funds"}
    )
    api.advance("1s")
    assert results(api, batch_id)[0]["GatewayErrorCode"] == "51"


def test_the_states_of_a_batch_over_time_are_an_assumption() -> None:
    api = Api(assumptions={"batch.flow": "1s 2s 1m"})
    batch_id = taken(api, lines(f"{api.method()},1,AUD,a", f"{api.method()},1,AUD,b"), 2)
    for moved, seen in (
        ("1s", "CREATED"),
        ("1s", "IN_PROGRESS"),
        ("1m", "IN_PROGRESS"),
        ("1m", "SUCCESS"),
    ):
        api.advance(moved)
        assert standing(api, batch_id)[0] == seen
    assert api.put("/__admin/assumptions", {"batch.flow": "2s 1s 0s"}).status == 400


def test_other_work_keeps_its_place_between_the_rows() -> None:
    """A row that is due after something else is taken after it, however far the clock jumps."""
    api = Api(assumptions={"batch.flow": "0s 0s 1s"})
    pm = api.method()
    batch_id = taken(api, lines(f"{pm},1,AUD,a", f"{pm},1,AUD,b"), 2)
    api.advance("500ms")
    api.post("/vault", {"cardNumber": "4111111111111111", "expireSeconds": 1})
    api.advance("1h")
    happened = [
        (event["subject"], event["what"], event["at"][14:23])
        for entry in api.get("/__admin/journal")["entries"]
        for event in entry["events"]
        if entry["op"].startswith("clock.")
    ]
    assert happened[-2:] == [("vault", "expired", "00:01.500"), ("batch", "finished", "00:02.000")]
    assert [
        charge["dateAdded"][14:23] for charge in api.get("/charge", BatchId=batch_id)["charges"]
    ] == [
        "00:02.000",
        "00:01.000",
    ]


def order_of(answered: list[tuple[int, Reply]]) -> list[int]:
    return [place for place, _ in answered]


@pytest.mark.usefixtures("every_pause")
def test_others_need_not_wait_for_a_long_batch(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mockserver.web.operations.batches._LONG", 1_000)
    pm, count = api.method(), 300
    long = {
        "count": count,
        "description": "long",
        "batch": lines(*(f"{pm},1,AUD,{row}" for row in range(count))),
    }
    short = {"count": 1, "description": "short", "batch": lines(f"{pm},1,AUD,a")}
    assert order_of(api.race(("POST", PATH, long), ("POST", PATH, short))) == [1, 0]
    long_id = api.get("/batch", Description="long")["batches"][0]["batchId"]
    advance = ("POST", "/__admin/clock/advance", {"by": "1h"})
    answered = api.race(advance, ("GET", "/__admin/clock", None))
    assert order_of(answered) == [1, 0]
    # Also what the other call ran came due in this move.
    assert answered[1][1].body["ran"] == 6
    told = results(api, long_id)
    assert [row["Reference"] for row in told] == [str(row) for row in range(count)]
    assert {row["Status"] for row in told} == {"SUCCESS"}


@pytest.mark.usefixtures("every_pause")
def test_others_need_not_wait_for_long_results(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("domain.batch", "web.operations.batches"):
        monkeypatch.setattr(f"mockserver.{module}.LINES", 10)
    pm = api.method()
    long_id = api.batch(*(f"{pm},1,AUD,{row}" for row in range(300)))
    path = f"/batch/{long_id}"
    for by in ("50ms", "50ms", "10ms"):
        answered = api.race(("GET", path, None), ("POST", "/__admin/clock/advance", {"by": by}))
        assert order_of(answered) == [1, 0]
        # What was written before the move is written again.
        assert answered[1][1].body == api.get(path).body
    assert [row["Status"] for row in results(api, long_id)][4:6] == ["SUCCESS", "IN_PROGRESS"]


@pytest.mark.usefixtures("every_pause")
@pytest.mark.parametrize(
    "path", ["/__admin/sandboxes", "/__admin/clock", "/demo?key=pk_tests", "/charge"]
)
def test_who_asks_about_a_long_batch_keeps_nobody_else_waiting(path: str) -> None:
    now = [0]
    api = Api(clock="real", real_clock=lambda: now[0])
    pm, count = api.method(), 300
    taken(api, lines(*(f"{pm},1,AUD,{row}" for row in range(count))), count)
    now[0] += HOUR
    assert order_of(api.race(("GET", path, None), ("GET", "/healthz", None))) == [1, 0]


@pytest.mark.usefixtures("every_pause")
@pytest.mark.parametrize(
    "path", ["/__admin/sandboxes", "/__admin/clock", "/demo?key=pk_tests", "/charge"]
)
def test_who_asks_while_the_clock_is_moved_is_answered_at_the_instant_that_it_has_reached(
    api: Api, path: str
) -> None:
    pm, count = api.method(), 300
    taken(api, lines(*(f"{pm},1,AUD,{row}" for row in range(count))), count)
    advance = ("POST", "/__admin/clock/advance", {"by": "1h"})
    assert order_of(api.race(advance, ("GET", path, None), ("GET", "/healthz", None)))[-1] == 0


def test_a_wait_that_moves_the_clock_keeps_nobody_else_waiting(api: Api) -> None:
    pm = api.method()
    batch_id = taken(api, lines(*(f"{pm},1,AUD,{row}" for row in range(50))), 50)
    wait = {
        "for": {"batch": {"id": batch_id, "status": "SUCCESS"}},
        "timeout": "1h",
        "advance": True,
    }
    assert order_of(api.race(("POST", "/__admin/wait", wait), ("GET", "/charge", None))) == [1, 0]
    assert standing(api, batch_id) == ("SUCCESS", 1, 50, 0)


def test_results_are_those_of_one_instant(api: Api) -> None:
    """A batch that moves on while its results are written is told as it was when they were asked
    for."""
    pm, count = api.method(), 3_000
    batch_id = taken(api, lines(*(f"{pm},1,AUD,{row}" for row in range(count))), count)
    advance = ("POST", "/__admin/clock/advance", {"by": "100ms"})
    answered = dict(api.race(("GET", f"/batch/{batch_id}", None), advance))
    found = answered[0].body
    assert standing(api, batch_id)[0] == "IN_PROGRESS"
    assert (found["status"], found["success"]) == ("RECEIVED", 0)
    assert found["results"].count(",RECEIVED,") == count


def test_words_of_a_failure_are_quoted_where_they_must_be() -> None:
    said = 'No, "never", says the bank'
    api, batch_id = run(
        f"{{rows: [{{at: [2], decline: {{errorCode: 905, errorMessage: '{said}'}}}}]}}", 3
    )
    api.advance("1m")
    assert [row["FailureReason"] for row in results(api, batch_id)] == ["", said, ""]


def test_amounts_are_read_as_everywhere(api: Api) -> None:
    method = api.method()
    amounts = {"1e2": 100, "+5": 5, "1.5E1": 15, "100e-1": 10}
    for amount, number in amounts.items():
        assert api.charge(amount=amount)["amount"] == number
    taken(api, lines(*(f"{method},{amount},AUD,r" for amount in amounts)), len(amounts))
    api.advance("1m")
    assert sorted(one["amount"] for one in api.get("/charge", Reference="r")["charges"]) == sorted(
        amounts.values()
    )
    for amount, words in {
        "1e": "wanted a number",
        "1e20": "21 digits before the point",
        "1e-30": "after the point",
    }.items():
        assert words in hand_in(api, lines(f"{method},{amount},AUD,r"), 1)["details"]["Batch.Line2"]


def test_a_rule_strikes_one_row_of_a_batch_and_the_journal_names_it() -> None:
    rule = "{id: r, when: {op: batch.row, batch.row: 2}, then: {decline: lost_card}}"
    api = Api(scenario=f"{{version: 1, name: s, rules: [{rule}]}}")
    method = api.post("/payment_method/card", {"providerId": DUMMY, "paymentInformation": CARD})[
        "paymentMethodId"
    ]
    rows = "".join(f"{method},{number},AUD,o{number}\n" for number in (1, 2, 3))
    batch = f"PaymentMethodId,Amount,Currency,Reference\n{rows}"
    api.post("/batch/transaction/payment_method", {"count": 3, "description": "d", "batch": batch})
    api.advance("1h")
    charges = api.get("/charge")["charges"]
    assert {one["reference"]: one["status"] for one in charges} == {
        "o1": "SUCCESS",
        "o2": "FAILED",
        "o3": "SUCCESS",
    }
    assert [one["row"] for one in api.get("/__admin/journal", op="batch.row")["entries"]] == [2]
