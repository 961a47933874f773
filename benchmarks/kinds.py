"""The kinds of objects that ``benchmarks.searches`` searches: how the rows are made, and what is
asked of them.

Charges are made by batches. Of any other kind one object is made, and a state document with as many
like it, which differ in what is searched and sorted by, takes the place of the sandbox.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.batch import CARD, DUMMY, Caller

BATCH = 100_000
CARDS = ("4111111111111111", "5555555555554444", "5105105105105100")
BRANDS = ("VISA", "MASTERCARD")
CURRENCIES = ("AUD", "AUD", "AUD", "NZD")
CARD_BODY = {"providerId": DUMMY, "paymentInformation": CARD}
WRITTEN = 2_000

Row = dict[str, Any]
Filters = Mapping[str, Mapping[str, str]]
Fill = Callable[[Caller, int], None]


@dataclass(frozen=True)
class Kind:
    """How one kind is searched. ``fill`` makes so many rows; ``filters`` gives the parameters of
    each filter by its name, some of which find many and some few; ``most`` rows are made at
    most."""

    path: str
    fill: Fill
    filters: Callable[[Caller, int], Filters]
    sorts: tuple[str, ...] = ()
    most: int = 1_000_000


def by_batches(call: Caller, rows: int) -> None:
    """Charges of three cards, with different amounts and currencies."""
    call("PUT", "/__admin/clock", {"mode": "manual"})
    methods = []
    for number, card in enumerate(CARDS):
        details = {**CARD, "cardNumber": card, "cardholder": f"Holder {number}"}
        made = call(
            "POST", "/payment_method/card", {"providerId": DUMMY, "paymentInformation": details}
        )
        methods.append(made["paymentMethodId"])
    for start in range(0, rows, BATCH):
        these = range(start, min(start + BATCH, rows))
        text = "PaymentMethodId,Amount,Currency,Reference\n" + "\n".join(
            f"{methods[row % 3]},{amount(row)},{CURRENCIES[row // 3 % 4]},row-{row}"
            for row in these
        )
        call(
            "POST",
            "/batch/transaction/payment_method",
            {"count": len(these), "description": "", "batch": text},
        )
        call("POST", "/__admin/clock/advance", {"by": "1h"})


def by_requests(call: Caller, rows: int) -> None:
    """Entries of the journal: three reads of what is not there, then a charge."""
    for number in range(rows):
        if number % 4:
            call.raw("GET", f"/charge/{number:032x}")
        else:
            call(
                "POST",
                "/charge/card",
                {**CARD_BODY, "amount": 5 + number % 50, "reference": f"own-{number}"},
            )


def by_import(table: str, path: str, body: Row, varied: Callable[[int], Row]) -> Fill:
    """Rows like the one that a call makes, each with what is ``varied`` by its number."""

    def fill(call: Caller, rows: int) -> None:
        call("PUT", "/__admin/clock", {"mode": "manual"})
        method = call("POST", "/payment_method/card", CARD_BODY)["paymentMethodId"]
        call("POST", path, json.loads(json.dumps(body).replace("METHOD", method)))
        document = json.loads(call.raw("GET", "/__admin/state?secrets=true"))
        row = document["tables"][table][-1]
        id_name, begin = next(iter(row)), row["added"] - rows
        document["counters"][id_name.removesuffix("_id")] = rows
        document["tables"][table], document["schedule"]["entries"] = [], []

        def parts() -> Iterator[bytes]:
            yield json.dumps(document).encode() + b"\n"
            for start in range(0, rows, WRITTEN):
                # Others may name the first one.
                made = [
                    {**row, id_name: f"{number:032x}", **varied(number)} if number else row
                    for number in range(start, min(start + WRITTEN, rows))
                ]
                lines = [
                    json.dumps({"part": table, **one, "added": begin + start + place}) + "\n"
                    for place, one in enumerate(made)
                ]
                yield "".join(lines).encode()

        headers = {"x-secretkey": call.key, "content-type": "application/x-ndjson"}
        call.connection.request("PUT", "/__admin/state", parts(), headers, encode_chunked=True)
        answer = call.connection.getresponse()
        said = answer.read()
        if answer.status != 200:
            raise SystemExit(said[:2_000].decode())

    return fill


def amount(number: int) -> str:
    """One of 100,000 amounts."""
    return f"{10 + number * 7919 % 100_003 / 100:.2f}"


def presence(number: int) -> Row:
    """One in ten was removed."""
    return {"state": "removed", "removed": 1} if number % 10 == 1 else {}


def customer(number: int) -> Row:
    """A customer, most of whom have names of their own."""
    return {
        "reference": f"row-{number}",
        "first_name": f"First {number % 997}",
        "last_name": f"Last {number * 7919 % 10_007}",
        "email": f"payer-{number}@example.com",
        "phone": f"+61 4{number * 7919 % 100_003:05}",
        "default_payment_method_id": None,
        **presence(number),
    }


def method(number: int) -> Row:
    """A payment method, with one of 10,000 cards."""
    brand = BRANDS[number % 2]
    card = {
        "masked": f"4111********{number % 10_000:04}",
        "iin": "411111",
        "brand": brand,
        "funding": "CREDIT",
        "fingerprint": f"{number % 10_000:032x}",
        "prefixes": [],
        "test_name": None,
    }
    held = {
        "number": card,
        "expiry": "12/40",
        "cardholder": f"Holder {number * 7919 % 10_007}",
        "ccv_given": True,
    }
    return {
        "instrument": {"type": "CARD", "card": held, "display_type": brand},
        "email": f"payer-{number}@example.com",
        **presence(number),
    }


def batch(number: int) -> Row:
    """A batch of one row, which is done, has failed or waits."""
    status = ("SUCCESS", "FAILED", "RECEIVED")[number % 3]
    row = {
        "payment_method_id": "none",
        "amount": "1",
        "currency": "AUD",
        "reference": "",
        "status": status,
    }
    return {
        "description": f"Run {number}",
        "rows": [row],
        "status": status,
        "success": int(number % 3 == 0),
        "failure": int(number % 3 == 1),
    }


def named(**filters: Callable[[int], str] | str) -> Callable[[Caller, int], Filters]:
    """A filter for each parameter of a list: its value, or what gives it by the number of the row
    in the middle."""
    return lambda _, rows: {
        name: {name: value if isinstance(value, str) else value(rows // 2)}
        for name, value in filters.items()
    }


def and_window(
    path: str, filters: Callable[[Caller, int], Filters]
) -> Callable[[Caller, int], Filters]:
    """The same, and rows that were added after, or before, the one in the middle."""

    def given(call: Caller, rows: int) -> Filters:
        answer = call("GET", f"{path}?limit=1&skip={rows // 2}")
        middle = next(found for found in answer.values() if isinstance(found, list))[0]
        added = middle.get("dateAdded") or middle["createdDate"]
        return {
            **filters(call, rows),
            **{name: {name: added} for name in ("AddedAfter", "AddedBefore")},
        }

    return given


def of_charges(call: Caller, rows: int) -> Filters:
    """Filters of charges."""
    newest = call("GET", "/charge?limit=1")["charges"][0]
    found = named(
        Reference=f"row-{rows // 2}",
        ProviderId=DUMMY,
        Status="SUCCESS",
        PaymentMethodId=newest["paymentInformation"]["paymentMethodId"],
        PaymentType="CARD",
        CardType="VISA",
        Currency="AUD",
        CardNumber="411111",
        Cardholder="Holder 1",
        BatchId=call("GET", "/batch?limit=1")["batches"][0]["batchId"],
        AmountGreaterThan="500",
        AmountLessThan="600",
        CustomerId="nobody",
    )
    return {
        name: one
        for name, one in and_window("/charge", found)(call, rows).items()
        if name != "AddedBefore"
    }


def words(*given: str) -> Callable[[Caller, int], Filters]:
    """Words of the search language."""
    return lambda _, rows: {word: {"q": word.replace("MIDDLE", str(rows // 2))} for word in given}


def _listed(
    path: str, fill: Fill, filters: Callable[[Caller, int], Filters], sorts: str, most: int
) -> Kind:
    return Kind(path, fill, and_window(path, filters), tuple(sorts.split()), most)


LINK = {"title": "Link", "amount": 5, "currency": "AUD"}
PLAN = {
    "paymentMethodId": "METHOD",
    "amount": 5,
    "currency": "AUD",
    "frequency": 1,
    "interval": "Month",
}
RUN = {
    "count": 1,
    "description": "",
    "batch": "PaymentMethodId,Amount,Currency,Reference\nMETHOD,1,AUD,x",
}
MOVE = {
    "providerId": DUMMY,
    "groupReference": "group",
    "transfers": [{"amount": 5, "currency": "AUD", "account": "a", "reference": "r"}],
}
JOURNAL = words(
    "op:charge.create",
    "status:4xx",
    "method:POST",
    "path:/charge/card",
    "code:84",
    "ref:own-77",
    "id:3f2a",
    "amount:12.00",
    "currency:AUD",
    "is:refused",
    "since:10",
    "own-77",
)

KINDS: Mapping[str, Kind] = {
    "charges": Kind(
        "/charge",
        by_batches,
        of_charges,
        (
            "date",
            "amount",
            "currency",
            "status",
            "reference",
            "providerId",
            "customerId",
            "chargeId",
            "successDate",
            "voidDate",
            "refundedAmount",
        ),
    ),
    "customers": _listed(
        "/customer",
        by_import("customers", "/customer/card", {**CARD_BODY, "firstName": "Ann"}, customer),
        named(
            CustomerId="{:032x}".format,
            PaymentMethodId="nobody",
            Reference="row-{}".format,
            Email="payer-{}@example.com".format,
            Search="row-{}".format,
            IncludeRemoved="true",
        ),
        "date reference firstName lastName email phone customerId dateRemoved",
        1_000_000,
    ),
    "payment methods": _listed(
        "/payment_method",
        by_import("payment_methods", "/payment_method/card", CARD_BODY, method),
        named(
            ProviderId=DUMMY,
            CustomerId="nobody",
            PaymentType="CARD",
            CardType="VISA",
            Search="payer-{}@".format,
            IncludeRemoved="true",
        ),
        "date type providerId providerType customerId email paymentMethodId dateRemoved",
        500_000,
    ),
    "tokens": _listed(
        "/token",
        by_import(
            "tokens",
            "/token/card",
            CARD_BODY,
            lambda number: {
                "state": ("ACTIVE", "USED", "EXPIRED", "EXPIRED")[number % 4],
                "used": number * 7919 % 100_003,
            },
        ),
        named(ProviderId=DUMMY, Status="USED"),
        "date dateUsed tokenId providerId status",
        500_000,
    ),
    "payment links": _listed(
        "/payment_link",
        by_import(
            "payment_links",
            "/payment_link",
            LINK,
            lambda number: {"title": f"Link {number * 7919 % 100_003}", "amount": amount(number)},
        ),
        named(),
        "date title amount",
        1_000_000,
    ),
    "subscriptions": _listed(
        "/subscription",
        by_import(
            "subscriptions",
            "/subscription/payment_method",
            PLAN,
            lambda number: {
                "amount": amount(number),
                "currency": CURRENCIES[number % 4],
                "payments": 0,
                "status": ("Active", "Cancelled", "Suspended")[number % 3],
                "start": number * 7919 % 100_003,
            },
        ),
        named(Status="Active", Currency="AUD", AmountGreaterThan="500", AmountLessThan="600"),
        "date status currency amount startDate",
        1_000_000,
    ),
    "batches": _listed(
        "/batch",
        by_import("batches", "/batch/transaction/payment_method", RUN, batch),
        named(Description="run {}".format, Status="SUCCESS"),
        "date description status count progress",
        300_000,
    ),
    "transfers": _listed(
        "/transfer",
        by_import(
            "transfers",
            "/transfer",
            MOVE,
            lambda number: {
                "reference": f"row-{number}",
                "group_reference": f"group-{number // 10}",
                "amount": amount(number),
                "status": ("PENDING", "SUCCESS")[number % 2],
                "currency": CURRENCIES[number % 4],
            },
        ),
        named(ProviderId=DUMMY, Status="SUCCESS", Reference="row-{}".format),
        "date amount reference status currency",
        1_000_000,
    ),
    "control page": Kind(
        "/__admin/objects?kind=charge&limit=100",
        by_batches,
        words(
            "state:SUCCESS",
            "ref:row-MIDDLE",
            "amount:12.50",
            "currency:NZD",
            "id:3f2a",
            "is:finding",
            "row-MIDDLE",
            "-currency:AUD",
        ),
    ),
    "journal": Kind("/__admin/journal?limit=100", by_requests, JOURNAL, most=100_000),
    "timeline": Kind("/__admin/timeline?limit=100", by_requests, JOURNAL, most=100_000),
}
