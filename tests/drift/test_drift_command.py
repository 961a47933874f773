"""``mockserver drift`` and ``mockserver import`` as a user runs them, against real servers and with
files."""

import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mockserver.cli import main
from mockserver.drift.walk import calls_of, steps
from tests import warm
from tests.served import Process

ROOT = Path(__file__).resolve().parents[2]
KEY = "sk_drift_test"
VISA = "4012888888881881"
"""A card number that is no test number of this product."""


def invoke(*words: str) -> Result:
    return CliRunner().invoke(main, [*words], env={"DRIFT_KEY": KEY}, catch_exceptions=False)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    started: list[Process] = []

    def start(*options: str) -> Process:
        port = tmp_path / f"port{len(started)}"
        words = [
            *warm.python(),
            "-m",
            "mockserver",
            "--port",
            "0",
            "--port-file",
            str(port),
            *options,
        ]
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=tmp_path
        )
        while not port.exists():
            assert process.poll() is None
            time.sleep(0.02)
        started.append(Process(int(port.read_text()), process))
        return started[-1]

    yield start
    for one in started:
        one.stop()


def charges(server: Process) -> list[dict[str, Any]]:
    _, body = server.call("GET", "/charge?Limit=1000", key=KEY)
    found: list[dict[str, Any]] = body["charges"]
    return found


def check_taken_back(server: Process) -> None:
    """Nothing is left but what cannot be taken back."""
    states = Counter(charge["status"] for charge in charges(server))
    assert set(states) <= {
        "REFUND",
        "AUTHORISE_CANCELLED",
        "FAILED",
        "PENDING",
        "PENDING_CHECKOUT",
    }, states
    for path, name in (("/customer", "customers"), ("/payment_method", "paymentMethods")):
        assert server.call("GET", f"{path}?Limit=1000", key=KEY)[1][name] == []
    plans = server.call("GET", "/subscription?Limit=1000", key=KEY)[1]["subscriptions"]
    assert {plan["status"] for plan in plans} <= {"Cancelled", "Complete"}


@pytest.mark.slow
def test_an_equal_server_is_equal_and_is_left_as_it_was(serve: Callable[..., Process]) -> None:
    server = serve()
    # What others have there stays.
    other = {
        "amount": 3,
        "reference": "order-1",
        "providerId": "a26c371f-94f6-40da-add2-28ec8e9da8ed",
    }
    card = {"cardNumber": "4111111111111111", "expiryDate": "12/40"}
    server.call("POST", "/charge/card", {**other, "paymentInformation": card}, KEY)
    done = invoke("drift", "--against", server.url, "--key-env", "DRIFT_KEY")
    assert done.exit_code == 0, done.output
    assert f"{len(calls_of(steps()))} calls, no difference" in done.output
    [kept] = [charge for charge in charges(server) if charge["reference"] == "order-1"]
    assert kept["status"] == "SUCCESS"
    server.call("DELETE", f"/refund/{kept['chargeId']}", key=KEY)
    check_taken_back(server)


@pytest.mark.slow
def test_another_server_is_recorded_and_its_profile_cures_it(
    serve: Callable[..., Process], tmp_path: Path
) -> None:
    (tmp_path / "other.yaml").write_text(
        "version: 1\nassumptions: {response.created_status: 200, card.masking: last4, "
        "error.not_found: 400}\n",
        "utf-8",
    )
    profile, record = tmp_path / "drift.yaml", tmp_path / "rec"
    against = ("drift", "--key-env", "DRIFT_KEY", "--against")
    files = ("--record", str(record), "--write", str(profile))
    first = invoke(*against, serve("--scenario", "other.yaml").url, *files)
    assert first.exit_code == 1, first.output
    assert "status code: 201 here, 200 there (response.created_status: 200)" in first.output
    assert "no assumption settles it" not in first.output
    assert invoke("check", str(profile)).exit_code == 0
    text = (record / "drift.har").read_text("utf-8")
    assert (KEY in text, "4111111111111111" in text, '"123"' in text) == (False, False, False)
    again = invoke("drift", "--replay", str(record))
    assert (again.exit_code, again.output) == (1, first.output)
    # A server with the written profile answers as the other one did.
    cured = invoke(*against, serve("--scenario", str(profile)).url)
    assert cured.output.splitlines()[1:] == first.output.splitlines()[1:]


