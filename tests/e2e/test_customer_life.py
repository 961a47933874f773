"""The whole life of a customer, over real HTTPS, as clients that write camelCase and PascalCase
live it, in both profiles."""

import os
import re
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import mockserver
from tests import warm

ROOT = Path(mockserver.__file__).resolve().parents[1]
MAIN = "a26c371f-94f6-40da-add2-28ec8e9da8ed"
VISA = {
    "cardNumber": "4111111111111111",
    "expiryDate": "12/40",
    "ccv": "123",
    "cardholder": "Ann Example",
}
MASTERCARD = {
    "cardNumber": "5555555555554444",
    "expiryDate": "11/39",
    "ccv": "321",
    "cardholder": "Ann Example",
}

Json = dict[str, Any]


def camel(name: str) -> str:
    return name


def pascal(name: str) -> str:
    return name[:1].upper() + name[1:]


def spelt(value: object, case: Any) -> object:
    """Every field name in a letter case; the keys of metadata are the caller's own."""
    match value:
        case dict():
            return {
                case(key): one if key == "metadata" else spelt(one, case)
                for key, one in value.items()
            }
        case list():
            return [spelt(one, case) for one in value]
    return value


class Shop:
    """A client of the service that writes field names in one letter case and knows the words of one
    profile."""

    def __init__(self, url: str, trust: ssl.SSLContext, key: str, case: Any, profile: str) -> None:
        self.http = httpx.Client(
            base_url=url, verify=trust, headers={"x-secretkey": key}, timeout=20
        )
        self.case = case
        sdk = profile == "sdk"
        self.created, self.gone, self.wrong = (200, 400, 400) if sdk else (201, 404, 409)
        self.authorised = "AUTHORISE" if sdk else "Authorised"

    def ask(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        *,
        expect: int = 200,
        **query: object,
    ) -> Json:
        named = {self.case(name): value for name, value in query.items()}
        answer = self.http.request(
            method, path, json=None if body is None else spelt(body, self.case), params=named
        )
        assert answer.status_code == expect, (
            f"{method} {path}: {answer.status_code} {answer.text[:500]}"
        )
        found: Json = answer.json()
        return found

    def post(self, path: str, body: Json) -> Json:
        """A call that creates something."""
        return self.ask("POST", path, body, expect=self.created)

    def advance(self, by: str) -> None:
        self.http.post("/__admin/clock/advance", json={"by": by}).raise_for_status()


