"""``mockserver findings`` says what was asked of a sandbox, and never that all is well where
nothing was."""

from collections.abc import Iterator

import pytest
import yaml
from click.testing import CliRunner, Result

from mockserver.cli import main
from mockserver.engine.sandbox import masked_key
from tests.served import CHARGE, Process, serve

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Iterator[Process]:
    process = serve()
    process.call("POST", "/charge/card", {**CHARGE, "reference": "order-1"}, key="sk_ci")
    yield process
    process.stop()


def run(server: Process, *words: str) -> Result:
    return CliRunner().invoke(
        main, ["findings", "--url", f"http://127.0.0.1:{server.port}", *words]
    )


def test_a_sandbox_that_was_used_is_judged(server: Process) -> None:
    done = run(server, "--key", "sk_ci")
    assert (done.exit_code, done.output) == (0, "no findings\n")


@pytest.mark.parametrize("more", [(), ("--finish",), ("--format", "json")])
def test_a_key_that_nobody_used_fails_the_gate(server: Process, more: tuple[str, ...]) -> None:
    # What prepares a test is no request of its client.
    server.call("POST", "/__admin/marks", {"name": "begin"}, key="sk_typo")
    server.call("POST", "/__admin/clock/advance", {"by": "1h"}, key="sk_typo")
    done = run(server, "--key", "sk_typo", *more)
    assert done.exit_code == 2
    assert "no request has reached this sandbox (sk_***" in done.output
    rows = server.call("GET", "/__admin/sandboxes")[1]["sandboxes"]
    [used] = [line["key"] for line in rows if line["key"] == masked_key("sk_ci")]
    assert used in done.output.partition("keys in use: ")[2]
    assert "sk_ci" not in done.output


def test_a_run_under_a_scenario_that_did_nothing_says_what_it_waits_for(server: Process) -> None:
    sentence = "no rule of three-ds-passed fired: it waits for amount >= 100\n"
    shipped = {
        row["name"]: row["text"]
        for row in server.call("GET", "/__admin/scenarios/shipped")[1]["scenarios"]
    }
    document = yaml.safe_load(shipped["three-ds-passed"])
    server.call("PUT", "/__admin/scenarios", {**document, "clock": None}, key="sk_3ds")
    for amount, silent in ((12.5, False), (100, True)):
        server.call(
            "POST",
            "/charge/card",
            {**CHARGE, "amount": amount, "reference": f"{amount}"},
            key="sk_3ds",
        )
        done = run(server, "--key", "sk_3ds")
        assert done.output == "no findings\n" + ("" if silent else sentence)


@pytest.mark.parametrize(
    "words",
    [["findings", "--key", "sk_ci"], ["books", "--key", "sk_ci"], ["coverage"], ["sample", "1"]],
)
def test_a_guarded_server_is_asked_with_its_token(words: list[str]) -> None:
    guarded = serve("--admin-token", "let-me-in")
    guarded.call("POST", "/charge/card", {**CHARGE, "reference": "order-1"}, key="sk_ci")
    asked = [words[0], "--url", guarded.url, *words[1:]]
    with_token = CliRunner().invoke(main, [*asked, "--admin-token", "let-me-in"])
    by_variable = CliRunner(env={"MOCKSERVER_ADMIN_TOKEN": "let-me-in"}).invoke(main, asked)
    refused = CliRunner().invoke(main, asked)
    guarded.stop()
    assert (with_token.exit_code, by_variable.exit_code) == (0, 0), (
        with_token.output + by_variable.output
    )
    assert (refused.exit_code != 0, "admin" in refused.output) == (True, True), refused.output