@pytest.mark.slow
def test_an_interrupted_walk_is_taken_back(serve: Callable[..., Process]) -> None:
    server = serve()
    words = [
        *warm.python(),
        "-m",
        "mockserver",
        "drift",
        "--against",
        server.url,
        "--key-env",
        "DRIFT_KEY",
    ]
    process = subprocess.Popen(
        words, env={**os.environ, "DRIFT_KEY": KEY}, stderr=subprocess.PIPE, text=True
    )
    while len(charges(server)) < 5:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said.strip()) == (130, "interrupted")
    check_taken_back(server)


@pytest.mark.slow
def test_a_charge_whose_answer_is_lost_is_taken_back_too(serve: Callable[..., Process]) -> None:
    server = serve("--scenario", "charged-but-unanswered")
    done = invoke(
        "drift",
        "--against",
        server.url,
        "--key-env",
        "DRIFT_KEY",
        "--ops",
        "charge.create,charge.get",
    )
    assert (done.exit_code, "broken off: 3 calls in a row had no answer" in done.output) == (
        5,
        True,
    ), done.output
    assert Counter(charge["status"] for charge in charges(server))["REFUND"] >= 3
    check_taken_back(server)


@pytest.mark.slow
def test_the_page_of_drift_is_what_the_command_writes(tmp_path: Path) -> None:
    page = tmp_path / "drift.md"
    text = (ROOT / "docs" / "drift.md").read_text("utf-8")
    page.write_text(text, "utf-8")
    exchanges = str(ROOT / "docs" / "spec" / "exchanges")
    done = invoke("drift", "--replay", exchanges, "--page", str(page))
    assert done.exit_code == 1
    assert "no assumption settles it" not in done.output
    assert page.read_text("utf-8") == text
    assert "No comparison with the live service or its sandbox has been made by us." in text


def har(*entries: tuple[str, str, object, int, object]) -> str:
    rows = [
        {
            "request": {"method": method, "url": url, "postData": {"text": json.dumps(body)}},
            "response": {"status": status, "content": {"text": json.dumps(answer)}},
        }
        for method, url, body, status, answer in entries
    ]
    return json.dumps({"log": {"entries": rows}})


CHARGE_ID = "0123456789abcdef0123456789abcdef"
PAID = {"cardNumber": VISA, "expiryDate": "12/40", "ccv": "987"}
CHARGE = {
    "amount": 20,
    "providerId": "6f1c1a3e-0f6e-4a53-9a39-0f9f0d1c2b3a",
    "paymentInformation": PAID,
}
BASE = "https://sandbox.example.com/v1"


def test_recorded_traffic_becomes_examples_that_pass(tmp_path: Path) -> None:
    file, out = tmp_path / "shop.har", tmp_path / "recorded.yaml"
    file.write_text(
        har(
            ("GET", "https://cdn.example.com/logo.png?v=2", None, 200, None),
            (
                "POST",
                f"{BASE}/charge/card",
                CHARGE,
                201,
                {"chargeId": CHARGE_ID, "status": "SUCCESS", "amount": 20},
            ),
            (
                "GET",
                f"{BASE}/charge/{CHARGE_ID}",
                None,
                200,
                {"chargeId": CHARGE_ID, "status": "SUCCESS"},
            ),
            (
                "DELETE",
                f"{BASE}/refund/{CHARGE_ID}?amount=5",
                None,
                202,
                {"status": "PARTIAL_REFUND"},
            ),
            ("GET", f"{BASE}/charge/{CHARGE_ID[::-1]}", None, 200, {}),
            ("GET", "https://[example.com/charge", None, 200, {}),
            ("GET", "", None, 200, {}),
        ),
        "utf-8",
    )
    done = invoke("import", "har", str(file), "--out", str(out))
    assert done.exit_code == 0, done.output
    notes = done.output.splitlines()
    assert [note.partition(":")[0].partition(" /")[0] for note in notes] == [
        "exchange 1",
        "exchange 4 DELETE",
        "exchange 5 GET",
        "exchange 7",
    ]
    text = out.read_text("utf-8")
    assert (VISA in text, "987" in text, CHARGE_ID in text) == (False, False, False)
    assert "GET /charge/{call2.chargeId}" in text
    assert "status: SUCCESS" in text
    checked = invoke("check", str(out))
    assert (checked.exit_code, "ok" in checked.output) == (0, True), checked.output


