"""Nonsense in every field and parameter of every control call: refused in the one error shape,
never a 5xx."""

import json
import re
from time import process_time
from typing import Any
from urllib.parse import quote

import pytest

from mockserver.web.control.call import ControlRoute
from mockserver.web.control.routes import CONTROL_ROUTES
from tests.driving import Api, Reply, card_charge, names_of

NONSENSE: list[Any] = [
    None,
    True,
    0,
    -1,
    10**17,
    -(10**17),
    9 * 10**17,
    10**30,
    1.5,
    "",
    "x",
    "9999-99-99",
    "99999999999999d",
    "\x00\u2028\U0001f4b3",
    "x" * 5_000,
    [],
    [None],
    [[]],
    {},
    {"": None},
    {"a": {"b": [1, {}]}},
]
BODIES = [
    b"[]",
    b"null",
    b"1",
    b'"x"',
    b"{",
    b"\xff\xfe",
    b"[" * 100_000,
    b'{"a":' * 100 + b"1" + b"}" * 100,
    b"NaN",
]


def sane(reply: Reply, what: object) -> None:
    assert reply.status < 500, (what, reply.raw[:500])
    if reply.status >= 400 and reply.status != 409:
        body = reply.body
        assert {"message", "code", "details", "httpStatus"} <= body.keys(), what
        assert body["httpStatus"] == reply.status


@pytest.mark.parametrize("row", CONTROL_ROUTES, ids=lambda row: f"{row.method} {row.path}")
def test_nonsense_is_refused(row: ControlRoute) -> None:
    # Long texts of scenarios are read beside the loop.
    api = Api(waits=row.path.startswith("/__admin/scenarios"))
    api.try_charge()
    path = re.sub(r"\{\w+\}", "1", row.path)
    if row.method != "GET":
        for raw in BODIES:
            sane(api.call(row.method, path, raw=raw), raw[:50])
        for value in NONSENSE:
            sane(api.call(row.method, path, {"noSuch": value}), value)
            sane(api.call(row.method, path, dict.fromkeys(names_of(row.body), value)), value)
            for name in names_of(row.body):
                sane(api.call(row.method, path, {name: value}), (name, value))
    for name in names_of(row.query):
        for text in ("", "x", "-1", "1e9", "9" * 40, "\x00", "\u0661", "true", "%ff", "a&b=c"):
            sane(api.call(row.method, f"{path}?{name}={quote(text)}"), (name, text))
    for name in ("", "0", "-1", "9" * 40, "%00", "\u0661", "..", "x" * 3_000):
        sane(api.call(row.method, re.sub(r"\{\w+\}", name, row.path)), name)


@pytest.mark.slow
def test_nonsense_inside_a_state_document_is_refused(api: Api) -> None:
    api.try_charge()
    api.call("POST", "/vault", {"cardNumber": "4111111111111111", "expireSeconds": 9})
    document = api.call("GET", "/__admin/state?secrets=true").body

    def put(changed: dict[str, Any], told: object, *calls: tuple[str, str]) -> None:
        reply = api.call("PUT", "/__admin/state", changed)
        sane(reply, told)
        for method, path in calls:
            sane(api.call(method, path), told)
        if reply.status < 400:
            api.call("PUT", "/__admin/state", document)

    for part in document:
        for value in NONSENSE:
            put({**document, part: value}, (part, value))
    asked = (("GET", "/__admin/clock"), ("GET", "/charge"), ("POST", "/charge/card"))
    for part in ("clock", "schedule", "counters", "records"):
        for name in document[part]:
            for value in NONSENSE:
                put(
                    {**document, part: {**document[part], name: value}}, (part, name, value), *asked
                )
    for place in range(5):
        for value in NONSENSE:
            entry = [*document["schedule"]["entries"][0]]
            entry[place] = value
            put(
                {**document, "schedule": {**document["schedule"], "entries": [entry]}},
                (place, value),
                asked[1],
            )
    row = document["tables"]["charges"][0]
    for name in row:
        for value in NONSENSE:
            tables = {**document["tables"], "charges": [{**row, name: value}]}
            put({**document, "tables": tables}, (name, value), asked[1])


