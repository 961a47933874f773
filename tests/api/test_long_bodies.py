"""A long body means what a short one means."""

import json
from typing import Any

import pytest

from tests.driving import Api, card_charge


def padded(body: dict[str, Any], values: int) -> bytes:
    return json.dumps({**body, "unknown": [[number] for number in range(values)]}).encode()


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/charge/card", card_charge(reference="long")),
        ("POST", "/charge/card", card_charge(amount=-1)),
        ("POST", "/__admin/verify", {"op": "charge.create", "calls": 1}),
    ],
)
def test_a_long_body_is_answered_as_a_short_one(
    method: str, path: str, body: dict[str, Any]
) -> None:
    short, long = (Api().call(method, path, raw=padded(body, values)) for values in (10, 80_000))
    assert (long.status, long.body.get("details")) == (short.status, short.body.get("details"))


@pytest.mark.parametrize("length", [5, 70_000])
@pytest.mark.parametrize(
    ("begin", "end"),
    [
        ("", ""),
        ("[]", ""),
        ("[1", "]"),
        ('{"a": ', ""),
        ('{"a": [' * 40, "]}" * 40),
        ('{"a": [NaN', "]}"),
    ],
)
def test_a_faulty_body_is_refused_alike_however_long(begin: str, end: str, length: int) -> None:
    short = Api().call("POST", "/charge/card", raw=f"{begin} {end}".encode())
    long = Api(waits=True).call("POST", "/charge/card", raw=f"{begin}{' ' * length}{end}".encode())
    assert (long.status, long["code"]) == (short.status, short["code"])


def test_a_long_body_of_an_unknown_key_is_refused_for_its_key() -> None:
    assert (
        Api(waits=True).call("POST", "/charge/card", raw=b"[" * 100_000, key="sk_live_1").status
        == 401
    )


def test_a_short_list_of_very_long_charges_is_that_of_their_texts() -> None:
    api, text = Api(), "long " * 400
    texts = {f"text-{number}": text for number in range(475)}
    made = [api.charge(reference=f"order-{number}", metadata=texts) for number in range(3)]
    listed = api.send("GET", "/charge", headers={"x-secretkey": api.key})
    assert listed.status == 200
    assert listed.body["charges"] == [
        api.get(f"/charge/{charge['chargeId']}").body for charge in reversed(made)
    ]
    (entry,) = api.get("/__admin/journal?op=charge.search").body["entries"]
    assert entry["answer"].startswith('{"limit":')
    assert len(entry["answer"]) < len(texts) * len(text)
