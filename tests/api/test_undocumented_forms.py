"""What is sent in a form that the service's document does not show: taken with a finding, or
refused, as the assumptions and ``--strict`` say."""

import gzip
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.driving import DUMMY, VISA, Api, Reply, card, card_charge, problem_of

BODY = json.dumps(card_charge(reference="order-5")).encode()


def undocumented(api: Api) -> dict[str, str]:
    """The fields that findings name, each with what is said of it."""
    rows = api.get("/__admin/findings", finding="undocumented-form")["findings"]
    return {row["about"]["field"]: row["evidence"][0]["line"] for row in rows}


def pay(api: Api, content_type: str | None, raw: bytes = BODY, **headers: str) -> Reply:
    sent = headers if content_type is None else {"content-type": content_type, **headers}
    return api.send("POST", "/charge/card", raw, sent)


# The type of a body

JSON_TYPES = (
    "application/json",
    "application/json; charset=utf-8",
    "Application/JSON;charset=UTF-8",
    "application/json-patch+json",
    "application/vnd.api+json; version=1",
    "text/json",
    "",
    None,
)
OTHER_TYPES = (
    "application/x-www-form-urlencoded",
    "text/plain;charset=UTF-8",
    "application/xml",
    "multipart/form-data; boundary=x",
    "json",
)
IGNORED = {"request.content_type": "ignored"}


@pytest.mark.parametrize("content_type", JSON_TYPES)
def test_every_name_of_json_and_none_is_taken(content_type: str | None) -> None:
    api = Api(strict=True)
    assert pay(api, content_type).status == 201
    assert undocumented(api) == {}


@pytest.mark.parametrize("content_type", OTHER_TYPES)
def test_a_body_of_another_type_is_refused_and_nothing_happens(content_type: str) -> None:
    for refusing in (Api(), Api(strict=True, assumptions=IGNORED)):
        refused = pay(refusing, content_type)
        assert problem_of(refused) == (415, 90)
        assert refused["message"] == "Unsupported Media Type"
        assert refused["details"] == {
            "ContentType": f"got '{content_type}', wanted application/json"
        }
        assert refusing.get("/charge")["count"] == 0
        assert undocumented(refusing) == {}
        [entry] = refusing.get("/__admin/journal", status=415)["entries"]
        assert entry["op"] == "charge.create"
        assert "request.content_type" in json.dumps(entry["assumptions"])


@pytest.mark.parametrize("content_type", OTHER_TYPES)
def test_a_body_of_another_type_may_be_taken_with_a_finding(content_type: str) -> None:
    api = Api(assumptions=IGNORED)
    assert pay(api, content_type).status == 201
    assert "wanted application/json" in undocumented(api)["ContentType"]


def test_the_profile_of_the_libraries_ignores_the_type() -> None:
    api = Api(profile="sdk", assumptions={"provider.latency": "0"})
    assert pay(api, "text/plain").status == 200
    assert [*undocumented(api)] == ["ContentType"]


def test_a_form_is_named_as_what_it_is_and_not_as_wrong_json(api: Api) -> None:
    refused = pay(api, "application/x-www-form-urlencoded", b"amount=20&providerId=x")
    assert (problem_of(refused), list(refused["details"])) == ((415, 90), ["ContentType"])


@pytest.mark.parametrize("raw", [b"", b"  \n"])
def test_a_type_without_a_body_says_nothing(raw: bytes) -> None:
    api = Api(strict=True)
    hold = api.charge(capture=False)["chargeId"]
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert api.send("POST", f"/charge/{hold}/capture", raw, form).status == 200
    assert api.send("GET", "/charge", b"", form).status == 200
    assert undocumented(api) == {}


# Its coding


@pytest.mark.parametrize("profile", ["documented", "sdk"])
@pytest.mark.parametrize("coding", ["gzip", "br", "identity, gzip", "GZIP"])
def test_a_coded_body_is_refused_by_its_coding(profile: str, coding: str) -> None:
    api = Api(profile=profile)
    refused = pay(api, "application/json", gzip.compress(BODY), **{"content-encoding": coding})
    assert problem_of(refused) == (415, 90)
    assert refused["details"] == {
        "ContentEncoding": f"got '{coding}', wanted a body that is not encoded"
    }
    assert api.get("/charge")["count"] == 0


@pytest.mark.parametrize("coding", ["identity", "", "Identity"])
def test_identity_is_no_coding(api: Api, coding: str) -> None:
    assert pay(api, "application/json", **{"content-encoding": coding}).status == 201


def test_a_control_call_names_the_coding_too(api: Api) -> None:
    body = gzip.compress(b'{"by": "1h"}')
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    refused = api.send("POST", "/__admin/clock/advance", body, headers)
    assert (problem_of(refused), list(refused["details"])) == ((415, 90), ["ContentEncoding"])
    plain = {**headers, "content-encoding": "identity"}
    assert api.send("POST", "/__admin/clock/advance", b'{"by": "1h"}', plain).status == 200


# Slashes of a path


