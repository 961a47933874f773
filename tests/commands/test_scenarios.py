"""The commands about scenarios, driven in this process on files of their own."""

import json
import os
from pathlib import Path

import pytest

from mockserver.scenario.provider_outcome import CATALOGUE
from mockserver.scenario.reference import json_schema
from tests.running import run

STORY = """
version: 1
rules:
  - id: no-money-twice
    when: {op: charge.create, request.reference: order-1}
    key: [request.reference]
    sequence: [{decline: insufficient_funds, times: 2}]
examples:
  - name: the third try goes through
    calls:
      - {call: POST /charge/card, body: &charge {providerId: a26c371f-94f6-40da-add2-28ec8e9da8ed, amount: 5,
         reference: order-1, paymentInformation: {cardNumber: "4111111111111111", expiryDate: "12/40"}},
         expect: {status: 400, body: {code: 15}}}
      - {call: POST /charge/card, body: *charge, expect: {status: 400}}
      - {call: POST /charge/card, body: *charge, expect: {status: 201, body: {status: SUCCESS}}}
"""
REQUEST = {"method": "POST", "path": "/charge/card", "body": {"reference": "order-1"}}


@pytest.fixture
def story(tmp_path: Path) -> Path:
    path = tmp_path / "story.yaml"
    path.write_text(STORY)
    return path


def test_outcomes_prints_the_whole_catalogue() -> None:
    rows = json.loads(run("outcomes", "--json").output)
    assert [row["name"] for row in rows] == list(CATALOGUE)
    lost = next(row for row in rows if row["name"] == "lost_card")
    assert (lost["errorCode"], lost["gatewayCode"], lost["isRetryable"]) == (941, "41", False)
    lines = run("outcomes").output.splitlines()
    assert [line.split()[0] for line in lines[1::2]] == list(CATALOGUE)
    assert [line.strip() for line in lines[2::2]] == [row.meaning for row in CATALOGUE.values()]
    wide = [line.split()[0] for line in lines if len(line) > 80]
    assert all(len(name) > 80 for name in wide)


def test_scenarios_prints_names_and_stories() -> None:
    rows = {
        row["name"]: row["description"] for row in json.loads(run("scenarios", "--json").output)
    }
    assert len(rows) >= 30
    assert all(rows.values())
    assert {line.split()[0] for line in run("scenarios").output.splitlines()[1:]} == set(rows)


def test_scenarios_prints_a_file_by_name() -> None:
    assert run("scenarios", "test-values").output.startswith("# yaml-language-server: $schema=")
    done = run("scenarios", "test-valuez")
    assert (done.exit_code, "did you mean 'test-values'?" in done.output) == (2, True)


def test_schema_is_that_of_the_models() -> None:
    assert json.loads(run("schema").output) == json_schema()


def test_check_runs_the_examples(story: Path) -> None:
    done = run("check", str(story))
    assert (done.exit_code, done.output) == (0, f"{story}:9: the third try goes through: ok\n")


def test_check_of_an_example_that_goes_differently(story: Path) -> None:
    story.write_text(STORY.replace("times: 2", "times: 3"))
    done = run("check", str(story), "soft-decline-then-success")
    assert done.exit_code == 4
    assert "POST /charge/card: wanted status 201, got 400 (15 Insufficient Funds" in done.stderr
    assert done.stdout.count(": ok\n") >= 1


