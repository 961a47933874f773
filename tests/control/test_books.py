"""The books of a sandbox over HTTP, and what the shop's books say differently."""

from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest

from mockserver.web.transport_faults import Cut
from tests.driving import DUMMY, Api

FIGURES = ("held", "captured", "refunded", "net", "pending")


def pay(api: Api, reference: str | None = "order-1", amount: object = 20, **more: object) -> str:
    named = {} if reference is None else {"reference": reference}
    return api.charge(amount=amount, **named, **more)["chargeId"]


def books(api: Api, **query: object) -> Any:
    reply = api.call("GET", "/__admin/books", query=query)
    assert reply.status == 200, reply.raw
    return reply.body


def compare(api: Api, *rows: object, **more: object) -> Any:
    return api.call("POST", "/__admin/books/compare", {"rows": list(rows), **more})


def found(api: Api, *rows: object, **more: object) -> list[str]:
    return [row["finding"] for row in compare(api, *rows, **more)["findings"]]


def figures(shown: Any) -> dict[str, Any]:
    return {name: shown[name] for name in FIGURES if shown[name]}


def test_an_order_is_all_charges_of_its_reference(api: Api) -> None:
    first, second = pay(api), pay(api, amount="12.50", capture=False)
    api.call("DELETE", f"/refund/{first}", query={"amount": 5})
    [order] = books(api)["orders"]
    assert (order["reference"], order["currency"]) == ("order-1", "AUD")
    assert figures(order) == {"held": 12.5, "captured": 20, "refunded": 5, "net": 15}
    assert [charge["chargeId"] for charge in order["charges"]] == [first, second]
    assert [charge["journal"] for charge in order["charges"]] == [[1, 3], [2]]
    assert order["exposure"] == 27.5


def test_currencies_count_apart_and_charges_without_a_reference_by_themselves(api: Api) -> None:
    pay(api)
    pay(api, amount=500, currency="JPY")
    alone = pay(api, None)
    page = books(api)
    assert [(one["reference"], one["charge"], one["currency"]) for one in page["orders"]] == [
        ("order-1", None, "AUD"),
        ("order-1", None, "JPY"),
        (None, alone, "AUD"),
    ]
    assert {currency: sums["net"] for currency, sums in page["totals"].items()} == {
        "AUD": 40,
        "JPY": 500,
    }


@pytest.mark.parametrize("blank", ["", " "])
def test_charges_with_an_empty_reference_are_not_one_order(api: Api, blank: str) -> None:
    for amount in (11, 12):
        api.charge(amount=amount, reference=blank)
    orders = api.get("/__admin/books")["orders"]
    assert [order["net"] for order in orders] == [11, 12]


def test_totals_follow_every_change(api: Api) -> None:
    held = pay(api, capture=False)
    assert figures(books(api)["totals"]["AUD"]) == {"held": 20}
    api.call("POST", f"/charge/{held}", {"amount": 15})
    assert figures(books(api)["totals"]["AUD"]) == {"captured": 15, "net": 15}
    api.call("DELETE", f"/refund/{held}")
    pay(api, "order-2")
    assert figures(books(api)["totals"]["AUD"]) == {"captured": 35, "refunded": 15, "net": 20}


def test_a_bounced_payment_is_money_no_more() -> None:
    rule = "{id: b, when: {op: charge.create}, then: {pending: {settle: FAILED, after: 1d}}}"
    api = Api(scenario=f"{{version: 1, rules: [{rule}]}}")
    pay(api)
    assert figures(books(api)["orders"][0]) == {"pending": 20}
    api.advance("2d")
    assert figures(books(api)["orders"][0]) == {}