def test_a_failure_that_does_not_happen_here_is_not_taken_for_the_recorded_one(
    tmp_path: Path,
) -> None:
    file, out = tmp_path / "fail.har", tmp_path / "recorded.yaml"
    poor = {"message": f"Insufficient Funds\n{VISA}\x1b", "code": 15, "isRetryable": True}
    file.write_text(
        har(
            ("POST", f"{BASE}/charge/card", CHARGE, 400, poor),
            ("POST", f"{BASE}/charge/card", CHARGE, 500, None),
            (
                "POST",
                f"{BASE}/charge/card",
                {**CHARGE, "amount": -1},
                400,
                {"message": "Validation", "code": 90},
            ),
            ("POST", f"{BASE}/charge/card", {**CHARGE, "amount": -1}, 201, {"status": "SUCCESS"}),
        ),
        "utf-8",
    )
    done = invoke("import", "har", str(file), "--out", str(out))
    assert (done.exit_code, len(done.output.splitlines())) == (1, 3)
    lines = out.read_text("utf-8").splitlines()
    comments = {
        lines[place + 1].strip(): line.strip()
        for place, line in enumerate(lines)
        if line.startswith("      #")
    }
    assert comments.keys() == {"- id: call1", "- id: call2", "- id: call4"}
    assert comments["- id: call1"].startswith("# recorded: 400 Insufficient Funds 4")
    assert comments["- id: call1"].endswith("(code 15); answered 201 here")
    assert VISA not in comments["- id: call1"]
    assert comments["- id: call2"] == "# recorded: 500; answered 201 here"
    assert comments["- id: call4"] == "# recorded: 201; answered 400 here"
    assert invoke("check", str(out)).exit_code == 0
    small = tmp_path / "small.har"
    small.write_text(har(("GET", f"{BASE}/info", None, 500, None)), "utf-8")
    done = invoke("import", "har", str(small))
    assert (done.exit_code, "# recorded: 500; answered 200 here" in done.output) == (1, True)


def test_a_postman_collection_becomes_examples_that_pass(tmp_path: Path) -> None:
    file, out = tmp_path / "shop.json", tmp_path / "recorded.yaml"
    request = {
        "method": "POST",
        "url": {"raw": "{{base}}/charge/card"},
        "body": {"raw": json.dumps(CHARGE)},
    }
    example = {"code": 201, "body": json.dumps({"chargeId": CHARGE_ID, "status": "SUCCESS"})}
    item = [
        {"name": "money", "item": [{"name": "charge", "request": request, "response": [example]}]}
    ]
    item.append({"name": "list", "request": {"url": "{{base}}/charge?Reference=x"}})
    variable = [{"key": "base", "value": BASE}]
    file.write_text(json.dumps({"info": {}, "item": item, "variable": variable}), "utf-8")
    done = invoke("import", "postman", str(file), "--out", str(out))
    assert (done.exit_code, done.output) == (0, "")
    assert VISA not in out.read_text("utf-8")
    assert invoke("check", str(out)).exit_code == 0


METHOD_ID, CUSTOMER_ID = "fedcba9876543210fedcba9876543210", "0123456789abcdef0123456789abcdee"


def collection(*requests: tuple[str, object, str, object], **values: object) -> str:
    """A Postman collection of requests, each a method, an address, a body and the answer of its
    example."""
    item = []
    for method, url, body, answer in requests:
        examples = [{"code": 201, "body": json.dumps(answer)}] if answer is not None else []
        item.append(
            {"request": {"method": method, "url": url, "body": {"raw": body}}, "response": examples}
        )
    return json.dumps(
        {"item": item, "variable": [{"key": key, "value": value} for key, value in values.items()]}
    )


def imported(tmp_path: Path, form: str, text: str) -> tuple[list[str], str]:
    """The notes of an import, and the calls of its scenario, which passes."""
    file, out = tmp_path / "traffic", tmp_path / "recorded.yaml"
    file.write_text(text, "utf-8")
    done = invoke("import", form, str(file), "--out", str(out))
    assert done.exit_code == 0, done.output
    assert invoke("check", str(out)).exit_code == 0
    return done.output.splitlines(), out.read_text("utf-8")


def test_path_variables_of_postman_are_filled(tmp_path: Path) -> None:
    void = {
        "raw": "{{base}}/charge/:id?amount=5",
        "variable": [{"key": "id", "value": "{{charge}}"}],
    }
    charged = {"chargeId": CHARGE_ID, "status": "SUCCESS"}
    text = collection(
        ("POST", "{{base}}/charge/card", json.dumps(CHARGE), charged),
        ("DELETE", void, "", None),
        charge=CHARGE_ID,
    )
    notes, made = imported(tmp_path, "postman", text)
    assert notes == []
    assert "call: DELETE /charge/{call1.chargeId}?amount=5" in made


