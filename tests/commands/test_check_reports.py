"""``mockserver check`` shows what was there when an example fails, for people and for CI
systems."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from mockserver.cli import main
from tests.driving import DUMMY, VISA

FILE = f"""\
version: 1
rules:
  - {{id: poor, when: {{op: charge.create}}, then: {{decline: insufficient_funds}}}}
examples:
  - name: fails
    calls:
      - call: POST /charge/card
        body: {{providerId: {DUMMY}, amount: 1, paymentInformation: {{cardNumber: "{VISA}", expiryDate: 12/40}}}}
        expect: {{status: %d}}
  - name: passes
    calls: [{{call: GET /charge, expect: {{status: 200}}}}]
"""
FAILURE = "POST /charge/card: wanted status 201, got 400 (15 Insufficient Funds"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "shop.yaml"
    path.write_text(FILE % 201)
    return path


def run(*words: str) -> Result:
    return CliRunner().invoke(main, ["check", *words])


def test_a_failing_example_shows_its_calls_and_their_answers(path: Path) -> None:
    done = run(str(path))
    assert done.exit_code == 4
    first, call, second = done.output.splitlines()
    assert first.startswith(f"{path}:7: fails: {FAILURE}")
    assert call.startswith("    POST /charge/card -> 400 code 15 Insufficient Funds")
    assert second == f"{path}:10: passes: ok"
    assert VISA not in done.output


def test_verbose_shows_the_calls_of_every_example(path: Path) -> None:
    path.write_text(FILE % 400)
    assert "GET /charge -> 200" not in run(str(path)).output
    done = run(str(path), "-v")
    assert (done.exit_code, "GET /charge -> 200" in done.output) == (0, True)


ASKED = f"""\
version: 1
rules:
  - {{id: late, when: {{op: charge.capture}}, then: {{decline: do_not_honour}}}}
  - {{id: poor, when: {{op: charge.create, request.amount: {{gt: 100}}}}, then: {{decline: insufficient_funds}}}}
  - {{id: busy, when: {{request.reference: "{VISA}"}}, then: {{transport: {{at: receive, status: 503}}}}}}
examples:
  - name: fails
    calls:
      - call: POST /charge/card
        body: {{providerId: {DUMMY}, amount: 1, paymentInformation: {{cardNumber: "{VISA}", expiryDate: 12/40}}}}
      - {{call: POST /charge/card, body: {{}}, expect: {{status: 201}}}}