def test_a_refund_counts_when_its_provider_has_answered() -> None:
    rule = "{id: r, when: {op: charge.refund}, then: {pending: {settle: SUCCESS, after: 1d}}}"
    api = Api(scenario=f"{{version: 1, rules: [{rule}]}}")
    charge_id = pay(api)
    api.call("DELETE", f"/refund/{charge_id}", query={"amount": 5})
    for shown in (books(api)["orders"][0], books(api)["totals"]["AUD"]):
        assert (shown["refunded"], shown["refunding"], shown["net"]) == (0, 5, 20)
    api.advance("2d")
    for shown in (books(api)["orders"][0], books(api)["totals"]["AUD"]):
        assert (shown["refunded"], shown["refunding"], shown["net"]) == (5, 0, 15)


def test_a_charge_whose_call_is_in_doubt_says_so_until_somebody_looks() -> None:
    rule = (
        "{id: l, when: {op: charge.create, call: 1}, then: {transport: {at: answer, reset: true}}}"
    )
    api = Api(scenario=f"{{version: 1, rules: [{rule}]}}")
    with pytest.raises(Cut):
        pay(api)
    pay(api, "order-2")
    doubts = [charge["in_doubt"] for order in books(api)["orders"] for charge in order["charges"]]
    assert doubts == [True, False]
    api.call("GET", "/charge", query={"Reference": "order-1"})
    assert books(api)["orders"][0]["charges"][0]["in_doubt"] is False


def test_orders_come_by_pages_as_they_began(api: Api) -> None:
    for reference in ("a", "b", "a", "c", "d"):
        pay(api, reference)
    names, after = [], 0
    while after is not None:
        page = books(api, limit=2, after=after)
        names.append([order["reference"] for order in page["orders"]])
        after = page["next"]
    assert names == [["a", "b"], ["c", "d"]]


def test_one_order_and_those_touched_since_a_mark(api: Api) -> None:
    pay(api, "a")
    api.call("POST", "/__admin/marks", {"name": "later"})
    pay(api, "b")
    assert [one["reference"] for one in books(api, reference="a")["orders"]] == ["a"]
    assert books(api, reference="nobody")["orders"] == []
    page = books(api, since="later")
    assert [one["reference"] for one in page["orders"]] == ["b"]
    assert page["totals"]["AUD"]["net"] == 20
    assert (
        "did you mean 'later'" in api.call("GET", "/__admin/books?since=latter")["details"]["Since"]
    )


def test_books_travel_with_their_charges(api: Api) -> None:
    pay(api)
    before = books(api)["totals"]
    assert api.call("POST", "/__admin/fork", {"to": "sk_copy"}).status == 201
    copy = api.call("GET", "/__admin/books", key="sk_copy")
    assert copy["totals"] == before
    document = api.call("GET", "/__admin/state").body
    assert api.call("PUT", "/__admin/state", document, key="sk_other").status == 200
    assert api.call("GET", "/__admin/books", key="sk_other")["totals"] == before


def test_right_books_raise_nothing(api: Api) -> None:
    pay(api)
    assert found(api, {"reference": "order-1", "paid": 20, "state": "paid"}) == []


def test_a_difference_says_what_was_lost_and_where_the_two_parted(api: Api) -> None:
    pay(api)
    pay(api)
    [row] = compare(api, {"reference": "order-1", "paid": "20.00"})["findings"]
    assert (row["finding"], row["severity"], row["about"]) == (
        "taken-twice",
        "error",
        {"reference": "order-1", "currency": "AUD"},
    )
    assert [line["line"] for line in row["evidence"]] == [
        "customer paid 40.00 AUD for order-1 of 20.00 AUD",
        "the shop's books: paid 20.00 AUD",
        "the sandbox: captured 40.00 AUD",
        "they agreed until journal 2 (charge.create: answered 201)",
        "charge.create: answered 201",
        "charge.create: answered 201",
    ]


def test_orders_that_the_shop_does_not_know_are_differences(api: Api) -> None:
    pay(api)
    assert found(api) == ["charged-but-unpaid"]


def test_a_charge_counts_for_the_row_that_names_it(api: Api) -> None:
    first, _ = pay(api), pay(api)
    rows = [{"charge": first, "paid": 20}, {"reference": "order-1", "paid": 20}]
    assert found(api, *rows) == []
    assert found(api, rows[0]) == ["charged-but-unpaid"]


