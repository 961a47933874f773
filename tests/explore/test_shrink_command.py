"""``mockserver shrink`` as a person runs it: bugs planted in small clients, found from the shipped
chaos."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from mockserver.adapters.scenario_files import read_file
from mockserver.adapters.strict_yaml import scenario_text
from mockserver.cli import main
from tests import warm

pytestmark = pytest.mark.slow

SHOP = """
import json, os, sys
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

PROVIDER = "a26c371f-94f6-40da-add2-28ec8e9da8ed"
CARD = {"cardNumber": "4111111111111111", "expiryDate": "12/40", "ccv": "123"}
api = HTTPConnection(urlsplit(os.environ["MOCKSERVER_URL"]).netloc, timeout=9)


def pay(order):
    body = {"providerId": PROVIDER, "amount": 20, "reference": order, "paymentInformation": CARD}
    headers = {"x-secretkey": os.environ["MOCKSERVER_SECRET_KEY"], "content-type": "application/json"}
    try:
        api.request("POST", "/charge/card", json.dumps(body), headers)
        answer = api.getresponse()
        return answer.status, json.load(answer)
    except (OSError, HTTPException, ValueError):
        api.close()
        return 0, {}


ORDERS = [f"order-{number}" for number in range(1, 17)]
"""
PAYS_AGAIN = """
for order in ORDERS:
    status, charge = pay(order)
    if not status:
        pay(order)
"""
KNOWS_NO_OUTAGE = """
for order in ORDERS:
    status, charge = pay(order)
    if status == 503:
        sys.exit(f"{charge['chargeId']} is paid")
"""
GIVES_UP = """
refused = 0
for order in ORDERS:
    status, charge = pay(order)
    refused += status == 400 and charge["isRetryable"]
    if refused == 3:
        sys.exit(7)
"""
COUNTS_CHARGES = """
charges = {pay(order)[1]["chargeId"] for order in ORDERS}
sys.exit(5 * (len(charges) < len(ORDERS)))
"""
STUBBORN = """
for order in ORDERS:
    pay(order)
"""


FLAKY = """
with open("runs.txt", "a+") as file:
    print("run", file=file)
    file.seek(0)
    runs = len(file.readlines())
for order in ORDERS:
    pay(order)
sys.exit(runs > 1 and runs % 3 != 0)
"""
SLOW = """
import time
with open("pids.txt", "a+") as file:
    print(os.getpid(), file=file, flush=True)
    file.seek(0)
    if len(file.readlines()) == 5:
        time.sleep(60)
