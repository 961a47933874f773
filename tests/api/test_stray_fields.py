"""Fields in a body or a query where the service reads none: reported, and refused under
``--strict``."""

from typing import Any

import pytest

from tests.driving import Api, problem_of


def lines(api: Api) -> list[str]:
    rows = api.get("/__admin/findings", finding="unknown-field")["findings"]
    return [row["evidence"][0]["line"].partition(": ")[2] for row in rows]


def last(api: Api) -> dict[str, Any]:
    return api.get("/__admin/journal", limit=1)["entries"][-1]


STRAYS = [
    ("DELETE", "/refund/{}", {"refundAmount": 5}, "refundAmount", "in the query: ?amount=5"),
    ("DELETE", "/refund/{}", {"Amount": "2.50"}, "Amount", "in the query: ?amount=2.50"),
    (
        "DELETE",
        "/refund/{}",
        {"amount": 4111111111111111},
        "amount",
        "in the query: ?amount=4111********1111",
    ),
    ("DELETE", "/refund/{}", {"amount": {"ccv": "987"}}, "amount", "in the query: ?amount="),
    ("GET", "/charge", {"reference": "a b"}, "reference", "in the query: ?reference=a%20b"),
    ("POST", "/charge/{}?amount=5", {}, "amount", "in the body"),
    ("POST", "/charge/{}/capture?Amount=5", None, "Amount", "in the body"),
    ("DELETE", "/charge/{}/void", {"amount": 5}, "amount", None),
    ("DELETE", "/refund/{}", "refundAmount=5", "Body", None),
    ("GET", "/charge/{}", {"colour": "red"}, "colour", None),
]


@pytest.mark.parametrize(("method", "path", "body", "name", "place"), STRAYS)
def test_a_field_where_none_is_read(
    method: str, path: str, body: object, name: str, place: str | None
) -> None:
    api, strict = Api(), Api(strict=True)
    for one in (api, strict):
        charge_id = one.charge(capture=False, reference="order-1")["chargeId"]
        if "refund" in path:
            one.post(f"/charge/{charge_id}", {})
        before = one.get(f"/charge/{charge_id}")["status"]
        reply = one.call(method, path.format(charge_id), body)
        assert last(one)["ignored"] == [name]
        assert lines(one) == [f"unknown field {name}" + (f", it belongs {place}" if place else "")]
        if one is strict:
            assert problem_of(reply) == (400, 90)
            shown = " - it belongs " + place if place else ""
            assert reply["details"] == {name[:1].upper() + name[1:]: f"unknown field{shown}"}
            assert one.get(f"/charge/{charge_id}")["status"] == before
        else:
            assert reply.status == 200


@pytest.mark.parametrize("raw", [b"", b" ", b"{}", b"[]", b"null", b'""', b"\r\n"])
@pytest.mark.parametrize("strict", [False, True])
def test_a_body_that_says_nothing_is_no_fault(raw: bytes, strict: bool) -> None:
    api = Api(strict=strict)
    charge_id = api.charge(reference="order-1")["chargeId"]
    for method, path in (
        ("GET", "/charge"),
        ("GET", f"/charge/{charge_id}"),
        ("DELETE", f"/refund/{charge_id}"),
    ):
        assert api.call(method, path, raw=raw).status == 200
        assert last(api)["ignored"] == []
    assert lines(api) == []


@pytest.mark.parametrize(
    "raw", [b"{", b"amount=5", b"\xff\x00", b"[" * 100_000, b'{"a":' * 1_000, b"7"]
)
def test_a_body_that_is_no_json_refuses_nothing(api: Api, raw: bytes) -> None:
    charge_id = api.charge(reference="order-1")["chargeId"]
    assert api.call("DELETE", f"/refund/{charge_id}", raw=raw)["refundedAmount"] == 20
    assert lines(api) == ["unknown field Body"]


def test_a_refund_with_its_amount_where_it_belongs_is_no_fault() -> None:
    api = Api(strict=True)
    charge_id = api.charge(capture=False, reference="order-1")["chargeId"]
    assert api.post(f"/charge/{charge_id}", {"amount": 10}).status == 200
    assert api.delete(f"/refund/{charge_id}?amount=5&comment=late").status == 200
    assert lines(api) == []


def test_of_a_body_of_very_many_fields_the_first_are_reported(api: Api) -> None:
    charge_id = api.charge(reference="order-1")["chargeId"]
    assert (
        api.call(
            "GET", f"/charge/{charge_id}", {f"field{number}": 1 for number in range(30_000)}
        ).status
        == 200
    )
    assert len(lines(api)) == 20