def test_a_comparison_takes_the_place_of_the_one_before(api: Api) -> None:
    pay(api)
    assert found(api) == ["charged-but-unpaid"]
    assert [row["finding"] for row in api.call("GET", "/__admin/findings")["findings"]] == [
        "charged-but-unpaid"
    ]
    assert found(api, {"reference": "order-1", "paid": 20}) == []
    assert api.call("GET", "/__admin/findings")["findings"] == []


def test_since_leaves_out_what_was_before(api: Api) -> None:
    pay(api, "a")
    api.call("POST", "/__admin/marks", {"name": "later"})
    pay(api, "b")
    wrong = [{"reference": "a", "paid": 1}, {"reference": "b", "paid": 20}]
    assert found(api, *wrong) == ["amount-differs"]
    assert found(api, *wrong, since="later") == []
    assert found(api, {"reference": "c", "paid": 5}, since="later") == [
        "paid-without-money",
        "charged-but-unpaid",
    ]


def test_a_reference_of_an_earlier_test_may_come_again(api: Api) -> None:
    pay(api)
    api.call("POST", "/__admin/marks", {"name": "later"})
    sentence = {"money": ["net(*) <= 20"]}
    pay(api)
    once, twice = ({"reference": "order-1", "paid": paid} for paid in (20, 40))
    assert (found(api, once, since="later"), found(api, twice, since="later")) == ([], [])
    assert api.call("POST", "/__admin/verify", sentence, query={"since": "later"}).status == 200
    assert found(api, once) == ["taken-twice"]
    pay(api)
    assert found(api, once, since="later") == ["taken-twice"]
    assert api.call("POST", "/__admin/verify", sentence, query={"since": "later"}).status == 409


def test_states_of_the_shop_are_mapped_or_named(api: Api) -> None:
    pay(api, capture=False)
    row = {"reference": "order-1", "state": "reserved"}
    assert compare(api, row)["warnings"] == ["state 'reserved' is not known and claims nothing"]
    assert found(api, row, states={"reserved": "held"}) == []
    assert found(api, row, states={"reserved": "cancelled"}) == ["hold-left-open"]


LOST = "then: {transport: {at: receive, reset: true}}"
REFUSED = "then: {transport: {at: receive, status: 502}}"


def words_of(api: Api, *rows: object) -> list[str]:
    return [row["evidence"][0]["line"] for row in compare(api, *rows)["findings"]]


@pytest.mark.parametrize(
    ("then", "why"),
    [(LOST, "nothing has happened (reset)"), (REFUSED, "nothing has happened (502)")],
)
def test_what_was_asked_and_did_not_happen_is_told_with_its_amount(then: str, why: str) -> None:
    api = Api(scenario=f"version: 1\nrules: [{{id: a, when: {{op: charge.create}}, {then}}}]")
    with suppress(Cut):
        api.try_charge(amount=20, reference="order-1")
    told = f"whose payment of 20.00 AUD was asked for and not made: {why}"
    assert words_of(api, {"reference": "order-1", "paid": 20}) == [
        f"the shop counts as paid 20.00 of order-1, {told}"
    ]


def test_a_payment_that_was_refused_was_asked_for(api: Api) -> None:
    pay(api)
    card = {"cardNumber": "4111111111111111", "expiryDate": "12/40", "ccv": "123"}
    body = {"providerId": DUMMY, "amount": -5, "reference": "order-2", "paymentInformation": card}
    api.call("POST", "/charge/card", body)
    rows = [{"reference": name, "paid": 20} for name in ("order-1", "order-2", "order-3")]
    refused, never = words_of(api, *rows)
    assert refused.endswith("whose payment of -5.00 AUD was asked for and not made: answered 400")
    assert never.endswith("for which no payment was ever asked")