sys.exit(503 in [pay(order)[0] for order in ORDERS])
"""
CLIENT = (sys.executable, "-I", "-S", "shop.py")
"""Without the packages that are installed, which it does not need."""

SEED = ("--seed", "535")
"""With it chaos loses an answer, refuses three orders for a time and one request with 503."""


def start(
    folder: Path, client: str, *options: str, scenario: str = "chaos"
) -> subprocess.Popen[str]:
    (folder / "shop.py").write_text(SHOP + client)
    command = [*warm.python(), "-m", "mockserver", "shrink", "--scenario", scenario, *options]
    return subprocess.Popen(
        [*command, "--", *CLIENT],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def shrunk(
    folder: Path, client: str, *options: str, scenario: str = "chaos"
) -> tuple[int, str, str]:
    process = start(folder, client, *options, scenario=scenario)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


@pytest.mark.parametrize(
    ("client", "name", "rules"),
    [
        (PAYS_AGAIN, "chaos-double-charge", 1),
        (KNOWS_NO_OUTAGE, "chaos-exit-1", 1),
        (GIVES_UP, "chaos-exit-7", 3),
    ],
    ids=["pays again", "knows no outage", "gives up"],
)
def test_a_planted_bug_is_found_in_a_few_rules(
    tmp_path: Path, url: str, client: str, name: str, rules: int
) -> None:
    code, out, err = shrunk(tmp_path, client, *SEED, "--url", url)
    assert code == 0, err
    made = read_file(tmp_path / "explored" / f"{name}.yaml")
    assert len(made.rules) == rules
    assert out.startswith(scenario_text(made.source))
    assert "confirmed in 3 runs" in str(made.source["description"])
    assert CliRunner().invoke(main, ["check", made.file]).exit_code == 0
    # What the command printed may hold anything, and is not kept.
    assert [path.name for path in (tmp_path / "explored").iterdir()] == [f"{name}.yaml"]


def test_an_answer_that_is_given_again_is_found_with_the_call_that_it_repeats(
    tmp_path: Path, url: str
) -> None:
    known = (
        "{id: known, when: {op: charge.create}, key: [op], chance: {p: 0.4, then: {replay: true}}}"
    )
    slow = "{id: slow, when: {op: charge.create}, chance: {p: 0.5, then: {latency: 5ms}}}"
    (tmp_path / "dull.yaml").write_text(f"version: 1\nseed: 3\nrules:\n  - {known}\n  - {slow}\n")
    code, _, err = shrunk(tmp_path, COUNTS_CHARGES, "--url", url, scenario="dull.yaml")
    assert code == 0, err
    made = read_file(tmp_path / "explored" / "dull-exit-5.yaml")
    [rule] = made.source["rules"]
    assert rule["sequence"] == [{"replay": True}] * 2
    assert len(rule["when"]["call"]["in"]) == 2


def test_a_client_that_does_not_fail_is_reported_with_a_server_of_its_own(tmp_path: Path) -> None:
    code, out, err = shrunk(tmp_path, "pay('order-2')")
    assert (code, out) == (1, "")
    assert err.endswith(
        "the command does not fail under chaos: exit code 0, no finding of severity error\n"
    )


def test_a_client_that_fails_now_and_then_is_reported(tmp_path: Path, url: str) -> None:
    code, _, err = shrunk(tmp_path, FLAKY, *SEED, "--url", url)
    assert code == 3
    assert "every time" in err
    assert not (tmp_path / "explored" / "chaos-exit-1.yaml").exists()


def test_a_bad_scenario_is_refused_with_line_and_column(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(
        "version: 1\nrules:\n  - id: one\n    wen: {op: charge.create}\n    then: {approve: {}}\n"
    )
    code, _, err = shrunk(tmp_path, STUBBORN, scenario="bad.yaml")
    assert code == 2
    assert "bad.yaml:4:5: rules[0].wen: unknown key 'wen' - did you mean 'when'" in err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--finding", "double-charg"), "did you mean 'double-charge'"),
        (("--timeout", "5"), "wanted"),
        (("--key", "\u00fc"), "wanted a text of ASCII characters"),
        (("--seed", "many"), "not a valid integer"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(options: tuple[str, str], words: str) -> None:
    done = CliRunner().invoke(main, ["shrink", "--scenario", "chaos", *options, "--", "true"])
    assert done.exit_code == 2
    assert words in done.output


def test_a_scenario_for_a_whole_server_is_refused(tmp_path: Path, url: str) -> None:
    code, _, err = shrunk(tmp_path, "pay('order-1')", "--url", url, scenario="connection-reset")
    assert code == 2
    assert "--scenario: connection-reset: POST /__admin/scenarios answered 400" in err


def test_a_program_that_does_not_exist_is_named(tmp_path: Path, url: str) -> None:
    given = [
        "shrink",
        "--scenario",
        "chaos",
        "--url",
        url,
        "--out",
        str(tmp_path),
        "--",
        "no-such-program",
    ]
    done = CliRunner().invoke(main, given)
    assert done.exit_code == 2
    assert "no-such-program: No such file or directory" in done.output


def test_an_interruption_ends_the_command_and_keeps_what_was_found(
    tmp_path: Path, url: str
) -> None:
    process = start(tmp_path, SLOW, *SEED, "--url", url)
    pids = tmp_path / "pids.txt"
    while not pids.exists() or len(pids.read_text().split()) < 5:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130
    made = read_file(tmp_path / "explored" / "chaos-exit-1.yaml")
    assert str(made.source["description"]).endswith("; interrupted, so there may be a smaller one")
    for pid in pids.read_text().split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)