@pytest.mark.parametrize(
    ("method", "target", "words"),
    [
        (
            "POST",
            "/__admin/reset?scenarios=true",
            "did you mean 'scenario'?, allowed: all, scenario, undo",
        ),
        ("DELETE", "/__admin/scenarios?nam=x", "did you mean 'name'?, allowed: name"),
        ("GET", "/__admin/state?secret=true", "did you mean 'secrets'?, allowed: secrets"),
        ("GET", "/__admin/clock?x=1", "unknown parameter, allowed: none"),
    ],
)
def test_a_misspelt_parameter_is_refused_and_nothing_is_done(
    api: Api, method: str, target: str, words: str
) -> None:
    api.try_charge()
    reply = api.call(method, target)
    assert reply.status == 400
    [told] = reply.body["details"].values()
    assert told.startswith("unknown parameter")
    assert told.endswith(words)
    assert api.call("GET", "/charge").body["count"] == 1


@pytest.mark.parametrize("length", [0, 70_000])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/__admin/reset"),
        ("DELETE", "/__admin/scenarios"),
        ("POST", "/__admin/findings/finish"),
    ],
)
def test_a_body_is_refused_where_none_is_read(
    api: Api, method: str, path: str, length: int
) -> None:
    api.try_charge()
    reply = api.call(method, path, raw=b'{"all": true}' + b" " * length)
    assert (reply.status, reply.body["details"]) == (400, {"All": "unknown field, allowed: none"})
    assert api.call(method, path, raw=b"[]").body["details"] == {"Body": "wanted a JSON object"}
    assert api.call(method, path, raw=b"{").status == 400
    assert api.call("GET", "/charge").body["count"] == 1
    assert api.call(method, path, raw=b" {} " + b" " * length).status == 200


@pytest.mark.parametrize("length", [0, 70_000])
@pytest.mark.parametrize(
    ("method", "path", "raw", "key"),
    [
        (
            "PUT",
            "/__admin/state",
            b'{"format": "a", "tables": {"charges": [], "charges": []}}',
            "charges",
        ),
        (
            "PUT",
            "/__admin/assumptions",
            b'{"vault.ccv_delay": "10m", "vault.ccv_delay": "20m"}',
            "vault.ccv_delay",
        ),
        ("POST", "/__admin/marks", b'{"name": "one", "name": "two"}', "name"),
        ("PUT", "/__admin/scenarios", b'{"version": 1, "name": "one", "name": "two"}', "name"),
    ],
)
def test_a_key_that_comes_twice_is_refused_and_named(
    api: Api, method: str, path: str, raw: bytes, key: str, length: int
) -> None:
    before = api.call("GET", "/__admin/state").raw
    reply = api.call(method, path, raw=raw + b" " * length, waits=True)
    assert (reply.status, reply.body["code"]) == (400, 90)
    [told] = reply.body["details"].values()
    assert told.startswith(f"got the key '{key}' twice")
    assert api.call("GET", "/__admin/state").raw == before


def test_of_a_key_that_a_payment_has_twice_the_last_counts(api: Api) -> None:
    body = json.dumps(card_charge(amount=1)).encode()
    assert api.call("POST", "/charge/card", raw=body[:-1] + b', "amount": 2}').body["amount"] == 2


def test_a_check_of_health_may_carry_anything(api: Api) -> None:
    assert api.call("GET", "/healthz?x=1").status == 200


@pytest.mark.parametrize(("method", "path"), [("POST", "/__admin/verify"), ("POST", "/vault")])
def test_of_very_many_unknown_fields_some_are_named(method: str, path: str) -> None:
    body = {f"unknown{number}": 1 for number in range(20_000 if "admin" in path else 1_900)}
    before = process_time()
    reply = Api(strict=True, waits=True).call(method, path, body)
    assert process_time() - before < 2
    assert reply.status == 400
    assert 100 <= len(reply["details"]) <= 110