@pytest.mark.parametrize(
    ("depth", "words"),
    [
        (50, "whose payment of 5.00 was asked for and not made: answered 400"),
        (50_000, "for which no payment was ever asked"),
    ],
)
def test_a_payment_whose_body_is_nested_too_deep_was_not_asked_for(
    api: Api, depth: int, words: str
) -> None:
    deep = "[" * depth + "]" * depth
    body = f'{{"amount": 5, "reference": "order-1", "more": {deep}}}'.encode()
    assert api.send("POST", "/charge/card", body).status == 400
    [told] = words_of(api, {"reference": "order-1", "paid": 5})
    assert told.endswith(words)


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        ('"-5"', "whose payment of -5.00 AUD was asked for"),
        ("-5.1", "whose payment of -5.10 AUD was asked for"),
        ('"1e9999999"', "whose payment was asked for"),
        ("NaN", "whose payment was asked for"),
    ],
)
def test_an_amount_that_was_asked_for_is_read_as_the_service_does(
    api: Api, amount: str, words: str
) -> None:
    body = f'{{"amount": {amount}, "currency": "AUD", "reference": "order-1"}}'.encode()
    assert api.send("POST", "/charge/card", body).status == 400
    [told] = words_of(api, {"reference": "order-1", "paid": 20})
    assert told.endswith(f"{words} and not made: answered 400")


@pytest.mark.parametrize(
    ("second", "paid", "name", "words"),
    [
        (60, 80, "amount-differs", "; a payment of 60.00 AUD was asked for and not made: nothing"),
        (20, 40, "booked-twice", "the shop books 40.00 AUD for order-1, whose customer paid 20.00"),
        (60, 40, "booked-twice", "the shop books 40.00 AUD for order-1, whose customer paid 20.00"),
    ],
    ids=["a balance", "of the same amount", "of another amount"],
)
def test_a_payment_that_was_not_made_is_named_where_it_is_booked(
    second: int, paid: int, name: str, words: str
) -> None:
    api = Api(
        scenario=f"version: 1\nrules: [{{id: a, when: {{op: charge.create, call: 2}}, {LOST}}}]"
    )
    api.charge(amount=20, currency="AUD", reference="order-1")
    with suppress(Cut):
        api.try_charge(amount=second, currency="AUD", reference="order-1")
    row = {"reference": "order-1", "paid": paid}
    assert found(api, row) == [name]
    assert words in words_of(api, row)[0]


@pytest.mark.parametrize("second", ["declined", "voided"])
def test_a_payment_that_came_to_nothing_is_named_where_it_is_booked(api: Api, second: str) -> None:
    api.charge(amount=20, reference="order-1")
    if second == "declined":
        api.try_charge(amount=60, reference="order-1", metadata={"mock": "insufficient_funds"})
        why = "; a payment of 60.00 AUD was declined: Insufficient Funds"
    else:
        held = api.charge(amount=60, reference="order-1", capture=False)["chargeId"]
        api.call("DELETE", f"/charge/{held}/void")
        why = "; a payment of 60.00 AUD was voided"
    assert words_of(api, {"reference": "order-1", "paid": 80})[0].endswith(why)


@pytest.mark.parametrize(("other", "is_credited"), [("foreign: true", True), ("copies: 1", False)])
def test_a_webhook_of_another_order_is_named_where_it_was_taken(
    other: str, is_credited: bool
) -> None:
    then = f"then: {{decline: do_not_honour, webhook: {{{other}}}}}"
    rule = f"{{id: a, when: {{op: charge.create, call: 2}}, {then}}}"
    api = Api(scenario=f"version: 1\nrules: [{rule}]")
    inbox = {"url": "http://127.0.0.1:4111/__inbox/shop"}
    for reference in ("order-1", "order-2"):
        api.try_charge(amount=20, reference=reference, webhook=inbox)
    rows = [{"reference": name, "paid": 20} for name in ("order-1", "order-2")]
    [words] = words_of(api, *rows)
    assert ("a webhook of order-1 came to its address" in words) is is_credited


