"""The runner of examples, against a small application that answers what it is told."""

import asyncio
import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from mockserver.adapters.scenario_files import read_text
from mockserver.commands.scenario_check import check
from mockserver.scenario.problems import ScenarioRefused
from mockserver.scenario.scenario import Scenario
from mockserver.scenario.values import json_text
from tests.driving import DUMMY
from tests.scenario.telling import open_app


class Echo:
    """Answers POST with its own body under the status 201, GET with the time, DELETE by breaking
    off."""

    def __init__(self, scenarios: Sequence[Scenario]) -> None:
        self.scenarios = scenarios
        self.clock = 0
        self.seen: list[str] = []

    def open(self, key: str) -> dict[str, dict[str, object]]:
        self.seen.append(f"open {key}")
        return {
            scenario.name: {call.id: call.body for call in scenario.said.setup}
            for scenario in self.scenarios
        }

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = (await receive()).get("body", b"")
        self.seen.append(f"{scope['method']} {scope['path']}")
        if scope["method"] == "DELETE":
            raise ConnectionResetError("cut")
        if scope["path"] == "/__admin/clock/advance":
            self.clock += 1
            body = b"{}"
        status = 200 if scope["method"] == "GET" or scope["path"].startswith("/__admin") else 201
        answer = json.dumps(
            {"clock": self.clock, "list": [1, 2], "no": None, "findings": [], "idle": []}
        ).encode()
        headers = [(b"x-key", dict(scope["headers"])[b"x-secretkey"])]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send(
            {"type": "http.response.body", "body": body if scope["method"] == "POST" else answer}
        )


def failures(calls: str, setup: str = "[]") -> list[str]:
    text = f"version: 1\nsetup: {setup}\nexamples: [{{name: x, calls: [{calls}]}}]"
    return [
        str(report)
        for report in asyncio.run(check(read_text(text, "e.yaml"), [], Echo))
        if report.failure is not None
    ]


GOOD = [
    "{call: POST /a, body: {a: 5.50}, expect: {status: 201, body: {a: 5.5}}}",
    "{id: a, call: POST /a, body: {b: [{c: 7}]}}, {call: 'POST /{a.b.0.c}', body: {d: "
    "'{a.b.0.c}', e: 'x{a.b.0.c}'}, "
    "expect: {body: {d: 7, e: x7}}}",
    "{advance: 1h}, {call: GET /a, expect: {body: {clock: 1, list: [1, 2], no: null, absent: "
    "null}}}",
    "{wait: GET /a, expect: {body: {clock: 3}}, timeout: 1h}",
    "{call: DELETE /a, expect: {fault: true}}",
    "{id: a, call: POST /a, body: {b: 2}}, {call: POST /a, body: {c: 3}, expect: {body: {c: {gt: "
    "'{a.b}'}}}}",
    "{call: GET /a, expect: {headers: {x-key: sk_example}, body: {clock: {lt: 1}, list: {exists: "
    "true}}}}",
]
BAD = [
    ("{call: POST /a, body: {a: 1}, expect: {status: 200}}", "POST /a: wanted status 200, got 201"),
    ("{call: GET /a, expect: {body: {clock: 1}}}", "GET /a: body.clock: wanted 1, got 0"),
    ("{call: GET /a, expect: {body: {clock: '0'}}}", "body.clock: wanted '0', got 0"),
    ("{call: GET /a, expect: {body: {clock: false}}}", "body.clock: wanted false, got 0"),
    ("{call: GET /a, expect: {body: {clock: {gt: 1}}}}", "body.clock: wanted more than 1, got 0"),
    ("{call: GET /a, expect: {body: {list: [1]}}}", "body.list: wanted 1 items, got 2"),
    ("{call: GET /a, expect: {body: {list: [1, 3]}}}", "body.list[1]: wanted 3, got 2"),
    ("{call: GET /a, expect: {body: {clock: {a: 1}}}}", "body.clock: wanted an object, got 0"),
    ("{call: GET /a, expect: {body: {clock: [1]}}}", "body.clock: wanted a list, got 0"),
    ("{call: GET /a, expect: {body: {list: 5}}}", "body.list: wanted 5, got a list"),
    (
        "{call: GET /a, expect: {headers: {x-key: other}}}",
        "header x-key: wanted 'other', got 'sk_***'",
    ),
    ("{call: GET /a, expect: {fault: true}}", "wanted no whole answer, got status 200"),
    (
        "{together: [{call: POST /a, expect: {status: 200}}, {call: GET /a}]}",
        "POST /a: wanted status 200, got 201",
    ),
    ("{call: DELETE /a}", "DELETE /a: no whole answer came"),
    (
        "{id: a, call: GET /a}, {call: 'GET /{a.nope}'}",
        "{a.nope}: the answer of 'a' has no such member",
    ),
    (
        "{id: a, call: POST /a, body: {b: two}}, {call: GET /a, expect: {body: {clock: {gt: "
        "'{a.b}'}}}}",
        "GET /a: body.clock: got 'two', wanted a number",
    ),
    (
        "{wait: GET /a, expect: {body: {clock: 99}}, timeout: 1h}",
        "after 1h: GET /a: body.clock: wanted 99, got 20",
    ),
]