def test_check_of_bad_files_tells_every_fault_of_all(story: Path, tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text("version: 2\n")
    story.write_text(STORY.replace("insufficient_funds", "insuficient_funds"))
    done = run("check", str(story), str(tmp_path / "other.yaml"))
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"{story}:7:17: rules[0].sequence[0].decline: got 'insuficient_funds'" in done.stderr
    assert f"{tmp_path / 'other.yaml'}:1:1: version:" in done.stderr


def test_check_warns_of_what_is_said_in_vain(story: Path) -> None:
    shield = (
        "rules:\n  - {id: slow, when: {op: charge.create, request.reference: o-9}, then: "
        "{webhook: {drop: true}}}"
    )
    more = (
        "\n  - {id: lost, when: {op: charge.create, request.reference: o-9}, then: {webhook: "
        "{copies: 2}}}"
    )
    story.write_text(STORY.replace("rules:", shield + more))
    done = run("check", str(story))
    assert (done.exit_code, done.stdout) == (0, f"{story}:11: the third try goes through: ok\n")
    assert done.stderr == (
        f"{story}:5: warning: rule 'lost' never fires: rule 'slow' (line 4) decides first, "
        "which only sets webhook: say both in one rule\n"
    )


def test_check_wants_a_file() -> None:
    assert run("check").exit_code == 2
    assert run("check", "no-such-story").exit_code == 2


def test_explain(story: Path, tmp_path: Path) -> None:
    request = tmp_path / "request.json"
    request.write_text(json.dumps(REQUEST))
    done = run("explain", str(story), "--request", str(request))
    assert done.exit_code == 0, done.output
    assert done.output.startswith("charge.create at ")
    assert f"  fires: no-money-twice ({story}:4): decline insufficient_funds" in done.output
    assert "built-in test values" in done.output
    alone = run("explain", str(story), "--no-test-values", "--request", str(request)).output
    assert "built-in test values" not in alone
    request.write_text(json.dumps({**REQUEST, "body": {"reference": "order-2"}}))
    assert "request.reference: wanted order-1, got order-2" in run(
        "explain", str(story), "--request", str(request)
    ).output.replace("'", "")


@pytest.mark.parametrize(
    ("op", "decline", "words"),
    [
        (
            "charge.capture",
            "do_not_honour",
            "(code 905, gateway 05, not retryable), answered with code 47",
        ),
        (
            "charge.void",
            "{name: do_not_honour, errorMessage: No}",
            "not retryable), answered with code 48",
        ),
        ("charge.refund", "do_not_honour", "not retryable), answered with code 45"),
        ("charge.refund", "{errorCode: 12}", "decline error_12 (code 12, not retryable)"),
        (
            "charge.create",
            "do_not_honour",
            "decline do_not_honour (code 905, gateway 05, not retryable)",
        ),
    ],
)
def test_explain_says_the_code_that_is_answered(
    tmp_path: Path, op: str, decline: str, words: str
) -> None:
    story, request = tmp_path / "s.yaml", tmp_path / "request.json"
    story.write_text(
        f"version: 1\nrules: [{{id: r, when: {{op: {op}}}, then: {{decline: {decline}}}}}]"
    )
    request.write_text(json.dumps({"op": op}))
    assert f"{words}\n" in run("explain", str(story), "--request", str(request)).output


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "request.json: "),
        ("[]", "wanted a JSON object"),
        ('{"method": "POST", "path": "/chargee"}', "which is not an operation of the service"),
        ('{"op": "charge.creat"}', "did you mean 'charge.create'?"),
    ],
)
def test_explain_refuses_what_is_no_request(
    story: Path, tmp_path: Path, text: str, words: str
) -> None:
    request = tmp_path / "request.json"
    request.write_text(text)
    done = run("explain", str(story), "--request", str(request))
    assert (done.exit_code, words in done.output) == (2, True), done.output


@pytest.fixture
def capture(tmp_path: Path) -> list[str]:
    """The words that explain a capture to a rule that waits for an authorisation."""
    story, request = tmp_path / "s.yaml", tmp_path / "request.json"
    story.write_text(
        "version: 1\nrules:\n"
        "  - {id: held, when: {op: charge.capture, state.charge.status: Authorised, "
        "state.charge.amount: 20},\n"
        "     then: {decline: do_not_honour}}"
    )
    request.write_text(json.dumps({"op": "charge.capture", "state": {"charge.amount": 20}}))
    return ["explain", str(story), "--request", str(request)]