@pytest.mark.parametrize(
    ("body", "field", "words"),
    [
        ({}, "Rows", "wanted a list of rows"),
        ({"rows": {}}, "Rows", "wanted a list of rows"),
        (
            {"rows": [{"reference": "a", "amount": 5, "status": "paid"}]},
            "Rows",
            "got amount, status; no row says",
        ),
        ({"rows": [], "sinze": "a"}, "Sinze", "unknown field - did you mean 'since'?"),
        ({"rows": [], "since": "nowhere"}, "Since", "wanted a mark"),
        ({"rows": [], "settled": "maybe"}, "Settled", "wanted true or false"),
        ({"rows": [], "states": {"a": "payed"}}, "States", "did you mean 'paid'?"),
        (
            {"rows": [{"paid": 1}]},
            "Rows[0].Reference",
            "missing, wanted one of charge, subscription, reference",
        ),
        (
            {"rows": [{"reference": "a"}, {"reference": "b", "paid": "lots"}]},
            "Rows[1].Paid",
            "got 'lots'",
        ),
        ({"rows": [{"reference": "a", "paid": 10**30}]}, "Rows[0].Paid", "at most 15"),
        (
            {"rows": [{"reference": "a", "paid": "lots"}, {"reference": "b", "total": 1}]},
            "Rows[0].Paid",
            "got 'lots'",
        ),
        (
            {"rows": [{"reference": "a", "currency": "AUDD"}]},
            "Rows[0].Currency",
            "did you mean 'AUD'?",
        ),
    ],
)
def test_wrong_books_are_refused_with_their_place_and_change_nothing(
    api: Api, body: Any, field: str, words: str
) -> None:
    pay(api)
    assert found(api) == ["charged-but-unpaid"]
    details = api.call("POST", "/__admin/books/compare", body)["details"]
    assert list(details) == [field]
    assert words in details[field]
    assert len(api.call("GET", "/__admin/findings")["findings"]) == 1


def test_a_row_without_a_currency_is_refused_where_the_order_has_two(api: Api) -> None:
    pay(api)
    pay(api, amount=500, currency="JPY")
    details = compare(api, {"reference": "order-1", "paid": 20})["details"]
    assert details == {"Rows[0].Currency": "missing, and order-1 has charges in AUD and JPY"}
    rows = [
        {"reference": "order-1", "paid": amount, "currency": code}
        for amount, code in ((20, "AUD"), (500, "JPY"))
    ]
    assert found(api, *rows) == []


@pytest.mark.parametrize(
    ("currency", "row", "details"),
    [
        (
            "AUD",
            {"paid": "20.001"},
            {"Rows[0].Paid": "got 20.001, AUD has 2 digits after the point"},
        ),
        (
            "AUD",
            {"paid": 20, "refunded": 0.005},
            {"Rows[0].Refunded": "got 0.005, AUD has 2 digits after the point"},
        ),
        ("JPY", {"paid": 20.5}, {"Rows[0].Paid": "got 20.5, JPY has no digits after the point"}),
        ("BHD", {"paid": "20.000"}, None),
        ("AUD", {"paid": 20.0000001}, None),
    ],
)
def test_without_a_currency_amounts_have_the_digits_of_the_orders_only_one(
    api: Api, currency: str, row: Any, details: Any
) -> None:
    pay(api, amount=20, currency=currency)
    answer = compare(api, {"reference": "order-1", **row})
    assert (answer["details"] if answer.status == 400 else None) == details


def test_books_have_ten_megabytes_at_most(api: Api) -> None:
    assert compare(api, "x" * 10_000_001).status == 413


def test_many_rows_are_compared(api: Api) -> None:
    pay(api)
    rows = [
        {"reference": f"order-{number}", "paid": "0", "state": "failed", "currency": "AUD"}
        for number in range(9_000)
    ]
    assert found(api, *rows) == ["charged-but-unpaid"]


