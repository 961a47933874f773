"""Everything that cannot be served: one JSON shape, the right status, never a traceback (published
facts, 4)."""

import json

import pytest

from mockserver.web.routes import ROUTES
from tests.driving import DUMMY, VISA, Api, Reply, card_charge, problem_of
from tests.rows import at_row


@pytest.fixture(scope="module")
def api() -> Api:
    return Api()


def path_of(template: str) -> str:
    return "/".join("x" if part.startswith("{") else part for part in template.split("/"))


def test_a_path_that_is_none_is_404(api: Api) -> None:
    for path in ("*", "", "charge"):
        assert problem_of(api.call("OPTIONS", path))[0] == 404


PATHS = sorted({row.path for row in ROUTES})
WITH_A_BODY = sorted({(row.method, row.path) for row in ROUTES if row.body is not None})


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/nothing",
        "/charges",
        "/charge/a/b/c",
        "/vault/a/b",
        "/%2e%2e/etc",
        "/charge/x/capture/y",
    ],
)
def test_an_unknown_path_is_404_in_json(api: Api, path: str) -> None:
    assert problem_of(api.call("GET", path))[0] == 404


def test_a_path_takes_its_verbs_alone_and_any_number_of_slashes(api: Api) -> None:
    for template in PATHS:
        with at_row(template):
            allowed = {row.method for row in ROUTES if path_of(row.path) == path_of(template)}
            for method in {
                "GET",
                "POST",
                "PUT",
                "DELETE",
                "PATCH",
                "OPTIONS",
                "TRACE",
                "QUERY",
            } - allowed:
                refused = api.call(method, path_of(template))
                if refused.status == 404 or method == "OPTIONS":
                    continue
                assert problem_of(refused)[0] == 405, (method, template)
                assert allowed <= set(refused.headers["allow"].split(", "))
                assert method not in refused.headers["allow"].split(", ")
            method = next(row.method for row in ROUTES if row.path == template)
            path = path_of(template)
            plain = api.call(method, path)
            for other in (path + "/", path.replace("/", "//")):
                assert api.call(method, other).status == plain.status


@pytest.mark.parametrize(
    ("key", "why"),
    [
        (None, "required"),
        ("", "required"),
        ("invalid_key", "invalid"),
        ("pk_demo", "this is a public key"),
        ("sk_live_123", "live"),
        ("live_123", "live"),
        ("sk_prod_1", "live"),
        *(
            (key, "live")
            for key in ("sk-live-abc", "sk_live-au", "au-live-1", "sk.Live.1", "sk_au_live", "LIVE")
        ),
        *(
            (key, "live")
            for key in ("live1234", "liveKey", "sk live", "sk_live_test", "sk_production_1")
        ),
        ("k" * 257, "got a key of 257 characters, wanted at most 256"),
    ],
)
def test_a_refused_key_is_401_code_40(api: Api, key: str | None, why: str) -> None:
    headers = {} if key is None else {"x-secretkey": key}
    stranger = Api(key=None)
    for row in ROUTES:
        refused = stranger.call(row.method, path_of(row.path), {}, headers=headers)
        assert problem_of(refused) == (401, 40)
        assert why in " ".join(refused["details"].values())


@pytest.mark.parametrize(
    "key",
    [
        *(
            "sk_test_olive",
            "sk_test_oliver",
            "liverpool",
            "sk-delivery-1",
            "alive_1",
            "product-tests",
            "sk_demo-au",
        ),
        *(
            "sk_reproduction",
            "Lively",
            "sk_test_live_updates",
            "sandbox-prod",
            "sk_demo_live",
            "sk_non-prod-1",
        ),
        *("sk_uat_prod", "sk_pk_demo", "Pk"),
    ],
)
def test_a_word_that_only_holds_that_of_live_or_public_keys_is_neither(key: str) -> None:
    assert Api(key=None).call("GET", "/charge", headers={"x-secretkey": key}).status == 200


def test_a_closed_list_of_keys_knows_no_other() -> None:
    api = Api(keys=("sk_one", "sk_two"))
    assert api.call("GET", "/charge", headers={"x-secretkey": "sk_one"}).status == 200
    assert problem_of(api.call("GET", "/charge", headers={"x-secretkey": "sk_three"})) == (401, 40)


