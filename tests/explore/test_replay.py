"""``mockserver explore --replay``: a file is reached when each of its rules has struck."""

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mockserver.cli import main
from tests import warm

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("quick_python")]

LISTS_CHARGES = (
    "import os, urllib.request as r; "
    "r.urlopen(r.Request(os.environ['MOCKSERVER_URL'] + '/charge', "
    "headers={'x-secretkey': os.environ['MOCKSERVER_SECRET_KEY']}))"
)
SLOW_LIST = (
    "{id: charge.search-1-slow, when: {op: charge.search, call: 1}, then: {transport: "
    "{at: answer, delay: 1ms}}}"
)
LOST_CHARGE = (
    "{id: charge.create-1-lost, when: {op: charge.create, call: 1}, then: {transport: "
    "{at: receive, reset: true}}}"
)


def replay(url: str, folder: Path, *rules: str) -> Result:
    file = folder / "pair.yaml"
    file.write_text(
        "\n".join(["version: 1", "name: pair", "rules:", *(f"  - {rule}" for rule in rules)]),
        "utf-8",
    )
    given = [
        "explore",
        "--url",
        url,
        "--replay",
        str(file),
        "--",
        *warm.python(),
        "-c",
        LISTS_CHARGES,
    ]
    return CliRunner().invoke(main, given)


def test_a_pair_of_which_one_struck_is_not_reached_and_the_other_is_named(
    url: str, tmp_path: Path
) -> None:
    done = replay(url, tmp_path, SLOW_LIST, LOST_CHARGE)
    first, second = done.output.splitlines()[:2]
    assert (done.exit_code, first.partition(":")[0]) == (0, "not reached")
    assert second == "did not strike: charge.create-1-lost"


def test_one_that_struck_is_reached(url: str, tmp_path: Path) -> None:
    done = replay(url, tmp_path, SLOW_LIST)
    assert (done.exit_code, done.output.partition(":")[0]) == (0, "survived")
    assert "did not strike" not in done.output


def test_a_file_without_rules_reaches_nothing(url: str, tmp_path: Path) -> None:
    (tmp_path / "none.yaml").write_text("version: 1\nname: none\n", "utf-8")
    given = [
        "explore",
        "--url",
        url,
        "--replay",
        str(tmp_path / "none.yaml"),
        "--",
        *warm.python(),
        "-c",
        "pass",
    ]
    assert CliRunner().invoke(main, given).output.startswith("not reached: ")


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("charge.search#1/lost_answer", 0, "failed: exit code 1"),
        (
            "charge.search#2/lost_answer",
            2,
            "which the command does not make - did you mean 'charge.search#1'?",
        ),
        ("nothing.yaml", 2, "nothing.yaml"),
    ],
)
def test_a_cell_is_replayed_by_its_name(url: str, name: str, code: int, words: str) -> None:
    given = ["explore", "--url", url, "--replay", name, "--", *warm.python(), "-c", LISTS_CHARGES]
    done = CliRunner().invoke(main, given)
    assert (done.exit_code, words in " ".join(done.output.split())) == (code, True), done.output


PAYS = """
import json, os, sys, urllib.error, urllib.request as r
card = {"cardNumber": "411111111111111" + sys.argv[1], "expiryDate": "12/40", "ccv": "123"}
order = {"amount": 20, "currency": "AUD", "providerId": "a26c371f-94f6-40da-add2-28ec8e9da8ed", "reference": "order-1"}
body = json.dumps(order | {"capture": False, "paymentInformation": card}).encode()
heads = {"x-secretkey": os.environ["MOCKSERVER_SECRET_KEY"], "idempotency-key": "order-1", "content-type": "application/json"}
for _ in range(2):
    try:
        said = r.urlopen(r.Request(os.environ["MOCKSERVER_URL"] + "/charge/card", body, heads))
        sys.exit(said.status == 201 and "sdk" in sys.argv)
    except urllib.error.HTTPError:
        sys.exit(0)
    except OSError:
        pass
"""
PAID = "1"
LOST = ["explore", "--jobs", "1", "--ops", "charge.create", "--faults", "lost_answer"]


