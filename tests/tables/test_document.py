"""The service document, table by table, walked over HTTP: operations, fields, limits, enumerations,
states."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from mockserver.domain.states import CHARGE_STATE_BY_WORD, TABLES
from mockserver.web.routes import ROUTES
from tests.driving import Api, Reply, problem_of

HERE = Path(__file__).parent


def read(name: str) -> Any:
    return yaml.safe_load((HERE / name).read_text("utf-8"))


OBJECTS: dict[str, Any] = read("objects.yaml")
OPERATIONS: dict[str, dict[str, Any]] = {
    row["name"]: row for row in read("operations.yaml")["operations"]
}
LIMITS: dict[str, Any] = read("limits.yaml")
SERVED = {(row.method, re.sub(r"\{\w+\}", "{}", row.path)) for row in ROUTES}
IDS = {
    "vault": "vaultId",
    "card charge": "chargeId",
    "authorised charge": "chargeId",
    "customer": "customerId",
    "method": "paymentMethodId",
    "link": "paymentLinkId",
    "batch": "batchId",
}
"""Where the answer of an operation holds the id that others use."""


def route_of(operation: Mapping[str, Any]) -> tuple[str, str]:
    return operation["method"], re.sub(r"\{[^}]+\}", "{}", operation["path"])


def is_served(name: str) -> bool:
    return route_of(OPERATIONS[name]) in SERVED


class Book:
    """One sandbox, in which what an operation needs is made when it is first asked for."""

    def __init__(self, **settings: Any) -> None:
        self.api = Api(**settings)
        self.made: dict[str, str] = {}

    def perform(self, name: str, change: Mapping[str, object] | None = None) -> Reply:
        """The answer to an operation, its documented body or query with some values put in their
        place."""
        row = OPERATIONS[name]
        body, query = row.get("body"), row.get("query")
        if change is not None and body is not None:
            body = {**body, **change}
        elif change is not None:
            query = {**(query or {}), **change}
        headers = {"x-publickey": self.public_key()} if row.get("key") == "public" else None
        return self.api.call(
            row["method"],
            self.filled(row["path"]),
            self.filled(body),
            query=self.filled(query),
            headers=headers,
        )

    def filled(self, value: Any) -> Any:
        """The value with each ``{name}`` made and put in."""
        match value:
            case str():
                return re.sub(r"\{([a-z ]+)\}", lambda found: self.id_of(found[1]), value)
            case dict():
                return {key: self.filled(item) for key, item in value.items()}
            case list():
                return [self.filled(item) for item in value]
            case _:
                return value

    def id_of(self, name: str) -> str:
        if name not in self.made:
            match name:
                case "token":
                    body = {
                        "paymentInformation": OPERATIONS["card charge"]["body"][
                            "paymentInformation"
                        ]
                    }
                    provider = OPERATIONS["card charge"]["body"]["providerId"]
                    reply = self.api.call(
                        "POST", "/token/card", body, headers={"ProviderId": provider}
                    )
                    self.made[name] = taken(reply)["tokenId"]
                case "network token":
                    self.made[name] = taken(self.perform("method with network token"))[
                        "networkTokenId"
                    ]
                case _:
                    self.made[name] = taken(self.perform(name))[IDS[name]]
        return self.made[name]

    def public_key(self) -> str:
        return self.api.get("/__admin/sandbox")["publicKey"]


def taken(reply: Reply) -> dict[str, Any]:
    assert reply.status in (200, 201), reply.raw
    return reply.body


def check(value: object, kind: Any, place: str) -> None:
    """Every documented field is there, and is null or of its type."""
    if value is None:
        return
    match kind:
        case [inner]:
            assert isinstance(value, list), place
            for number, item in enumerate(value):
                check(item, inner, f"{place}[{number}]")
        case "text":
            assert isinstance(value, str), place
        case "moment":
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z", str(value)), place
        case "number":
            assert isinstance(value, int | float), place
            assert not isinstance(value, bool), place
        case "whole":
            assert type(value) is int, place
        case "flag":
            assert isinstance(value, bool), place
        case "map":
            assert isinstance(value, dict), place
        case str():
            check(value, OBJECTS[kind], f"{place}({kind})")
        case dict():
            assert isinstance(value, dict), place
            assert not set(kind) - set(value), place
            for name, inner in kind.items():
                check(value[name], inner, f"{place}.{name}")


@pytest.mark.parametrize("name", [name for name in OPERATIONS if is_served(name)])
def test_an_operation_takes_every_documented_field_and_answers_with_every_documented_field(
    name: str,
) -> None:
    reply = Book(strict=True).perform(name)
    body = taken(reply)
    check(body, OPERATIONS[name]["answer"], name)
    creates = OPERATIONS[name]["method"] == "POST" and "capture" not in name
    assert reply.status == (201 if creates else 200)


@pytest.mark.parametrize("name", [name for name in OPERATIONS if is_served(name)])
def test_an_operation_takes_the_spelling_of_either_letter_case(name: str) -> None:
    def turned(value: Any) -> Any:
        if isinstance(value, list):
            return [turned(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {_other_case(key): turned(item) for key, item in value.items()}

    book, row = Book(strict=True), OPERATIONS[name]
    taken(
        book.api.call(
            row["method"],
            book.filled(row["path"]),
            turned(book.filled(row.get("body"))),
            query=turned(book.filled(row.get("query"))),
            headers={"x-publickey": book.public_key()} if row.get("key") == "public" else None,
        )
    )


CLIENT_STATUS = {
    "PENDING", "FAILED", "SUCCESS", "PARTIAL_REFUND", "REFUND", "PENDING_CHECKOUT", "AUTHORISE", "AUTHORISE_CANCELLED",
}  # fmt: skip
"""Status values that published clients can read (published facts, 0, rule 8)."""


@pytest.mark.parametrize("name", [name for name in OPERATIONS if is_served(name)])
def test_an_operation_answers_published_clients_with_200_in_words_that_they_read(name: str) -> None:
    reply = Book(profile="sdk", assumptions={"provider.latency": "0"}).perform(name)
    assert reply.status == 200, reply.raw
    check(reply.body, OPERATIONS[name]["answer"], name)
    if OPERATIONS[name]["answer"] == "Charge":
        assert reply["status"] in CLIENT_STATUS


def _other_case(name: str) -> str:
    return (name[0].upper() if name[0].islower() else name[0].lower()) + name[1:]


def stretched(value: object) -> object:
    """``@40`` stands for a text of forty characters."""
    return (
        "x" * int(value[1:]) if isinstance(value, str) and re.fullmatch(r"@\d+", value) else value
    )


SERVED_LIMITS = [row for row in LIMITS["limits"] if is_served(row["of"])]
SERVED_ENUMS = [row for row in LIMITS["enums"] if is_served(row["of"])]


@pytest.mark.parametrize("row", SERVED_LIMITS, ids=lambda row: row["subject"])
def test_every_limit_takes_what_is_within_and_refuses_what_is_not(row: dict[str, Any]) -> None:
    book = Book()
    for value in row["takes"]:
        reply = book.perform(row["of"], {row["field"]: stretched(value)})
        assert reply.status in (200, 201), (value, reply.raw)
    for value in row["refuses"]:
        reply = book.perform(row["of"], {row["field"]: stretched(value)})
        status, code = problem_of(reply)
        assert (status, code) == (400, row.get("code", 90)), (value, reply.raw)


@pytest.mark.parametrize("row", SERVED_ENUMS, ids=lambda row: row["subject"])
def test_every_value_of_an_enumeration_is_taken_in_any_case_and_no_other(
    row: dict[str, Any],
) -> None:
    def put(value: str) -> dict[str, object]:
        return {row["field"]: [value] if row.get("many") else value}

    book = Book()
    for value in row["values"]:
        for spelt in (value, value.upper(), value.lower(), value.title()):
            reply = book.perform(row["of"], put(spelt))
            assert reply.status in (200, 201), (spelt, reply.raw)
    for value in row["refuses"]:
        assert problem_of(book.perform(row["of"], put(value)))[0] == 400, value


def test_every_documented_state_is_in_the_tables() -> None:
    assert all(word.lower() in CHARGE_STATE_BY_WORD for word in LIMITS["states"]["charge"])
    if "batch" in TABLES:
        assert {state.value for state in TABLES["batch"].moves} == set(LIMITS["states"]["batch"])


def test_results_of_a_batch_have_the_documented_columns() -> None:
    results = taken(Book().perform("get batch"))["results"]
    assert results.splitlines()[0] == ",".join(LIMITS["results"])


def test_every_documented_operation_is_served() -> None:
    missing = {name for name in OPERATIONS if not is_served(name)}
    assert missing == set()