MALFORMED: dict[str, bytes] = {
    "not json": b"{",
    "text": b"hello",
    "a list": b"[1]",
    "a string": b'"x"',
    "a number": b"5",
    "null": b"null",
    "nan": b'{"amount": NaN}',
    "infinity": b'{"amount": -Infinity}',
    "not utf-8": b'{"reference": "\xff\xfe"}',
    "utf-16": '{"amount": 1}'.encode("utf-16"),
    "half a surrogate": b'{"reference": "\\ud800"}',
    "control character": b'{"reference": "a\x00b"}',
    "trailing comma": b'{"amount": 1,}',
    "single quotes": b"{'amount': 1}",
    "comment": b'{"amount": 1} // paid',
    "two values": b"{}{}",
    "deep list": b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep object": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "huge number": b'{"amount": ' + b"9" * 100_000 + b"}",
    "huge exponent": b'{"amount": 1e999999999}',
    "form": b"amount=1&currency=AUD",
    "xml": b"<amount>1</amount>",
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_body_that_is_no_json_object_is_400_whatever_the_operation(api: Api, name: str) -> None:
    for method, template in WITH_A_BODY:
        refused = api.send(
            method, path_of(template), MALFORMED[name], {"content-type": "application/json"}
        )
        assert problem_of(refused) == (400, 90), (method, template)
        assert list(refused["details"]) == ["Body"]
        assert b"Traceback" not in refused.raw


def test_a_fault_is_reported_with_its_place(api: Api) -> None:
    refused = api.send("POST", "/vault", b'{"a": 1,\n "b": }')
    assert "line 2, column 7" in refused["details"]["Body"]


def test_a_byte_order_mark_and_no_content_type_are_taken(api: Api) -> None:
    body = b"\xef\xbb\xbf" + json.dumps({"cardNumber": VISA}).encode()
    assert api.send("POST", "/vault", body).status == 201


@pytest.mark.parametrize(
    ("method", "path", "limit"),
    [
        ("POST", "/charge/card", 1_000_000),
        ("POST", "/vault", 1_000_000),
        ("POST", "/payment_link", 2_000_000),
        ("POST", "/batch/transaction/payment_method", 10_000_000),
        ("POST", "/__admin/verify", 1_000_000),
        ("POST", "/__admin/scenarios", 2_000_000),
        ("PUT", "/__admin/state", 500_000_000),
    ],
)
def test_each_kind_of_body_has_its_limit(api: Api, method: str, path: str, limit: int) -> None:
    # Its head says how long it is: what is too long need not be sent.
    refused = api.send(
        method, path, b"", {"content-length": f"{limit + 1}", "content-type": "application/json"}
    )
    assert problem_of(refused) == (413, 90)
    assert refused["details"]["Body"] == f"got {limit + 1}, wanted at most {limit} bytes"


@pytest.mark.parametrize(
    ("path", "limit"),
    [
        ("/charge/card", 1_000_000),
        ("/payment_link", 2_000_000),
        ("/batch/transaction/payment_method", 10_000_000),
    ],
)
def test_a_body_of_just_its_limit_is_read(api: Api, path: str, limit: int) -> None:
    body = b'{"somethingUnknown": "'
    whole = body + b"x" * (limit - len(body) - 2) + b'"}'
    assert api.send("POST", path, whole).status in (201, 400)
    assert problem_of(api.send("POST", path, whole + b" ")) == (413, 90)


def test_a_greater_setting_raises_every_limit() -> None:
    api = Api(max_body=11_000_000)
    body = b'{"somethingUnknown": "' + b"x" * 10_500_000 + b'"}'
    for path in ("/charge/card", "/payment_link", "/batch/transaction/payment_method"):
        assert api.send("POST", path, body).status in (201, 400)


def test_the_limit_of_a_body_is_a_setting() -> None:
    api = Api(max_body=10_000)
    # What comes in chunks is not counted to its end.
    for headers, got in (({}, "more"), ({"content-length": "10001"}, "10001")):
        refused = api.send("POST", "/vault", b" " * 10_001, headers)
        assert problem_of(refused) == (413, 90)
        assert list(refused["details"].values()) == [f"got {got}, wanted at most 10000 bytes"]
    assert problem_of(api.send("POST", "/vault", b" " * 10_000)) == (400, 90)


