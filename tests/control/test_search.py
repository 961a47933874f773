"""Searching journal and objects through ``q``: every operator, refusals with the nearest name,
nothing secret found."""

from typing import Any
from urllib.parse import urlencode

import pytest

from tests.driving import CARD, Api
from tests.few_rows import look_at_few_rows

POOR = "4000000000009995"


def lines(api: Api, q: str, **query: object) -> list[int]:
    reply = api.call("GET", f"/__admin/timeline?{urlencode({'q': q, **query})}")
    assert reply.status == 200, reply.raw
    found = [line[0] for line in reply.body["lines"]]
    journal = api.call("GET", f"/__admin/journal?{urlencode({'q': q})}").body
    assert journal["count"] == reply.body["count"] or query
    return found


@pytest.fixture
def told(api: Api) -> Api:
    """1 declined, 2 paid, 3 refused for its amount, 4 half refunded, 5 not found."""
    api.try_charge(12.5, reference="order-5", paymentInformation={**CARD, "cardNumber": POOR})
    paid = api.try_charge(12.5, reference="order-6", colour="red").body["chargeId"]
    api.try_charge(amount=-1)
    api.call("DELETE", f"/charge/{paid}?amount=5")
    api.call("GET", "/charge/nothing")
    return api


@pytest.mark.parametrize(
    ("q", "found"),
    [
        ("", [1, 2, 3, 4, 5]),
        ("status:4xx", [1, 3, 5]),
        ("status:404", [5]),
        ("-status:4xx", [2, 4]),
        ("op:charge.create", [1, 2, 3]),
        ("op:charge.* is:refused", [3, 5]),
        ("rule:card-insufficient-funds", [1]),
        ("rule:card-*", [1]),
        ("code:15", [1]),
        ("ref:order-6", [2, 4]),
        ("ref:ORDER", [1, 2, 4]),
        ("amount:5", [4]),
        ("currency:aud -amount:-1", [1, 2, 4]),
        ("method:delete", [4]),
        ("path:/charge/nothing", [5]),
        ("id:nothing", [5]),
        ("is:declined", [1]),
        ("is:failed", [1, 3, 5]),
        ("is:scripted", [1]),
        ("is:due", []),
        ("is:repeat", []),
        ("is:fault", []),
        ("since:10m", [1, 2, 3, 4, 5]),
        ("since:3", [4, 5]),
        ("until:3", [1, 2, 3]),
        ("since:2031-03-01 until:2031-03-02", [1, 2, 3, 4, 5]),
        ("since:2031-03-01T09:00:00Z", []),
        ("ref:=order-6", [2, 4]),
        ("ref:=order", []),
        ("card:9995", [1]),
        ("insufficient", [1]),
        ('"wanted at least"', [3]),
        ("colour", [2]),
        ("colour " * 20, [2]),
        ("refund -method:post", [4]),
        ("4000****", [1]),
    ],
)
def test_entries_are_found(told: Api, q: str, found: list[int]) -> None:
    assert lines(told, q) == found


def test_an_entry_is_found_by_a_part_of_the_id_of_what_it_changed(told: Api) -> None:
    charge_id = told.call("GET", "/charge?reference=order-6").body["charges"][0]["chargeId"]
    assert lines(told, f"id:{charge_id[3:12]} is:failed") == []
    assert lines(told, f"id:{charge_id[3:12]}") == [2, 4]


def test_what_is_masked_is_not_found(told: Api) -> None:
    for secret in (POOR, "9995411", CARD["ccv"] + '"', "sk_control"):
        assert lines(told, secret) == []


@pytest.mark.parametrize(
    ("q", "words"),
    [
        ("stauts:4xx", "unknown operator 'stauts' - did you mean 'status'?"),
        ("status:bad", "wanted a status such as 404"),
        ("op:charge.crate", "did you mean 'charge.create'?"),
        ("is:fialed", "did you mean 'failed'?"),
        ("code:x", "wanted the number of an error code"),
        ("amount:x", "wanted an amount"),
        ("since:yesterday", "wanted a duration such as 10m"),
        ("until:yesterday", "a date or date-time, a mark or a number"),
        ("card:4111111111111111", "got 16 characters, wanted the last 4 digits"),
        ("x" * 501, "at most 500"),
        ("x " * 21, "at most 20"),
    ],
)
def test_a_search_that_means_nothing_is_refused(shared: Api, q: str, words: str) -> None:
    for path in ("/__admin/timeline", "/__admin/journal"):
        reply = shared.call("GET", f"{path}?{urlencode({'q': q})}")
        assert reply.status == 400
        assert words in reply.body["details"]["Q"]


def test_a_line_says_what_happened_in_one_look(told: Api) -> None:
    facts = [line[10] for line in told.call("GET", "/__admin/timeline").body["lines"]]
    declined = {
        "reference": "order-5",
        "amount": "12.5",
        "currency": "AUD",
        "code": 15,
        "message": "Insufficient Funds",
    }
    assert facts[0] == declined
    assert facts[1]["ignored"] == ["colour"]
    assert facts[2]["refused"] == {"Amount": "wanted at least 0.01"}
    assert (facts[3]["amount"], facts[3]["reference"]) == ("5", "order-6")
    assert (facts[4]["code"], facts[4].get("amount")) == (84, None)


