"""What the text parameters of searches find (assumptions ``search.*``)."""

import pytest

from tests.driving import DUMMY, Api, Reply, batch_of, card
from tests.few_rows import look_at_few_rows

WAYS = {
    "exact": {"Order-5"},
    "any_case": {"Order-5", "order-5"},
    "prefix": {"Order-5", "order-5", "ORDER-51"},
    "contains": {"Order-5", "order-5", "ORDER-51", "my order-5"},
}
"""By the value of an assumption: the words among which ``Order-5`` is looked for that it finds."""

WORDS = (*sorted(WAYS["contains"]), "Order 5", "order-")


@pytest.fixture(autouse=True, params=["a short list", "a long list"])
def _length(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists that are searched at once, and those that are searched ahead of the step."""
    if request.param == "a long list":
        look_at_few_rows(monkeypatch, 2)


def found(reply: Reply, rows: str, name: str) -> set[str]:
    assert reply.status == 200, reply.raw
    assert reply["count"] == len(reply[rows])
    return {row[name] for row in reply[rows]}


@pytest.mark.parametrize("way", WAYS)
def test_a_reference_finds_charges_customers_and_transfers(way: str) -> None:
    api = Api(assumptions={"search.reference": way}, waits=True)
    for word in WORDS:
        charge_id = api.charge(reference=word)["chargeId"]
        api.post(
            "/customer/card", {"providerId": DUMMY, "paymentInformation": card(), "reference": word}
        )
        sent = {"account": "a", "amount": 1, "currency": "AUD", "reference": word}
        assert (
            api.post(
                "/transfer", {"providerId": DUMMY, "chargeId": charge_id, "transfers": [sent]}
            ).status
            == 201
        )
    for path, rows in (
        ("/charge", "charges"),
        ("/customer", "customers"),
        ("/transfer", "transfers"),
    ):
        assert found(api.get(path, Reference="Order-5"), rows, "reference") == WAYS[way]


@pytest.mark.parametrize("way", WAYS)
def test_a_transfer_is_found_by_the_reference_of_its_group_too(way: str) -> None:
    api = Api(assumptions={"search.reference": way}, waits=True)
    charge_id = api.charge()["chargeId"]
    sent = {"account": "a", "amount": 1, "currency": "AUD", "reference": "row-1"}
    body = {
        "providerId": DUMMY,
        "chargeId": charge_id,
        "groupReference": "Group-7",
        "transfers": [sent],
    }
    assert api.post("/transfer", body).status == 201
    assert found(api.get("/transfer", Reference="Group-7"), "transfers", "reference") == {"row-1"}
    assert found(api.get("/transfer", Reference="7row"), "transfers", "reference") == set()


@pytest.mark.parametrize("way", WAYS)
def test_a_cardholder_finds_charges(way: str) -> None:
    api = Api(assumptions={"search.cardholder": way}, waits=True)
    for word in WORDS:
        api.charge(reference=word, paymentInformation=card(cardholder=word))
    bank = {"bankCode": "123-456", "accountNumber": "12345678", "accountName": "Order-5"}
    api.post(
        "/charge/bank_account", {"providerId": DUMMY, "amount": 5, "bankPaymentInformation": bank}
    )
    assert found(api.get("/charge", Cardholder="Order-5"), "charges", "reference") == WAYS[way]


@pytest.mark.parametrize("way", WAYS)
def test_an_email_finds_customers(way: str) -> None:
    api = Api(assumptions={"search.email": way}, waits=True)
    for word in WORDS:
        api.post(
            "/customer/card", {"providerId": DUMMY, "paymentInformation": card(), "email": word}
        )
    api.post("/customer/card", {"providerId": DUMMY, "paymentInformation": card()})
    assert found(api.get("/customer", Email="Order-5"), "customers", "email") == WAYS[way]


@pytest.mark.parametrize("way", WAYS)
def test_a_description_finds_batches(way: str) -> None:
    api = Api(assumptions={"search.description": way}, waits=True)
    for word in WORDS:
        api.post("/batch/transaction/payment_method", batch_of("pm,1,AUD,r", description=word))
    assert found(api.get("/batch", Description="Order-5"), "batches", "description") == WAYS[way]


def test_what_is_found_without_an_assumption() -> None:
    api = Api(waits=True)
    for word in ("Order-5", "order-5", "Order-51"):
        body = {"providerId": DUMMY, "paymentInformation": card(), "reference": word, "email": word}
        api.post("/customer/card", body)
        api.charge(reference=word, paymentInformation=card(cardholder=word))
        api.post("/batch/transaction/payment_method", batch_of("pm,1,AUD,r", description=word))
    assert api.get("/charge", Reference="Order-5")["count"] == 1
    assert api.get("/charge", Cardholder="Order-5")["count"] == 1
    assert api.get("/customer", Reference="Order-5")["count"] == 1
    assert api.get("/customer", Email="Order-5")["count"] == 2
    assert api.get("/batch", Description="Order-5")["count"] == 3


@pytest.mark.parametrize(
    ("meaning", "by_scheme", "by_funding"),
    [("scheme", 1, 0), ("card_type", 0, 1), ("either", 1, 1)],
)
def test_the_type_of_a_card_is_its_scheme_or_how_it_is_funded(
    meaning: str, by_scheme: int, by_funding: int
) -> None:
    api = Api(assumptions={"search.card_type": meaning}, waits=True)
    shown = api.charge()["paymentInformation"]["card"]
    method = api.method()
    assert (shown["type"], shown["cardType"]) == ("VISA", "CREDIT")
    for path in ("/charge", "/payment_method"):
        assert api.get(path, CardType="visa")["count"] == by_scheme
        assert api.get(path, CardType="Credit")["count"] == by_funding
        assert api.get(path, CardType="AMEX")["count"] == 0
    # A card that is changed is found as it is now.
    changed = {"card": {"cardNumber": "5555555555554444"}}
    assert api.put(f"/payment_method/{method}", changed)["card"]["type"] == "MASTERCARD"
    assert api.get("/payment_method", CardType="VISA")["count"] == 0
    assert api.get("/payment_method", CardType="MASTERCARD")["count"] == by_scheme
