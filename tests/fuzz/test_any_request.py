"""Any body, query, header and path to every route: never a 5xx, an error always in the one
shape."""

import json
from functools import cache
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mockserver.assumptions import Assumed, Profile
from mockserver.web.openapi import document
from mockserver.web.operations.route import Route
from mockserver.web.routes import ROUTES
from mockserver.wire.fields import Body
from mockserver.wire.schemas import Schemas
from tests.depth import tries
from tests.driving import DUMMY, Api, Reply, problem_of

FUZZ = settings(
    max_examples=tries(6, 100), derandomize=True, suppress_health_check=list(HealthCheck)
)
API = Api(key="sk_fuzz")
CHARGE, AUTHORISED = API.charge()["chargeId"], API.charge(capture=False)["chargeId"]
NAMES = [f"{row.method} {row.path}" for row in ROUTES]

EDGES: list[object] = [
    "", " ", "0", "-0", "-1", "1e99", "1e-99", "NaN", "Infinity", "null", "true", "[]", "{}", "\x00", "\u202e",
    "\ud83d\ude00",
    "A" * 41, "9" * 400, "4111111111111111", "4000000000003220", "2031-13-45", "9999-12-31T23:59:59Z", "0001-01-01",
    "12/40", "../..", "' OR 1=1 --", "<script>", DUMMY, 0, -1, 1, 2**31, 2**63, 10**30, 0.1, 1e308, -1e-308, True,
    False, None, [], {}, [[]], [None], {"": ""}, {"a": {"b": []}},
]  # fmt: skip
VALUES = (
    st.sampled_from(EDGES)
    | st.text(max_size=30)
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
)
ANYTHING = st.recursive(
    VALUES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
)


@cache
def names_of(model: type[Body] | None) -> list[str]:
    """Every field of a model and of the models inside it."""
    if model is None:
        return []
    properties = json.dumps(Schemas([model]).named)
    return sorted({part for part in properties.split('"') if part.isidentifier()})


def bodies(model: type[Body] | None) -> st.SearchStrategy[Any]:
    """Objects that use the right names for the wrong things, two levels deep."""
    names = names_of(model)
    if not names:
        return ANYTHING
    keys = st.sampled_from(names) | st.sampled_from(names).map(str.upper) | st.text(max_size=8)
    inner = st.dictionaries(keys, ANYTHING, max_size=6)
    return st.dictionaries(keys, ANYTHING | inner, max_size=10) | ANYTHING


def sane(reply: Reply) -> None:
    assert reply.status < 500, reply.raw
    assert b"Traceback" not in reply.raw
    if reply.status >= 400:
        problem_of(reply)
    else:
        assert reply.status in (200, 201)
        json.loads(reply.raw)


def path_of(row: Route, value: str) -> str:
    return "/".join(
        quote(value or "x", safe="") if part.startswith("{") else part
        for part in row.path.split("/")
    )


@pytest.mark.parametrize("row", ROUTES, ids=NAMES)
@FUZZ
@given(data=st.data())
def test_any_json_body(row: Route, data: st.DataObject) -> None:
    body = data.draw(bodies(row.body))
    raw = json.dumps(body, ensure_ascii=data.draw(st.booleans())).encode("utf-8", "surrogatepass")
    sane(API.send(row.method, path_of(row, "x"), raw))


@cache
def described() -> dict[str, Any]:
    return document(Assumed(Profile.DOCUMENTED), "http://127.0.0.1:4111")


@pytest.mark.parametrize(
    "row", [row for row in ROUTES if row.body is not None], ids=lambda row: row.path
)
@FUZZ
@given(data=st.data())
def test_a_right_body_with_one_thing_wrong(row: Route, data: st.DataObject) -> None:
    content = described()["paths"][row.path][row.method.lower()]["requestBody"]["content"][
        "application/json"
    ]
    body = json.loads(json.dumps(content["example"]))
    for _ in range(data.draw(st.integers(1, 2))):
        place = body
        name = data.draw(st.sampled_from(names_of(row.body)))
        inner = [key for key, value in body.items() if isinstance(value, dict)]
        if inner and data.draw(st.booleans()):
            place = body[data.draw(st.sampled_from(inner))]
        place[name] = json.loads(json.dumps(data.draw(st.sampled_from(EDGES))))
    target = path_of(row, data.draw(st.sampled_from([CHARGE, AUTHORISED, DUMMY])))
    sane(API.send(row.method, target, json.dumps(body).encode()))


@pytest.mark.parametrize(
    "row", [row for row in ROUTES if row.query is not None], ids=lambda row: row.path
)
@FUZZ
@given(data=st.data())
def test_any_query(row: Route, data: st.DataObject) -> None:
    names = st.sampled_from(names_of(row.query)) | st.text(max_size=8)
    pairs = data.draw(
        st.lists(
            st.tuples(names, st.sampled_from([str(edge) for edge in EDGES]) | st.text()), max_size=6
        )
    )
    query = "&".join(
        f"{quote(name)}={quote(value, errors='surrogatepass')}" for name, value in pairs
    )
    sane(API.send(row.method, f"{path_of(row, 'x')}?{query}"))


@FUZZ
@given(row=st.sampled_from(ROUTES), raw=st.binary(max_size=200), query=st.binary(max_size=40))
def test_any_bytes(row: Route, raw: bytes, query: bytes) -> None:
    sane(
        API.send(
            row.method,
            f"{path_of(row, 'x')}?{query.decode('latin-1').encode('ascii', 'ignore').decode()}",
            raw,
        )
    )


@FUZZ
@given(row=st.sampled_from(ROUTES), value=st.text(min_size=1, max_size=80))
def test_any_id(row: Route, value: str) -> None:
    sane(API.send(row.method, path_of(row, value), b"{}"))


@FUZZ
@given(
    row=st.sampled_from(ROUTES),
    name=st.sampled_from(
        [
            "x-secretkey",
            "x-publickey",
            "providerid",
            "content-type",
            "content-length",
            "host",
            "accept",
        ]
    ),
    value=st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=80),
)
def test_any_header(row: Route, name: str, value: str) -> None:
    sane(API.send(row.method, path_of(row, "x"), b"{}", {name: value}))


@FUZZ
@given(
    method=st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ-", min_size=1, max_size=10),
    path=st.text(max_size=60),
)
def test_any_method_and_path(method: str, path: str) -> None:
    if path.startswith("__") or "__" in path:
        return
    reply = API.send(method, "/" + quote(path, errors="surrogatepass"))
    assert reply.status < 500