def test_older_lines_are_read_page_by_page(told: Api) -> None:
    assert lines(told, "", limit=2) == [4, 5]
    assert lines(told, "", limit=2, before=4) == [2, 3]
    assert lines(told, "status:4xx", limit=1, before=5) == [3]
    assert lines(told, "status:4xx", after=3) == [5]


@pytest.mark.parametrize(
    ("q", "found"),
    [
        ("order", 2),
        ("order-6", 1),
        ("ref:order-5", 1),
        ("state:failed", 1),
        ("-state:failed", 1),
        ("amount:12.5", 2),
        ("currency:USD", 0),
        ("ref:=order-6", 1),
        ("ref:=order", 0),
        ("card:9995", 1),
        ("-card:9995", 1),
        ("code:15", 1),
        ("customer:nobody", 0),
        ("email:nobody@example.com", 0),
        ("is:finding", 0),
    ],
)
def test_objects_are_found(told: Api, q: str, found: int) -> None:
    reply = told.call("GET", f"/__admin/objects?{urlencode({'kind': 'charge', 'q': q})}")
    assert (reply.body["count"], len(reply.body["objects"])) == (found, found)


WORDS = ["order", "5", "-5", "12.5", "aud", '"success aud"', '"failed aud 12.5"', "state:success", "-state:SUCCESS",
         "id:3", "ref:order-5", "-ref:5", "amount:12.50", "-amount:5", "currency:aud", "is:finding",
         "-order -12.5"]  # fmt: skip


@pytest.mark.parametrize("size", [1, 3])
def test_many_objects_are_found_as_few_are(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    api, few = Api(), dict[str, Any]()
    for number in range(12):
        api.try_charge((5, 12.5)[number % 2], reference=f"order-{number}" if number % 3 else None)
    api.try_charge(12.5, POOR, reference="a\2aud 5\3")
    for word in WORDS:
        few[word] = api.call(
            "GET", f"/__admin/objects?{urlencode({'kind': 'charge', 'q': word})}"
        ).body
    look_at_few_rows(monkeypatch, size)
    for word in WORDS:
        assert (
            api.call("GET", f"/__admin/objects?{urlencode({'kind': 'charge', 'q': word})}").body
            == few[word]
        )
    assert few["order"]["count"] == 8
    assert few["currency:aud"]["count"] == 13


@pytest.mark.parametrize("q", ["sate:x", "amount:x", "is:found"])
def test_a_search_for_objects_that_means_nothing_is_refused(api: Api, q: str) -> None:
    reply = api.call("GET", f"/__admin/objects?{urlencode({'kind': 'charge', 'q': q})}")
    assert (reply.status, list(reply.body["details"])) == (400, ["Q"])


def story(api: Api, charge_id: str) -> list[dict[str, Any]]:
    return api.call("GET", f"/__admin/objects/charge/{charge_id}").body["story"]


def test_a_rule_that_only_loses_the_answer_is_no_cause_of_the_payment(api: Api) -> None:
    rule = {
        "id": "lost",
        "when": {"op": "charge.create"},
        "then": {"transport": {"at": "answer", "status": 503}},
    }
    assert (
        api.call("PUT", "/__admin/scenarios", {"version": 1, "name": "s", "rules": [rule]}).status
        == 200
    )
    assert api.try_charge().status == 503
    [paid] = story(api, api.get("/charge").body["charges"][0]["chargeId"])
    assert (paid["what"], paid["rules"]) == ("paid", [])


def test_a_declined_charge_says_which_rule_decided(told: Api) -> None:
    charge_id = told.call("GET", "/charge?reference=order-5").body["charges"][0]["chargeId"]
    [declined] = story(told, charge_id)
    assert (declined["what"], declined["entry"], declined["kept"]) == ("declined", 1, True)
    rule = {
        "rule": "card-insufficient-funds",
        "attempt": 1,
        "choice": 1,
        "code": 15,
        "message": "Insufficient Funds",
    }
    assert declined["rules"] == [rule]


def test_a_story_outlives_the_journal() -> None:
    api = Api(journal_limit=2)
    charge_id = api.try_charge(capture=False).body["chargeId"]
    for _ in range(3):
        api.call("GET", "/charge")
    api.call("POST", f"/charge/{charge_id}")
    assert [(one["what"], one["kept"]) for one in story(api, charge_id)] == [
        ("authorised", False),
        ("captured", True),
    ]


def test_a_story_is_bounded_too() -> None:
    api = Api(journal_limit=1)
    first, *_ = [api.try_charge().body["chargeId"] for _ in range(21)]
    assert story(api, first) == []


def test_a_story_tells_on_which_try_of_a_sequence_a_rule_declined(api: Api) -> None:
    steps = "sequence: [{approve: {}}, {decline: insufficient_funds}]"
    text = (
        f"version: 1\nname: second\nrules:\n  - "
        f"{{id: second, when: {{op: charge.create}}, {steps}}}\n"
    )
    api.call(
        "PUT", "/__admin/scenarios", raw=text.encode(), headers={"content-type": "application/yaml"}
    )
    api.try_charge(reference="first")
    declined = api.try_charge(reference="second").body["details"]["ChargeId"]
    [change] = story(api, declined)
    assert [(rule["rule"], rule["choice"], rule["code"]) for rule in change["rules"]] == [
        ("second", 2, 15)
    ]