@pytest.mark.parametrize("path", ["//charge/card", "/charge//card", "///charge///card/"])
def test_doubled_slashes_are_merged_with_a_finding_or_refused(path: str) -> None:
    api = Api()
    assert api.post(path, card_charge(reference="order-5")).status == 201
    assert "wanted /charge/card" in undocumented(api)["Path"]
    for refusing in (Api(assumptions={"request.doubled_slashes": "refused"}), Api(strict=True)):
        refused = refusing.post(path, card_charge(reference="order-5"))
        assert (refused.status, refused["message"]) == (404, "Not Found")
        assert refused["details"] == {"Path": "got doubled slashes, wanted /charge/card"}
        assert refusing.get("/charge")["count"] == 0


def test_doubled_slashes_are_no_path_in_the_profile_of_the_libraries_either() -> None:
    refusing = Api(profile="sdk", assumptions={"request.doubled_slashes": "refused"})
    assert refusing.get("//charge").status == 404


def test_a_slash_at_the_end_is_that_of_a_published_library() -> None:
    api = Api(strict=True, assumptions={"request.doubled_slashes": "refused"})
    assert api.post("/charge/card/", card_charge(reference="order-5")).status == 201
    assert api.get("/charge/")["count"] == 1
    assert undocumented(api) == {}


# Cards


def charge_with(**fields: str) -> Callable[[Api], Reply]:
    return lambda api: api.try_charge(reference="order-5", paymentInformation={**card(), **fields})


def store_with(**fields: str) -> Callable[[Api], Reply]:
    body = {"providerId": DUMMY, "paymentInformation": {**card(), **fields}}
    return lambda api: api.post("/payment_method/card", body)


def update_with(**fields: str) -> Callable[[Api], Reply]:
    return lambda api: api.put(f"/payment_method/{api.method()}", {"card": fields})


def vault_with(**fields: str) -> Callable[[Api], Reply]:
    return lambda api: api.post("/vault", {"expireSeconds": 60, **fields})


REFUSED_EXPIRY: Mapping[str, Any] = {"assumptions": {"card.expiry_form": "mm_yy"}}
REFUSED_NUMBER: Mapping[str, Any] = {"assumptions": {"card.number_parts": "refused"}}
STRICT: Mapping[str, Any] = {"strict": True}


@pytest.mark.parametrize("expiry", ["1/40", "01/2040", "1/2040", "01 / 40", " 01/40"])
@pytest.mark.parametrize("act_with", [charge_with, store_with, update_with])
def test_another_form_of_an_expiry_date(
    act_with: Callable[..., Callable[[Api], Reply]], expiry: str
) -> None:
    act, api = act_with(expiryDate=expiry), Api()
    assert act(api).status in (200, 201)
    assert "wanted MM/YY" in undocumented(api)["ExpiryDate"]
    for settings in (REFUSED_EXPIRY, STRICT):
        refusing = Api(**settings)
        assert problem_of(act(refusing)) == (400, 9)
        assert undocumented(refusing) == {}
        assert act_with(expiryDate="01/40")(refusing).status in (200, 201)


@pytest.mark.parametrize(
    "number", ["4111 1111 1111 1111", "4111-1111-1111-1111", "4111111111111111 "]
)
@pytest.mark.parametrize("act_with", [charge_with, store_with, update_with, vault_with])
def test_a_card_number_that_is_written_in_groups(
    act_with: Callable[..., Callable[[Api], Reply]], number: str
) -> None:
    act, api = act_with(cardNumber=number), Api()
    assert act(api).status in (200, 201)
    assert "wanted digits alone" in undocumented(api)["CardNumber"]
    assert VISA not in json.dumps(undocumented(api))
    for settings in (REFUSED_NUMBER, STRICT):
        refusing = Api(**settings)
        assert problem_of(act(refusing)) == (400, 5)
        assert undocumented(refusing) == {}
        assert act_with(cardNumber=VISA)(refusing).status in (200, 201)


def test_a_card_that_has_paid_before_is_judged_all_the_same() -> None:
    api = Api()
    for expected in ({}, {"ExpiryDate"}):
        expiry = "1/2040" if expected else "01/40"
        for _ in range(2):
            assert charge_with(expiryDate=expiry)(api).status == 201
        assert undocumented(api).keys() == set(expected)


def test_a_search_by_a_number_in_groups() -> None:
    grouped = "4111 1111 1111 1111"
    api = Api()
    api.charge(reference="order-5")
    assert api.get("/charge", CardNumber=grouped)["count"] == 1
    assert [*undocumented(api)] == ["CardNumber"]
    refused = Api(strict=True).get("/charge", CardNumber=grouped)
    assert (problem_of(refused), list(refused["details"])) == ((400, 90), ["CardNumber"])


@pytest.mark.parametrize("number", ["4111111111111111", "5555-5555-5555-4444"])
def test_a_card_number_in_a_path_with_doubled_slashes_is_masked_in_the_finding(number: str) -> None:
    api = Api()
    assert api.get(f"//charge/{number}").status == 404
    shown = (api.get("/__admin/findings").raw + api.get("/__admin/report").raw).decode()
    assert "doubled slashes" in shown
    assert number not in shown