@pytest.fixture(scope="module", params=["documented", "sdk"])
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str, Path]]:
    """Profile, HTTPS address and certificate of the authority of a server process."""
    folder = tmp_path_factory.mktemp("customer")
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "MOCKSERVER_DATA_DIR": str(folder)}
    options = [
        "--port",
        "0",
        "--tls-port",
        "0",
        "--clock",
        "2031-03-01T00:00:00Z",
        "--profile",
        request.param,
    ]
    process = warm.started("mockserver", *options, env=environ, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    tls = re.match(r"tls on (https://localhost:\d+)\n", process.stdout.readline())
    assert tls
    assert process.stdout.readline().startswith("ready on ")
    authority = subprocess.run(
        [*warm.python(), "-m", "mockserver", "ca"],
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    (folder / "ca.pem").write_text(authority)
    yield request.param, tls[1], folder / "ca.pem"
    process.kill()
    process.communicate()


@pytest.fixture(params=[camel, pascal])
def shop(request: pytest.FixtureRequest, served: tuple[str, str, Path]) -> Iterator[Shop]:
    profile, url, authority = served
    trust = ssl.create_default_context(cafile=str(authority))
    found = Shop(url, trust, f"sk_{request.param.__name__}", request.param, profile)
    yield found
    found.http.close()


def test_the_whole_life_of_a_customer(shop: Shop) -> None:
    ann = arrives(shop)
    first, second = stores_cards(shop, ann)
    buys(shop, ann, first, second)
    sends_back(shop, ann)
    pays_with_a_token(shop, ann)
    moves_to_another_provider(shop, first)
    is_found(shop, ann)
    leaves(shop, ann, first)


def arrives(shop: Shop) -> str:
    """A customer with a vaulted card; who she is comes back as it was given."""
    created = shop.post(
        "/customer/card",
        {
            "providerId": MAIN,
            "reference": "ann-1",
            "firstName": "Ann",
            "lastName": "Example",
            "email": "ann@example.com",
            "phone": "0400000000",
            "address": {
                "line1": "1 Example Street",
                "city": "Sydney",
                "country": "AU",
                "postalCode": "2000",
            },
            "paymentInformation": VISA,
            "vaultCard": True,
            "vaultExpireSeconds": 86_400,
        },
    )
    card = created["defaultPaymentMethod"]["card"]
    assert card["cardNumber"] == "4111********1111"
    assert card["cardIin"] == ("411" if shop.created == 200 else "411111")
    assert created["defaultPaymentMethod"]["vaultId"]
    assert "4111111111111111" not in str(created)
    ann = str(created["customerId"])
    assert shop.ask("GET", f"/customer/{ann}") == created
    return ann


def stores_cards(shop: Shop, ann: str) -> tuple[str, str]:
    """A second card, which becomes the default; both are listed."""
    first = str(shop.ask("GET", f"/customer/{ann}")["defaultPaymentMethod"]["paymentMethodId"])
    added = shop.post(
        f"/customer/{ann}/payment_method/card",
        {"providerId": MAIN, "paymentInformation": MASTERCARD, "setDefault": True},
    )
    second = str(added["paymentMethodId"])
    customer = shop.ask("GET", f"/customer/{ann}")
    assert customer["defaultPaymentMethod"]["paymentMethodId"] == second
    listed = shop.http.get(f"/customer/{ann}/payment_method").json()
    assert {method["paymentMethodId"] for method in listed} == {first, second}
    return first, second


def buys(shop: Shop, ann: str, first: str, second: str) -> None:
    """Charged by customer (her default card) and by a card of her choice; declined once."""
    body = {
        "amount": "19.90",
        "currency": "aud",
        "reference": "order-1",
        "metadata": {"Basket": "7"},
    }
    paid = shop.post("/charge/customer", {"customerId": ann, **body})
    assert (paid["status"], paid["amount"], paid["currency"]) == ("SUCCESS", 19.9, "AUD")
    assert paid["paymentInformation"]["paymentMethodId"] == second
    assert paid["metadata"] == {"Basket": "7"}
    assert paid["customer"]["firstName"] == "Ann"
    chosen = shop.post(
        "/charge/payment_method", {"paymentMethodId": first, "amount": 30, "reference": "order-2"}
    )
    assert chosen["paymentInformation"]["card"]["type"] == "VISA"
    refusal = shop.ask(
        "POST",
        "/charge/customer",
        {
            "customerId": ann,
            "amount": 5,
            "reference": "order-3",
            "metadata": {"mock": "insufficient_funds"},
        },
        expect=400,
    )
    assert (refusal["code"], refusal["isRetryable"]) == (15, True)
    failed = shop.ask("GET", f"/charge/{refusal['details']['ChargeId']}")
    assert (failed["status"], failed["failedAttempts"][0]["gatewayCode"]) == ("FAILED", "51")


def sends_back(shop: Shop, ann: str) -> None:
    """Authorised, captured in part, refunded twice, refused the third time; another one voided, and
    not twice."""
    held = shop.post("/charge/customer", {"customerId": ann, "amount": 100, "capture": False})
    assert held["status"] == shop.authorised
    path = f"/charge/{held['chargeId']}"
    taken = shop.ask("POST", path, {"amount": 60})
    assert (taken["status"], taken["amount"], taken["authorisationAmount"]) == ("SUCCESS", 60, 100)
    refund = f"/refund/{held['chargeId']}"
    part = shop.ask("DELETE", refund, amount="25.50", comment="one item")
    assert (part["status"], part["refundedAmount"], part["refunds"][0]["comment"]) == (
        "PARTIAL_REFUND",
        25.5,
        "one item",
    )
    assert shop.ask("DELETE", refund, expect=400, amount=40)["code"] == 76
    assert shop.ask("DELETE", refund)["status"] == "REFUND"
    assert shop.ask("DELETE", refund, expect=shop.wrong)["code"] == 54
    other = shop.post("/charge/customer", {"customerId": ann, "amount": 10, "capture": False})
    voided = shop.ask("DELETE", f"/charge/{other['chargeId']}/void")
    assert (voided["status"], voided["voidDate"]) == (
        "AUTHORISE_CANCELLED",
        "2031-03-01T00:00:00.0000000Z",
    )
    assert shop.ask("DELETE", f"/charge/{other['chargeId']}/void", expect=shop.wrong)["code"] == 54


def pays_with_a_token(shop: Shop, ann: str) -> None:
    """A token made with the public key pays once."""
    public_key = f"pk_{shop.case.__name__}"
    assert shop.http.get("/__admin/sandbox").json()["publicKey"] == public_key
    made = shop.http.post(
        "/token/card",
        json=spelt({"providerId": MAIN, "paymentInformation": VISA}, shop.case),
        headers={"x-publickey": public_key, "x-secretkey": ""},
    )
    assert made.status_code == shop.created, made.text
    token = made.json()["tokenId"]
    paid = shop.post("/charge/token", {"token": token, "amount": 12, "reference": "order-4"})
    assert (paid["status"], paid["paymentTokenId"]) == ("SUCCESS", token)
    assert (
        shop.ask("POST", "/charge/token", {"token": token, "amount": 12}, expect=400)["code"] == 51
    )


def moves_to_another_provider(shop: Shop, first: str) -> None:
    """The vaulted card goes to a second provider, and no longer once its vault item has expired."""
    provider = {
        "type": "dummy",
        "name": "Second",
        "environment": "SANDBOX",
        "currency": "AUD",
        "providerCountry": "AU",
    }
    second = shop.post(
        "/provider", {**provider, "authenticationParameters": {"MinMilliseconds": "0"}}
    )["providerId"]
    body = {"providerId": second, "paymentMethodId": first, "ccv": "123"}
    moved = shop.post("/payment_method/vault", body)
    assert (moved["providerId"], moved["card"]["expiryDate"]) == (second, "12/40")
    charged = shop.post(
        "/charge/payment_method", {"paymentMethodId": moved["paymentMethodId"], "amount": 1}
    )
    assert charged["provider"]["name"] == "Second"
    shop.advance("1d")
    assert shop.ask("POST", "/payment_method/vault", body, expect=400)["code"] == 66


def is_found(shop: Shop, ann: str) -> None:
    """Searches by reference, words and status find her and her charges, newest first."""
    assert [
        one["customerId"] for one in shop.ask("GET", "/customer", reference="ann-1")["customers"]
    ] == [ann]
    assert shop.ask("GET", "/customer", search="EXAMPLE")["count"] == 1
    charges = shop.ask("GET", "/charge", customerId=ann, limit=3)
    assert (charges["count"], len(charges["charges"])) == (6, 3)
    dates = [charge["dateAdded"] for charge in charges["charges"]]
    assert dates == sorted(dates, reverse=True)
    assert shop.ask("GET", "/charge", customerId=ann, status="refund")["count"] == 1
    changed = shop.ask("PUT", f"/customer/{ann}", {"email": "new@example.com", "phone": None})
    assert (changed["email"], changed["phone"], changed["firstName"]) == (
        "new@example.com",
        "0400000000",
        "Ann",
    )


def leaves(shop: Shop, ann: str, first: str) -> None:
    """Removed: out of searches, still readable, not charged any more; what was taken before can be
    looked up."""
    removed = shop.ask("DELETE", f"/customer/{ann}")
    assert removed["dateRemoved"] == "2031-03-02T00:00:00.0000000Z"
    assert (removed["email"], removed["phone"]) == ("deleted", "deleted")
    assert shop.ask("GET", "/customer", reference="ann-1")["count"] == 0
    assert shop.ask("GET", "/customer", reference="ann-1", includeRemoved="true")["count"] == 1
    assert shop.ask("GET", f"/customer/{ann}")["dateRemoved"]
    assert (
        shop.ask("POST", "/charge/customer", {"customerId": ann, "amount": 5}, expect=400)["code"]
        == 72
    )
    assert (
        shop.ask(
            "POST", "/charge/payment_method", {"paymentMethodId": first, "amount": 5}, expect=400
        )["code"]
        == 73
    )
    assert shop.ask("GET", "/charge", reference="order-1")["count"] == 1
    assert shop.ask("GET", "/customer/nobody", expect=shop.gone)["code"] == 52
