"""What a client enters twice is noted, and what only looks alike is not."""

import pytest

from tests.driving import DUMMY, Api
from tests.findings.story import Story

HEAD = "PaymentMethodId,Amount,Currency,Reference"
ROW, OTHER = "pm_1,20.00,AUD,order-5", "pm_1,20.00,AUD,order-6"


def noted(story: Story) -> dict[str, int]:
    return {finding.name: finding.count for finding in story.watch.ledger}


def batch(story: Story, *rows: str, subject: str = "b_1", **facts: object) -> None:
    text = "\n".join([HEAD, *rows, ""])
    story.call("batch.create", subject, request={"batch": text}, **facts)


def test_equal_rows_of_a_batch_are_noted_with_their_lines() -> None:
    story = Story()
    batch(story, ROW, OTHER, f" {ROW}")
    [finding] = story.watch.ledger
    assert (finding.name, dict(finding.about)) == ("batch-row-repeated", {"batch": "b_1"})
    assert [line.line.partition(": ")[2] for line in finding.evidence] == [
        "line 2 of the batch",
        "line 4 of the batch",
    ]


def test_a_row_of_a_batch_sent_before_is_noted() -> None:
    story = Story()
    batch(story, ROW)
    batch(story, OTHER, ROW, subject="b_2")
    assert noted(story) == {"batch-row-repeated": 1}


DAY_LATER = 86_400 * 1_000_000 + 10_000_000


@pytest.mark.parametrize(
    "second",
    [
        {"rows": [OTHER]},
        {"rows": [ROW], "at": DAY_LATER},
        {"rows": [ROW], "code": 10},
        {"rows": []},
    ],
    ids=["another-reference", "a-day-later", "refused", "empty"],
)
def test_other_rows_are_not_noted(second: dict[str, object]) -> None:
    story = Story()
    batch(story, ROW)
    rows = second.pop("rows")
    assert isinstance(rows, list)
    batch(story, *rows, subject="b_2", **second)
    assert noted(story) == {}


ADA = {"reference": "user-7", "email": "ada@example.com"}


@pytest.mark.parametrize(
    ("second", "is_noted"),
    [
        (ADA, True),
        ({**ADA, "email": "Ada@Example.com"}, True),
        ({**ADA, "reference": "user-8"}, False),
        ({**ADA, "email": "bob@example.com"}, False),
        ({"reference": "user-7"}, False),
    ],
)
def test_customers_of_one_reference_and_address_are_noted(
    second: dict[str, str], is_noted: bool
) -> None:
    story = Story()
    story.call("customer.create", "c_1", request=ADA)
    story.call("customer.create", "c_2", request=second)
    assert ("customer-repeated" in noted(story)) is is_noted


def test_it_is_a_note_over_http() -> None:
    api = Api()
    body = {**ADA, "paymentInformation": {"cardNumber": "4111111111111111", "expiryDate": "12/40"}}
    for _ in range(2):
        assert api.post("/customer/card", {**body, "providerId": DUMMY}).status == 201
    found = {row["finding"]: row["severity"] for row in api.get("/__admin/findings")["findings"]}
    assert found.get("customer-repeated") == "note"