def test_explain_takes_stored_state_from_the_command_line_and_the_request(
    capture: list[str],
) -> None:
    assert "  fires: held" not in run(*capture).output
    assert "  fires: held" in run(*capture, "--state", "charge.status=Authorised").output
    both = ("--state", "charge.status=Authorised", "--state", "charge.amount=21")
    assert "state.charge.amount: wanted 20, got 21" in run(*capture, *both).output


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["charge.statu=Authorised"], "no such field - did you mean 'status'?"),
        (["charge.status=Authorizd"], "charge.status: got 'Authorizd', wanted a known word"),
        (
            ["charge.status"],
            "got 'charge.status', wanted a path and its value, such as charge.status=Authorised",
        ),
        (
            ["charge.status=FAILED", "charge.status=REFUND"],
            "got 'charge.status' twice, wanted it once",
        ),
        (["4111111111111111"], "got '4111********1111'"),
    ],
)
def test_explain_refuses_state_that_nothing_can_have(
    capture: list[str], given: list[str], words: str
) -> None:
    done = run(*capture, *(word for one in given for word in ("--state", one)))
    assert (done.exit_code, words in done.output) == (2, True), done.output


@pytest.mark.parametrize(
    ("method", "path", "op"),
    [
        ("POST", "/charge/card", "charge.create"),
        ("POST", "/charge/ch_1", "charge.capture"),
        ("GET", "/vault/v/", "vault.get"),
    ],
)
def test_the_operation_of_a_path(
    story: Path, tmp_path: Path, method: str, path: str, op: str
) -> None:
    request = tmp_path / "request.json"
    request.write_text(json.dumps({"method": method, "path": path}))
    assert run("explain", str(story), "--request", str(request)).output.startswith(f"{op} at ")


@pytest.mark.parametrize(
    "words",
    [("check",), ("explain", "--request", "r.json"), ("serve", "--port", "0", "--scenario")],
)
def test_what_is_not_a_regular_file_or_has_no_end_is_refused(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.json").write_text('{"method": "GET", "path": "/charge"}')
    with Path("long.yaml").open("wb") as file:
        file.truncate(2_000_001)
    os.mkfifo("pipe.yaml")
    files = {
        "/dev/zero": "not a regular file",
        "pipe.yaml": "not a regular file",
        "long.yaml": "over 2 MB",
    }
    for file_name, reason in files.items():
        done = run(*words, file_name)
        assert (done.exit_code, reason in done.output) == (2, True), done.output
    done = run("explain", "webhook-twice", "--request", "/dev/zero")
    assert (done.exit_code, "not a regular file" in done.output) == (2, True)


ALONE = """
version: 1
examples:
  - name: first
    calls: &calls
      - {call: "POST /charge/card", body: {providerId: a26c371f-94f6-40da-add2-28ec8e9da8ed, amount: 5,
         paymentInformation: {cardNumber: "4111111111111111", expiryDate: "12/40"}}}
      - {call: "GET /charge?Reference=a{b", expect: {body: {count: 0}}}
      - {call: "GET /charge", expect: {body: {count: 1}}}
      - {call: "GET /__admin/sandboxes", expect: {body: {count: 1, sandboxes: [{requests: 3}]}}}
      - {call: "GET /metrics"}
  - {name: second, calls: *calls}
"""


def test_examples_know_nothing_of_each_other_and_are_told_alike(tmp_path: Path) -> None:
    (tmp_path / "alone.yaml").write_text(ALONE)
    done = run("check", str(tmp_path / "alone.yaml"), "--format", "json")
    assert done.exit_code == 0, done.output
    [first, second] = json.loads(done.output)[0]["examples"]
    assert (first["failure"], second["failure"]) == (None, None)
    assert [call.partition(" -> ")[0] for call in first["calls"]] == [
        "POST /charge/card",
        "GET /charge?Reference=a{b",
        "GET /charge",
        "GET /__admin/sandboxes",
        "GET /metrics",
    ]