def test_comments_in_bodies_of_postman_are_left_out_as_postman_does(tmp_path: Path) -> None:
    body = json.dumps({**CHARGE, "reference": 'http://x/*y*/ " // {{z'}, indent=1)
    body = body.replace("{\n", "{ // {{never}}\n/* {{asked}}\n */", 1) + " // the end"
    notes, made = imported(
        tmp_path, "postman", collection(("POST", "{{base}}/charge/card", body, None))
    )
    assert notes == []
    assert "http://x/*y*/" in made


@pytest.mark.parametrize(
    ("url", "body", "said"),
    [
        (
            "{{base}}/charge/{{charge}}",
            "",
            "DELETE /charge/{{charge}}: left out, {{charge}} has no value in the file",
        ),
        (
            {"raw": "{{base}}/charge/:id"},
            "",
            "DELETE /charge/:id: left out, :id has no value in the file",
        ),
        (
            {"raw": "/charge/:id", "variable": [{"key": "id", "value": ""}]},
            "",
            "DELETE /charge/:id: left out, :id has no value in the file",
        ),
        (
            "/charge/{{empty}}",
            "",
            "DELETE /charge/{{empty}}: left out, {{empty}} has no value in the file",
        ),
        ("/charge/abc?amount={{ most }}", "", "left out, {{ most }} has no value in the file"),
        (
            "/charge/abc",
            '{"a": "{{one}}", "b": ["x{{$guid}}y", "{{one}}"]}',
            "left out, {{one}} and {{$guid}} have no",
        ),
        ("/charge/abc", '{"amount": {{amount}}}', "left out, {{amount}} has no value in the file"),
        ("/charge/abc", '{"amount": 5,}', "left out, its body is not JSON: "),
        ("/charge/abc", '/* three\n\nlines */ {"amount": 5} {', "(line 3, column "),
    ],
)
def test_what_postman_would_fill_in_or_cannot_send_is_named_and_the_call_left_out(
    url: object, body: str, said: str, tmp_path: Path
) -> None:
    text = collection(("GET", "{{base}}/info", "", None), ("DELETE", url, body, None), empty="")
    [note], made = imported(tmp_path, "postman", text)
    assert (note.startswith("exchange 2 DELETE /charge/"), said in note) == (True, True), note
    assert "DELETE" not in made


def test_a_request_of_postman_may_be_an_address_alone(tmp_path: Path) -> None:
    text = json.dumps({"item": [{"name": "list", "request": f"{BASE}/charge?limit=2"}]})
    notes, made = imported(tmp_path, "postman", text)
    assert (notes, 'call: "GET /charge?limit=2"' in made) == ([], True)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            {"mode": "urlencoded", "urlencoded": [{"key": "amount", "value": "5"}]},
            "is not JSON, but urlencoded",
        ),
        (
            {"mode": "formdata", "formdata": [{"key": "amount", "value": "5"}]},
            "is not JSON, but formdata",
        ),
        ({"mode": "raw", "raw": "{"}, "is not JSON: Expecting "),
    ],
)
def test_a_body_of_postman_that_is_no_json_is_named_and_not_dropped(
    body: dict[str, object], said: str, tmp_path: Path
) -> None:
    asked = {"method": "POST", "url": f"{BASE}/charge/card", "body": body}
    empty = {
        "method": "GET",
        "url": f"{BASE}/info",
        "body": {"mode": "urlencoded", "urlencoded": []},
    }
    [note], made = imported(
        tmp_path, "postman", json.dumps({"item": [{"request": asked}, {"request": empty}]})
    )
    assert note.startswith(f"exchange 1 POST /charge/card: left out, its body {said}"), note
    assert ("POST" in made, "GET /info" in made) == (False, True)


def test_a_provider_needs_no_value_as_the_usual_one_stands_for_it(tmp_path: Path) -> None:
    body = json.dumps({**CHARGE, "providerId": "{{providerId}}"})
    charged = {"chargeId": CHARGE_ID, "status": "SUCCESS"}
    notes, made = imported(
        tmp_path, "postman", collection(("POST", "{{base}}/charge/card", body, charged))
    )
    assert (notes, "status: SUCCESS" in made) == ([], True)