def explored(folder: Path, *options: str, card: str = PAID) -> Result:
    shop = folder / "shop.py"
    shop.write_text(PAYS, "utf-8")
    words = [
        *LOST,
        "--out",
        str(folder / "explored"),
        *options,
        "--",
        *warm.python(),
        str(shop),
        card,
    ]
    return CliRunner().invoke(main, words)


def test_a_scenario_and_a_profile_hold_in_every_run(tmp_path: Path) -> None:
    file = tmp_path / "keys.yaml"
    file.write_text(
        "{version: 1, name: keys, assumptions: {request.idempotency: by_header}}", "utf-8"
    )
    assert "charge.create#1  UNSAFE" in explored(tmp_path).output
    assert "charge.create#1  survived" in explored(tmp_path, "--scenario", str(file)).output
    words = [
        *LOST,
        "--out",
        str(tmp_path / "sdk"),
        "--profile",
        "sdk",
        "--",
        *warm.python(),
        "-c",
        PAYS,
        PAID,
        "sdk",
    ]
    done = CliRunner().invoke(main, words)
    assert (done.exit_code, "1 run with faults at 1 call" in done.output) == (1, True), done.output


def test_a_server_that_runs_has_a_scenario_and_a_profile_already(tmp_path: Path) -> None:
    for option, value in (("--scenario", "chaos"), ("--profile", "sdk")):
        done = explored(tmp_path, "--url", "http://127.0.0.1:1", option, value)
        assert (done.exit_code, f"got --url and {option}" in done.output) == (2, True), done.output


def test_the_worst_is_seen_alone_under_the_options_of_the_exploration(tmp_path: Path) -> None:
    options = ["--invariant", 'held("order-1") <= 20', "--client-timeout", "2s", "--seed", "7"]
    done = explored(tmp_path, *options)
    hint = next(line for line in done.output.splitlines() if line.startswith("To see one alone: "))
    words = shlex.split(hint.partition(": mockserver ")[2])
    assert words[:3] == ["explore", "--replay", "charge.create#1/lost_answer"]
    assert words[3 : words.index("--")] == [
        "--client-timeout",
        "2s",
        "--seed",
        "7",
        "--invariant",
        options[1],
    ]
    again = CliRunner().invoke(main, words)
    assert (again.exit_code, "held of order-1 is 40.00" in again.output) == (1, True), again.output


def test_a_fault_that_fits_no_call_is_refused(tmp_path: Path) -> None:
    assert "charge.create#1  UNSAFE" in explored(tmp_path).output
    kept = sorted(path.name for path in (tmp_path / "explored").iterdir())
    done = explored(tmp_path, "--faults", "lagging_read")
    words = (
        "nothing to try: no fault of --faults and --ops makes sense at a call of the command "
        "(charge.create#1)"
    )
    assert (done.exit_code, words in done.output) == (2, True), done.output
    assert sorted(path.name for path in (tmp_path / "explored").iterdir()) == kept


POLLS = """
import os, pathlib, sys, urllib.request as r
runs = pathlib.Path(sys.argv[1])
runs.write_text(runs.read_text() + "." if runs.exists() else ".")
heads = {"x-secretkey": os.environ["MOCKSERVER_SECRET_KEY"]}
for _ in runs.read_text():
    r.urlopen(r.Request(os.environ["MOCKSERVER_URL"] + "/charge", None, heads))
"""


def test_a_client_that_polls_has_a_baseline_of_the_reads_that_it_always_makes(
    tmp_path: Path,
) -> None:
    words = [
        "explore",
        "--jobs",
        "1",
        "--faults",
        "rate_limited",
        "--out",
        str(tmp_path / "explored"),
        "--",
    ]
    done = CliRunner().invoke(main, [*words, *warm.python(), "-c", POLLS, str(tmp_path / "runs")])
    assert "without faults: 1 call in" in done.output
    assert (done.exit_code, "1 run with faults at 1 call: 1 failed" in done.output) == (0, True), (
        done.output
    )


def test_that_no_payment_succeeds_without_a_fault_is_said(tmp_path: Path) -> None:
    warning = (
        "warning: without faults no payment succeeded, so few faults can show anything: "
        "charge.create#1 was answered"
    )
    assert f"{warning} 400" in explored(tmp_path, card="2").output
    assert warning not in explored(tmp_path).output
