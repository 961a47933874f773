"""Any change of a few places of an exported state: refused, or a sandbox that works. Never a 5xx,
now or later."""

import copy
import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mockserver.engine.step import KINDS
from mockserver.web.routes import ROUTES
from tests.control.test_state_sense import rich
from tests.depth import tries
from tests.driving import CARD, DUMMY, Api, Reply

Path = tuple[str | int, ...]

API, DOCUMENT = rich()
LISTS = [row.path for row in ROUTES if row.method == "GET" and "{" not in row.path]
READS = [row.path for row in ROUTES if row.method == "GET" and row.path.count("{") == 1]
TEXTS = [
    "",
    "x",
    "-1",
    "0",
    "0.001",
    "1e30",
    "9" * 26,
    "NaN",
    "removed",
    "FAILED",
    "SUCCESS",
    "REFUND",
    "AUTHORISE",
]
ALIEN = [
    "\ud800",
    "\x00",
    "x" * 20_000,
    10**40,
    -(10**40),
    1.5,
    1e308,
    True,
    None,
    [],
    {},
    [[]],
    {"a": {}},
    "1e400",
    "٣",
]
NUMBERS = [-1, 0, 1, 10**12, 253_402_300_799_000_000, -62_135_596_800_000_000]


def places(found: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every place below the top of a document, with what stands there."""
    if path:
        yield path, found
    items = (
        found.items()
        if isinstance(found, dict)
        else enumerate(found)
        if isinstance(found, list)
        else ()
    )
    for name, item in items:
        yield from places(item, (*path, name))


def shape(path: Path) -> Path:
    return tuple("*" if isinstance(part, int) else part for part in path)


PLACES: dict[Path, list[tuple[Path, Any]]] = {}
for _path, _value in places(DOCUMENT):
    PLACES.setdefault(shape(_path), []).append((_path, _value))


@st.composite
def changed(draw: st.DrawFn, most: int = 1) -> dict[str, Any]:
    """The document with places dropped, doubled, or holding something else, mostly of the same
    type."""
    document = copy.deepcopy(DOCUMENT)
    for _ in range(draw(st.integers(1, most))):
        path, value = draw(st.sampled_from(PLACES[draw(st.sampled_from(sorted(PLACES, key=str)))]))
        above: Any = document
        # What an earlier change took away is changed no more.
        with suppress(LookupError, TypeError):
            for part in path[:-1]:
                above = above[part]
            match draw(
                st.sampled_from(["drop", "double", "alien", "replace", "replace", "replace"])
            ):
                case "drop":
                    del above[path[-1]]
                case "double" if isinstance(above, list):
                    above.append(copy.deepcopy(value))
                case "alien":
                    above[path[-1]] = copy.deepcopy(draw(st.sampled_from(ALIEN)))
                case _:
                    above[path[-1]] = draw(_another(path, value))
    return document


def _another(path: Path, value: Any) -> st.SearchStrategy[Any]:
    others = [other for _, other in PLACES[shape(path)] if type(other) is type(value)]
    match value:
        case bool():
            return st.just(not value)
        case int():
            return st.sampled_from([*NUMBERS, value + 1, value - 1, *others])
        case str():
            return st.sampled_from([*TEXTS, *others])
        case _:
            return st.sampled_from([None, type(value)() if value is not None else {}, *others])


def ids(table: str, name: str) -> list[str]:
    return [row[name] for row in DOCUMENT["tables"][table]]


class Walk:
    """Everything a caller may do next; ``told`` are the answers."""

    def __init__(self, api: Api) -> None:
        self.api = api

    def call(self, method: str, target: str, body: object = None) -> Reply:
        reply = self.api.call(method, target, body)
        assert reply.status < 500, (method, target, reply.raw)
        return reply

    def read(self) -> None:
        for path in LISTS:
            self.call("GET", path)
        for path in READS:
            name = path.partition("{")[2].partition("}")[0]
            for table, rows in DOCUMENT["tables"].items():
                for row in rows[:3]:
                    found = row.get("token_id" if (name, table) == ("token", "tokens") else name)
                    if found:
                        self.call("GET", path.replace(f"{{{name}}}", found))
        for kind in KINDS:
            self.call("GET", f"/__admin/objects?kind={kind}")
        for link in ids("payment_links", "payment_link_id"):
            self.call("GET", f"/pay/{link}")
        exported = self.call("GET", "/__admin/state?secrets=true")
        assert self.call("PUT", "/__admin/state", exported.body).status == 200
        assert self.call("GET", "/__admin/state?secrets=true").raw == exported.raw

    def act(self) -> None:
        for charge in ids("charges", "charge_id")[:4]:
            self.call("POST", f"/charge/{charge}", {"amount": 1})
            self.call("DELETE", f"/refund/{charge}?amount=0.5")
        for method in ids("payment_methods", "payment_method_id"):
            self.call("POST", "/charge/payment_method", {"amount": 7, "paymentMethodId": method})
        for customer in ids("customers", "customer_id"):
            self.call("POST", "/charge/customer", {"amount": 7, "customerId": customer})
        for token in ids("tokens", "token_id"):
            self.call("POST", "/charge/token", {"amount": 7, "token": token})
        self.call(
            "POST", "/charge/card", {"amount": 3, "providerId": DUMMY, "paymentInformation": CARD}
        )
        self.call("POST", "/__admin/fork", {"to": "sk_copy"})
        for by in ("1ms", "1h", "3d", "400d"):
            self.call("POST", "/__admin/clock/advance", {"by": by})


def test_the_document_itself_is_taken_and_works() -> None:
    assert API.call("PUT", "/__admin/state", DOCUMENT).status == 200
    Walk(API).read()
    Walk(API).act()
    Walk(API).read()


@pytest.mark.slow
@settings(max_examples=tries(25, 400), derandomize=True, suppress_health_check=list(HealthCheck))
@given(changed())
def test_one_changed_place_is_refused_or_does_no_harm(document: dict[str, Any]) -> None:
    taken_or_refused(document)


@pytest.mark.slow
@settings(max_examples=tries(25, 400), derandomize=True, suppress_health_check=list(HealthCheck))
@given(changed(most=4))
def test_a_few_changed_places_are_refused_or_do_no_harm(document: dict[str, Any]) -> None:
    taken_or_refused(document)


def taken_or_refused(document: dict[str, Any]) -> None:
    reply = API.call("PUT", "/__admin/state", raw=json.dumps(document).encode())
    assert reply.status in (200, 400), reply.raw
    if reply.status == 200:
        walk = Walk(API)
        walk.read()
        walk.act()
        walk.read()
    else:
        assert reply.body["details"]