def test_a_body_that_names_what_no_earlier_exchange_made_leaves_its_call_out(
    tmp_path: Path,
) -> None:
    stored = {
        "providerId": CHARGE["providerId"],
        "paymentInformation": PAID,
        "metadata": {"customerId": CUSTOMER_ID},
    }
    known, unknown = (
        {"amount": 1, "PaymentMethodId": METHOD_ID},
        {"amount": 1, "PaymentMethodId": METHOD_ID[::-1]},
    )
    header = "PaymentMethodId,Amount,Currency,Reference"
    batches = [
        {"count": 1, "description": "d", "batch": f"{header}\n{one},1,AUD,r\n"}
        for one in (METHOD_ID, METHOD_ID[::-1])
    ]
    pay, batch = f"{BASE}/charge/payment_method", f"{BASE}/batch/transaction/payment_method"
    notes, made = imported(
        tmp_path,
        "har",
        har(
            ("POST", f"{BASE}/payment_method/card", stored, 201, {"paymentMethodId": METHOD_ID}),
            ("POST", pay, known, 201, {"status": "SUCCESS"}),
            ("POST", pay, unknown, 201, {"status": "SUCCESS"}),
            ("POST", f"{BASE}/charge/customer", {"amount": 1, "customerId": CUSTOMER_ID}, 201, {}),
            ("POST", f"{BASE}/charge/token", {"amount": 1, "token": CUSTOMER_ID}, 201, {}),
            ("POST", f"{BASE}/charge/token", {"amount": 1, "token": "tok"}, 400, {}),
            ("POST", batch, batches[0], 201, {}),
            ("POST", batch, batches[1], 201, {}),
        ),
    )
    assert notes == [
        f"exchange {number} POST {path}: left out, no earlier exchange made what {field} names"
        for number, path, field in (
            (3, "/charge/payment_method", "PaymentMethodId"),
            (4, "/charge/customer", "customerId"),
            (5, "/charge/token", "token"),
            (8, "/batch/transaction/payment_method", "its PaymentMethodId"),
        )
    ]
    assert [line.split()[-1] for line in made.splitlines() if "call: POST" in line] == [
        "/payment_method/card",
        "/charge/payment_method",
        "/charge/token",
        "/batch/transaction/payment_method",
    ]


@pytest.mark.parametrize(
    ("form", "text", "said"),
    [
        ("har", "{", "wrong:1:2:"),
        ("har", "[]", "wrong:1:1: wanted a JSON object"),
        ("har", "{}", "wrong: log: wanted an object"),
        ("har", '{"log": {"entries": 7}}', "wrong: log.entries: wanted a list"),
        ("har", '{"log": {"entries": [7]}}', "wrong: log.entries[0]: wanted an object"),
        (
            "har",
            '{"log": {"entries": [{"request": {}, "response": {}}]}}',
            "wrong: log.entries[0].request.method: wanted a text",
        ),
        ("har", '{"log": {"entries": []}}', "none of its 0 exchanges is a call of the service"),
        (
            "har",
            har(("GET", "https://x/y", None, 200, None)),
            "none of its 1 exchanges is a call of the service",
        ),
        ("postman", '{"item": {}}', "wrong: item: wanted a list"),
        (
            "postman",
            '{"item": [{"item": [{"request": {"url": 7}}]}]}',
            "wrong: item[0].item[0].request.url: wanted an object",
        ),
        ("har", "\x00\xff", "wrong"),
        ("har", "[" * 5_000, "wrong:1:"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(
    form: str, text: str, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "wrong"
    file.write_text(text, "latin-1")
    done = invoke("import", form, str(file))
    assert (done.exit_code, said in done.output) == (2, True), done.output


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"_drift": None}, "log._drift: wanted an object"),
        ({"run": 7}, "log._drift.run: wanted a text"),
        ({"instant": "soon"}, "log._drift.instant: got 'soon'"),
        ({"skipped": []}, "log._drift.skipped: wanted an object"),
        ({"status": "200"}, "log.entries[0].response.status: wanted a whole number"),
        ({"text": "{"}, "log.entries[0].response.content.text:"),
    ],
)
def test_a_wrong_recording_is_refused_with_the_place(
    change: dict[str, object], said: str, tmp_path: Path
) -> None:
    own = {
        "url": "here",
        "run": "drift-1",
        "instant": "2031-03-01T00:00:00Z",
        "skipped": {},
        "left": [],
        "broken": None,
    }
    own |= {name: value for name, value in change.items() if name in own}
    content = {"mimeType": "application/json", "text": change.get("text", "{}")}
    row = {"comment": "key", "response": {"status": change.get("status", 200), "content": content}}
    log = {"_drift": None if "_drift" in change else own, "entries": [row]}
    (tmp_path / "one.har").write_text(json.dumps({"log": log}), "utf-8")
    done = invoke("drift", "--replay", str(tmp_path))
    assert (done.exit_code, said in done.output) == (2, True), done.output
