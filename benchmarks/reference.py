"""The bare reference: what the same charge costs when nothing but the necessary is done.

Starlette takes the body, pydantic validates it with keys in any letter case, a dict stores the
answer, orjson writes it, an index lists charges by their reference. No authentication, states,
money, scenarios, journal or webhooks. Served as its makers recommend: uvicorn with uvloop and
httptools, no access log. ``python benchmarks/reference.py PORT`` serves it.
"""

from __future__ import annotations

import itertools
import sys
from datetime import UTC, datetime
from typing import Any

import orjson
import uvicorn
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


class Card(BaseModel):
    cardnumber: str
    expirydate: str
    ccv: str | None = None
    cardholder: str | None = None


class Address(BaseModel):
    line1: str | None = None
    line2: str | None = None
    city: str | None = None
    country: str | None = None
    postalcode: str | None = None
    state: str | None = None


class Order(BaseModel):
    ordernumber: str | None = None
    freightamount: float | None = None


class NewCharge(BaseModel):
    amount: float
    currency: str | None = None
    reference: str | None = None
    providerid: str
    paymentinformation: Card
    email: str | None = None
    phone: str | None = None
    firstname: str | None = None
    lastname: str | None = None
    address: Address | None = None
    order: Order | None = None
    ip: str | None = None
    metadata: dict[str, str] | None = None


IP_INFO = dict.fromkeys(
    ("ip", "hostname", "city", "region", "country", "loc", "org", "postal", "timezone"), "known"
)
"""As many members as the sandbox answers."""

CHARGES: dict[str, dict[str, Any]] = {}
BY_REFERENCE: dict[str | None, list[dict[str, Any]]] = {}
NUMBERS = itertools.count(1)


def lowered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key.lower(): lowered(item) for key, item in value.items()}
    return [lowered(item) for item in value] if isinstance(value, list) else value


async def create(request: Request) -> Response:
    charge = NewCharge.model_validate(lowered(orjson.loads(await request.body())))
    card = charge.paymentinformation
    number = next(NUMBERS)
    identifier = f"{number:032x}"
    now = datetime.now(UTC).isoformat()
    stored = CHARGES[identifier] = {
        "chargeId": identifier,
        "providerChargeId": f"ch_{number:016x}",
        "amount": charge.amount,
        "providerId": charge.providerid,
        "reference": charge.reference,
        "paymentInformation": {
            "paymentMethodId": None,
            "card": {
                "cardNumber": f"{card.cardnumber[:4]}********{card.cardnumber[-4:]}",
                "expiryDate": card.expirydate,
                "cardholder": card.cardholder,
                "type": "VISA",
                "cardType": "CREDIT",
                "cardIin": card.cardnumber[:6],
                "ccvCheck": None,
                "threeDSServerTransID": None,
                "iinData": None,
            },
            "type": "CARD",
            "displayType": "VISA",
            "email": charge.email,
            "bankPayment": None,
        },
        "customerId": None,
        "status": "SUCCESS",
        "dateAdded": now,
        "successDate": now,
        "voidDate": None,
        "refundedAmount": 0,
        "estimatedCost": 0.51,
        "estimatedCostCurrency": "AUD",
        "currency": charge.currency,
        "refunds": [],
        "failedAttempts": [],
        "customer": {
            "customerId": None,
            "reference": None,
            "firstName": charge.firstname,
            "lastName": charge.lastname,
            "email": charge.email,
            "phone": charge.phone,
            "dateAdded": None,
            "dateRemoved": None,
        },
        "provider": {"providerId": charge.providerid, "type": "dummy", "name": "Reference"},
        "threeDsVerified": False,
        "authorisationAmount": charge.amount,
        "initiator": None,
        "ip": charge.ip,
        "ipInfo": IP_INFO,
        "visaInstallments": None,
        "descriptor": None,
        "threeDsRedirectUrl": None,
        "paymentTokenId": None,
        "subscriptionId": None,
        "metadata": charge.metadata,
    }
    BY_REFERENCE.setdefault(charge.reference, []).append(stored)
    return Response(orjson.dumps(stored), 201, media_type="application/json")


async def search(request: Request) -> Response:
    query = request.query_params
    limit, found = int(query.get("limit", 20)), BY_REFERENCE.get(query["Reference"], [])
    page = {"limit": limit, "skip": 0, "count": len(found), "charges": found[: -limit - 1 : -1]}
    return Response(orjson.dumps(page), media_type="application/json")


async def read(request: Request) -> Response:
    return Response(
        orjson.dumps(CHARGES[request.path_params["charge_id"]]), media_type="application/json"
    )


app = Starlette(
    routes=[
        Route("/charge/card", create, methods=["POST"]),
        Route("/charge/{charge_id}", read, methods=["GET"]),
        Route("/charge", search, methods=["GET"]),
    ]
)

if __name__ == "__main__":
    uvicorn.run(app, port=int(sys.argv[1]), log_level="warning", access_log=False)