"""
"""An example that fails at its second call, which is refused before a provider is asked."""


def test_verbose_says_of_a_failing_example_which_rules_were_asked_and_why_they_did_not_fire(
    path: Path,
) -> None:
    path.write_text(ASKED)
    lines = [line for line in run(str(path), "-v").output.splitlines() if "built-in" not in line]
    first_call = [
        "    POST /charge/card: charge.create",
        "      as the request arrives:",
        f"        not:   busy ({path}:5): request.reference: wanted '4111********1111', got "
        "nothing",
        "        no rule fires",
    ]
    assert lines[3:] == [
        *first_call,
        "      as the provider is asked:",
        f"        not:   late ({path}:3): op: wanted charge.capture, got charge.create",
        f"        not:   poor ({path}:4): request.amount: wanted more than 100, got 1",
        "        no rule fires",
        *first_call,
        "      as the provider is asked:",
        "        no rule was asked: the request had ended before",
    ]


def test_rules_that_were_asked_are_shown_only_when_wanted_and_only_of_examples_that_fail(
    path: Path,
) -> None:
    assert "no rule fires" not in run(str(path)).output
    shown = run(str(path), "-v").output
    assert f"        fires: poor ({path}:3): decline insufficient_funds" in shown
    passing = shown.partition(f"{path}:10: passes: ok\n")[2]
    assert ("GET /charge -> 200" in passing, "charge.search" in passing) == (True, False)
    [checked] = json.loads(run(str(path), "-v", "--format", "json").output)
    assert [bool(example["rules"]) for example in checked["examples"]] == [True, False]
    assert "fires: poor" in run(str(path), "-v", "--format", "junit").output


def test_of_a_long_example_the_newest_steps_are_shown(path: Path) -> None:
    calls = ", ".join(["{call: GET /charge}"] * 25)
    path.write_text(
        f"version: 1\nexamples: [{{name: long, calls: [{calls}, {{call: GET /charges}}]}}]"
    )
    lines = run(str(path), "-v").output.splitlines()
    assert lines.count("    (5 steps before these)") == 1
    assert lines.count("    GET /charge: charge.search") == 20


def test_a_set_up_that_fails_has_no_rules_to_tell_of(path: Path) -> None:
    path.write_text("version: 1\nsetup: [{call: GET /charge/none}]\n")
    done = run(str(path), "-v")
    assert (done.exit_code, "as the request arrives" in done.output) == (4, False)


def test_json_holds_every_example(path: Path) -> None:
    done = run(str(path), "--format", "json")
    [checked] = json.loads(done.output)
    assert (done.exit_code, checked["file"], checked["warnings"], checked["refusal"]) == (
        4,
        str(path),
        [],
        None,
    )
    failed, passed = checked["examples"]
    assert (failed["name"], failed["ok"], failed["line"]) == ("fails", False, 7)
    assert failed["failure"].startswith(FAILURE)
    assert (passed["name"], passed["ok"], len(passed["calls"])) == ("passes", True, 1)


def test_junit_has_a_suite_a_file_and_a_case_an_example(path: Path) -> None:
    done = run(str(path), "webhook-twice", "--format", "junit")
    first, second = ElementTree.fromstring(done.output)
    assert (first.get("tests"), first.get("failures"), second.get("failures")) == ("2", "1", "0")
    [failure] = first.iter("failure")
    assert (failure.get("message") or "").startswith(FAILURE)
    assert "code 15" in (failure.text or "")


def test_a_file_without_examples_is_read_and_opened(tmp_path: Path) -> None:
    path = tmp_path / "plain.yaml"
    path.write_text("version: 1\n")
    assert run(str(path)).output == f"{path}:1: opens (no examples): ok\n"


def test_refused_files_are_errors_of_the_report(path: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("version: 1\nrule: []\nrules: [{id: a, when: {}, then: {declined: x}}]\n")
    done = CliRunner().invoke(main, ["check", str(path), str(bad), "--format", "junit"])
    # The sound file is checked all the same.
    suite, sound = ElementTree.fromstring(done.stdout)
    assert (sound.get("name"), sound.get("errors")) == (str(path), "0")
    assert (done.exit_code, suite.get("name"), suite.get("errors")) == (2, str(bad), "1")
    [error] = suite.iter("error")
    assert "did you mean 'rules'?" in (error.get("message") or "")
    [checked] = json.loads(CliRunner().invoke(main, ["check", str(bad), "--format", "json"]).stdout)
    assert (checked["file"], checked["examples"], len(checked["refusal"].splitlines())) == (
        str(bad),
        [],
        2,
    )


def test_a_folder_without_scenarios_is_refused(tmp_path: Path) -> None:
    done = run(str(tmp_path))
    assert (done.exit_code, f"no scenario file in {tmp_path}" in done.output) == (2, True)


def test_verbose_says_of_an_example_without_any_rule_what_they_wait_for() -> None:
    assert "no rule of" not in run("three-ds-passed").output
    lines = run("three-ds-passed", "-v").output.splitlines()
    assert [line for line in lines if "no rule" in line] == [
        "    no rule of three-ds-passed fired: it waits for amount >= 100"
    ]
    [checked] = json.loads(run("three-ds-passed", "--format", "json").output)
    assert [len(example["idle"]) for example in checked["examples"]] == [0, 1]


def test_verbose_shows_a_call_that_got_no_answer() -> None:
    lines = run("charged-but-unanswered", "-v").output.splitlines()
    assert lines[1] == "    POST /charge/card -> no whole answer"
    assert lines[2].startswith("    GET /charge?Reference=order-11 -> 200 ")


SHOP = f"""\
version: 1
setup:
  - call: POST /charge/card
    body: {{providerId: {DUMMY}, amount: 1, paymentInformation: {{cardNumber: "{VISA}", expiryDate: 12/40}}}}
"""


def test_several_files_say_what_their_set_ups_do_together(tmp_path: Path, path: Path) -> None:
    shop = tmp_path / "also.yaml"
    shop.write_text(SHOP)
    done = run(str(shop), str(path), "sample-shop")
    assert done.output.splitlines()[-1] == (
        "together:1: the set-up of also, sample-shop makes 13 calls: batches 1, charges 7, "
        "customers 2, "
        "payment links 1, payment methods 2, providers 1, subscriptions 1: ok"
    )
    assert "together" not in run(str(shop)).output
    assert "together" not in run(str(path), "webhook-twice").output


def test_set_ups_that_do_not_go_together_are_warned_of(tmp_path: Path) -> None:
    shop, later = tmp_path / "shop.yaml", tmp_path / "later.yaml"
    shop.write_text(SHOP)
    later.write_text('version: 1\nclock: {start: "2045-01-01T00:00:00Z", mode: manual}\n')
    done = run(str(shop), str(later))
    assert done.exit_code == 0
    told = done.output.splitlines()[-1]
    assert told.startswith(
        "together:1: warning: the set-up of shop is refused: Setup.0: POST /charge/card answered"
    )
    assert "got 12/40, today is 2045-01-01" in told
    assert told.endswith("(set-up of shop)")
    *_, row = json.loads(run(str(shop), str(later), "--format", "json").output)
    assert (row["file"], row["examples"], row["warnings"]) == ("together", [], [told])