def test_sentences_of_scenarios_about_money_are_verified() -> None:
    api = Api(scenario="""{version: 1, money: ['net(*) <= 20', 'total(AUD) < 100']}""")
    pay(api)
    assert api.call("POST", "/__admin/verify", {"rules": True}).status == 200
    pay(api)
    refused = api.call("POST", "/__admin/verify", {"rules": True})
    assert (refused.status, refused["differences"]) == (
        409,
        ["net(*) <= 20 does not hold: net of order-1 is 40.00 AUD"],
    )


def test_no_digit_is_lost(api: Api) -> None:
    amounts = [Decimal("0.01"), Decimal("19.99"), Decimal("0.10")]
    for amount in amounts:
        pay(api, amount=str(amount))
    assert Decimal(str(books(api)["orders"][0]["net"])) == sum(amounts)


def customer(api: Api, reference: str, number: str) -> dict[str, Any]:
    details = {"cardNumber": number, "expiryDate": "12/40", "ccv": "123"}
    body = {"providerId": DUMMY, "paymentInformation": details, "email": f"{reference}@example.com"}
    made: Any = api.post("/customer/card", {**body, "reference": reference}).body
    return dict(made)


@pytest.fixture
def people(api: Api) -> dict[str, dict[str, Any]]:
    """Two customers; Ann has paid order-1."""
    made = {
        "ann": customer(api, "ann", "4111111111111111"),
        "bob": customer(api, "bob", "5555555555554444"),
    }
    method = made["ann"]["defaultPaymentMethod"]["paymentMethodId"]
    api.post(
        "/charge/payment_method", {"paymentMethodId": method, "amount": 20, "reference": "order-1"}
    )
    return made


def paid_by(payer: object, **more: object) -> dict[str, object]:
    return {"reference": "order-1", "paid": 20, "state": "paid", "payer": payer, **more}


@pytest.mark.parametrize("payer", ["bob", "BOB@example.com"])
def test_money_of_another_customer_than_the_books_name(
    api: Api, people: dict[str, dict[str, Any]], payer: str
) -> None:
    assert found(api, paid_by(payer)) == ["paid-by-another"]
    [row] = compare(api, paid_by(people["bob"]["customerId"]))["findings"]
    assert row["severity"] == "error"
    assert row["evidence"][0]["line"].startswith("20.00 AUD of order-1 came from customer ")
    # What it cost comes first.
    assert found(api, paid_by(payer, paid=40)) == ["booked-twice"]


@pytest.mark.parametrize(
    "payer", ["ann", "Ann@example.com", "carol", "Bob Example", "4444", 4444, None, ["bob"]]
)
def test_a_payer_who_has_paid_or_is_not_known_is_right(
    api: Api, people: dict[str, dict[str, Any]], payer: object
) -> None:
    assert found(api, paid_by(payer)) == []
    assert found(api, paid_by(people["ann"]["customerId"])) == []


def test_a_payer_is_not_judged_without_a_customer_or_money(
    api: Api, people: dict[str, dict[str, Any]]
) -> None:
    pay(api, "order-2")
    assert found(api, paid_by("ann"), {"reference": "order-2", "paid": 20, "payer": "bob"}) == []
    assert (
        found(
            api,
            {"reference": "order-1", "state": "unknown", "payer": "bob"},
            {"reference": "order-2"},
        )
        == []
    )
    given_back = books(api, reference="order-1")["orders"][0]["charges"][0]["chargeId"]
    api.call("DELETE", f"/refund/{given_back}")
    assert found(api, paid_by("bob", refunded=20, state="refunded"), {"reference": "order-2"}) == []


def test_an_order_that_two_have_paid_names_both(
    api: Api, people: dict[str, dict[str, Any]]
) -> None:
    method = people["bob"]["defaultPaymentMethod"]["paymentMethodId"]
    api.post(
        "/charge/payment_method", {"paymentMethodId": method, "amount": 20, "reference": "order-1"}
    )
    assert found(api, paid_by("ann"), paid_by("bob")) == []
    assert found(api, paid_by("ann"), paid_by("")) == ["paid-by-another"]