@pytest.mark.parametrize("calls", GOOD)
def test_as_expected(calls: str) -> None:
    assert failures(calls) == []


@pytest.mark.parametrize(("calls", "words"), BAD, ids=[row[0] for row in BAD])
def test_unexpected(calls: str, words: str) -> None:
    (failure,) = failures(calls)
    assert failure.startswith("e.yaml:3: x: ")
    assert words in failure


def test_what_the_set_up_answered_can_be_named() -> None:
    assert failures("{call: 'GET /{ann.a}'}", "[{id: ann, call: POST /a, body: {a: 1}}]") == []


def checked(setup: str, calls: str = "{call: GET /charge}") -> list[str]:
    """The reports of the real sandbox."""
    text = f"version: 1\nsetup: {setup}\nexamples: [{{name: x, calls: [{calls}]}}]"
    return [str(report) for report in asyncio.run(check(read_text(text, "e.yaml"), [], open_app))]


CARD = (
    f"providerId: {DUMMY}, paymentInformation: "
    f"{{cardNumber: '4111111111111111', expiryDate: 12/40}}"
)


@pytest.mark.parametrize(
    ("setup", "words"),
    [
        ("{call: POST /token/card}", "POST /token/card answered 400: 90 "),
        (
            f"{{call: POST /vault, body: {{{CARD}}}, expect: {{status: 200}}}}",
            "POST /vault: wanted status 200, got 400",
        ),
        (
            f"{{call: POST /customer/card, body: {{{CARD}}}, expect: {{body: {{x: 1}}}}}}",
            "body.x: wanted 1, got nothing",
        ),
        (
            "{call: POST /__admin/reset}",
            "answered 404: 1 Not Found {'Path': 'a set-up call must be an operation of the",
        ),
    ],
)
def test_a_set_up_that_is_refused_is_reported_at_its_call(setup: str, words: str) -> None:
    (report,) = checked(f"[{setup}]")
    assert report.startswith("e.yaml:2: x: POST /")
    assert words in report


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("{call: POST /charges/card}", "no such route - did you mean '/charge/card'?"),
        ("{call: POST /charges/card, expect: {}}", "no such route - did you mean '/charge/card'?"),
        ("{call: PUT /charge/card}", "wanted success, got 405 (1 Method Not Allowed"),
        (
            "{together: [{call: GET /info}, {call: GET /__admin/jurnal}]}",
            "did you mean '/__admin/journal'?",
        ),
        ("{call: POST /charges/card, expect: {status: 404}}", "x: ok"),
        ("{call: PUT /charge/card, expect: {status: 405}}", "x: ok"),
        ("{call: GET /charge/none}", "x: ok"),
        ("{call: POST /charge/card}", "x: ok"),
        ("{call: GET /__admin/objects/charge/none}", "x: ok"),
    ],
)
def test_an_example_that_expects_nothing_must_at_least_find_a_path(call: str, words: str) -> None:
    text = f"version: 1\nexamples: [{{name: x, calls: [{call}]}}]"
    (report,) = asyncio.run(check(read_text(text, "e.yaml"), [], open_app))
    assert words in str(report)


def test_a_set_up_may_expect_a_refusal() -> None:
    refused = (
        "{call: POST /token/card, expect: {status: 400, body: {code: 90}, headers: "
        "{content-type: {contains: json}}}}"
    )
    assert checked(f"[{refused}]") == ["e.yaml:3: x: ok"]


def test_a_set_up_meets_no_faults() -> None:
    with pytest.raises(ScenarioRefused, match="set-up calls meet no faults"):
        checked("[{call: GET /charge, expect: {fault: true}}]")


def test_every_example_has_an_application_of_its_own_and_the_scenarios_in_order() -> None:
    opened: list[Echo] = []

    def open_echo(scenarios: Sequence[Scenario]) -> Echo:
        opened.append(Echo(scenarios))
        return opened[-1]

    text = "version: 1\nsetup: [{call: POST /s}]\nexamples: [" + ", ".join(
        f"{{name: {name}, calls: [{{call: GET /{name}}}]}}" for name in "ab"
    )
    scenario, other = read_text(text + "]", "e.yaml"), read_text("version: 1", "other.yaml")
    assert [report.failure for report in asyncio.run(check(scenario, [other], open_echo))] == [
        None,
        None,
    ]
    seen = [["open sk_example", f"GET /{name}", "GET /__admin/findings"] for name in "ab"]
    assert [app.seen for app in opened] == seen
    assert [app.scenarios for app in opened] == [[other, scenario], [other, scenario]]


def test_bodies_keep_the_digits_of_decimals() -> None:
    text = json_text({"a": [Decimal("5.50"), 1, True, None, 'x"'], "b": {"c": Decimal(10)}})
    assert text == '{"a":[5.50,1,true,null,"x\\""],"b":{"c":10}}'