def test_unknown_fields_are_ignored(api: Api) -> None:
    reply = api.post("/charge/card", {**card_charge(), "colour": "red", "order": {"nothing": 1}})
    assert reply.status == 201
    assert api.get("/charge", colour="red").status == 200


def test_under_strict_unknown_fields_are_refused_with_the_nearest_known_name() -> None:
    api = Api(strict=True)
    refused = api.post("/charge/card", {**card_charge(), "refrence": "x", "order": {"nothing": 1}})
    assert problem_of(refused) == (400, 90)
    assert set(refused["details"]) == {"Refrence", "Order.Nothing"}
    assert "did you mean 'reference'" in refused["details"]["Refrence"]
    assert problem_of(api.get("/charge", colour="red")) == (400, 90)
    assert problem_of(api.get("/charge/x", colour="red")) == (400, 90)
    assert problem_of(api.delete("/charge/x/void", amount=1)) == (400, 90)
    assert api.post("/charge/card", card_charge()).status == 201


def test_under_strict_the_nearest_name_is_one_of_the_same_object() -> None:
    card = {**card_charge()["paymentInformation"], "cardholdr": "x"}
    body = card_charge(paymentInformation=card, order={"items": [{"quantty": 1}]})
    details = Api(strict=True).post("/charge/card", body)["details"]
    assert details["PaymentInformation.Cardholdr"] == "unknown field - did you mean 'cardholder'?"
    assert details["Order.Items.0.Quantty"] == "unknown field - did you mean 'quantity'?"


def test_under_strict_unknown_fields_are_reported_with_every_other_fault_of_form() -> None:
    refused = Api(strict=True).post("/charge/card", {"colour": "red", "reference": "r" * 41})
    assert set(refused["details"]) == {"Colour", "Reference", "Amount", "ProviderId"}


def test_a_field_given_twice_in_different_letter_case_is_refused(api: Api) -> None:
    refused = api.post("/charge/card", {**card_charge(), "Amount": 5})
    assert problem_of(refused) == (400, 90)
    assert list(refused["details"]) == ["Amount"]


@pytest.mark.parametrize("value", [VISA, "4111 1111 1111 1111", "4111-1111-1111-1111"])
def test_a_card_number_in_the_wrong_place_does_not_come_back(api: Api, value: str) -> None:
    tries: list[Reply] = [
        api.get(f"/charge/{value.replace(' ', '%20')}"),
        api.get("/charge", Status=value, SortBy=value, AddedAfter=value, limit=value),
        api.post(
            "/charge/card",
            card_charge(providerId=value, currency=value, initiator=value, amount=value),
        ),
        api.post("/charge/payment_method", {"amount": 1, "paymentMethodId": value}),
        api.post("/vault", {"cardNumber": "1", "expireDate": value}),
        api.post(
            "/provider",
            {"type": value, "name": "x", "environment": value, "fallbackProviderId": value},
        ),
        api.post("/vault", {value: value}),
        api.call("GET", f"/{value.replace(' ', '%20')}"),
    ]
    for reply in tries:
        assert reply.status >= 400
        assert value not in reply.raw.decode()
        assert VISA not in reply.raw.decode()


def test_the_resource_is_the_path_of_the_request(api: Api) -> None:
    assert api.get("/charge/nothing")["resource"] == "/charge/nothing"
    assert api.post("/vault", {})["resource"] == "/vault"


def test_the_status_of_an_unknown_id_is_an_assumption() -> None:
    api = Api(assumptions={"error.not_found": 400})
    assert problem_of(api.get("/vault/x")) == (400, 62)
    assert problem_of(api.call("GET", "/nothing")) == (404, 1)


def test_an_empty_body_is_an_empty_object(api: Api) -> None:
    for raw in (b"", b"  ", b"{}", b"[]"):
        refused = api.send("POST", "/charge/bank_account", raw)
        assert set(refused["details"]) == {"Amount", "ProviderId", "BankPaymentInformation"}


def test_an_id_encoded_twice_is_found(api: Api) -> None:
    made = api.post("/provider", {"type": "dummy", "name": "x"})["providerId"]
    assert api.put(f"/provider/{made.replace('-', '%2D')}", {}).status == 200
    assert api.call("PUT", f"/provider/{DUMMY}", {}).status == 200
