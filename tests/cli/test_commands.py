"""The command line, driven in this process; serving is tested as a process in tests/adapters and
tests/e2e."""

import errno
import http.server
import json
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import click
import pytest
from click.shell_completion import BashComplete
from click.testing import CliRunner, Result

import mockserver
from mockserver import Settings
from mockserver.adapters.tls import listener_context
from mockserver.cli import COMMANDS, main
from mockserver.settings import SETTINGS


def run(*args: str, **environ: str) -> Result:
    return CliRunner(env=environ).invoke(main, args)


def test_version_is_the_package_version() -> None:
    assert run("version").output == run("--version").output == f"{mockserver.__version__}\n"


@pytest.mark.parametrize("words", [["version"], ["--help"]])
def test_version_and_help_import_nothing_heavy(words: list[str]) -> None:
    program = (
        f"import sys\nfrom mockserver.cli import main\nmain({words}, standalone_mode=False)\n"
        "heavy = {'starlette', 'uvicorn', 'pydantic', 'httpx', 'faker', 'jinja2', 'yaml', "
        "'cryptography', 'asyncio'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    root = Path(mockserver.__file__).resolve().parents[1]
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("\n[]\n")


def test_every_option_is_in_the_help_of_serve_with_its_variable() -> None:
    words = run("serve", "--help").output
    assert [row.flag for row in SETTINGS if row.flag not in words] == []
    assert [row.variable for row in SETTINGS if row.variable not in words.replace("\n", "")] == []


def test_help_lists_the_commands_and_unknown_ones_are_bad_usage() -> None:
    assert {"serve", "config", "healthcheck", "ca", "version"} <= set(run("--help").output.split())
    assert run("no-such-command").exit_code == 2


@pytest.mark.parametrize("command", ["serve", "explore", "shrink", "check"])
def test_an_interruption_before_the_command_has_begun_ends_it_with_130(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> NoReturn:
        raise KeyboardInterrupt

    with click.Context(main) as ctx:
        monkeypatch.setattr(main.get_command(ctx, command), "make_context", interrupted)
    done = run(command)
    assert (done.exit_code, done.output) == (130, "interrupted\n")


@pytest.mark.parametrize("command", ["explore", "shrink", "drift"])
def test_a_signal_while_a_command_is_imported_interrupts_it(command: str) -> None:
    program = (
        "import os, signal, sys\nfrom mockserver.cli import main\nclass Killed:\n"
        "    def find_spec(name, *_):\n"
        f"        if name == 'mockserver.commands.{command}': os.kill(os.getpid(), "
        f"signal.SIGTERM)\n"
        f"sys.meta_path.insert(0, Killed)\nmain(['{command}', '--', 'true'])"
    )
    root = Path(mockserver.__file__).resolve().parents[1]
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


def test_output_for_which_there_is_no_space_is_said_in_a_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: object, **__: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    with click.Context(main) as ctx:
        monkeypatch.setattr(main.get_command(ctx, "routes"), "invoke", full)
    done = run("routes")
    assert (done.exit_code, done.output) == (
        1,
        "what was to be printed could not be written: No space left on device\n",
    )


def test_every_command_stands_in_one_group_of_the_help_with_its_whole_summary() -> None:
    rows = [row for group in COMMANDS.values() for row in group]
    assert main.commands.keys() <= {row.name for row in rows}
    assert len(rows) == len({row.name for row in rows})
    with click.Context(main) as ctx:
        found = [main.get_command(ctx, row.name) for row in rows]
    assert [row.summary for row in rows] == [one and one.get_short_help_str(200) for one in found]
    words = run("--help").output
    assert "..." not in words.partition("Run a server")[2].partition("Options of serve")[0]
    assert "MOCKSERVER_SCENARIO" in words
    assert "MOCKSERVER_JOURNAL_LIMIT" not in words


def test_config_shows_values_and_where_they_came_from() -> None:
    done = run(
        "config",
        "--json",
        "--port",
        "6000",
        "--no-test-values",
        MOCKSERVER_SEED="9",
        MOCKSERVER_KEYS="sk_a",
    )
    rows = {row["flag"]: (row["value"], row["source"]) for row in json.loads(done.output)}
    assert list(rows) == [setting.flag for setting in SETTINGS]
    assert rows["--port"] == (6000, "flag")
    assert rows["--seed"] == (9, "environment")
    assert rows["--keys"] == ("(set)", "environment")
    assert rows["--no-test-values"] == (True, "flag")
    assert rows["--profile"] == ("documented", "default")


def test_config_as_json_has_plain_values() -> None:
    done = run(
        "config",
        "--json",
        "--port",
        "0",
        "--scenario",
        "a",
        "--scenario",
        "b",
        "--keys",
        "sk_a",
        "--strict",
    )
    values = {row["flag"]: row["value"] for row in json.loads(done.output)}
    assert (values["--port"], values["--tls-port"], values["--seed"]) == (0, None, 1)
    assert (values["--scenario"], values["--keys"], values["--allow-host"]) == (
        ["a", "b"],
        "(set)",
        [],
    )
    assert (values["--strict"], values["--watch"], values["--no-test-values"]) == (
        True,
        False,
        False,
    )


def test_config_as_text_has_one_line_for_each_option() -> None:
    lines = run("config", "--host", "::1").output.splitlines()
    assert lines[0].split() == ["--host", "MOCKSERVER_HOST", "::1", "flag"]
    assert len(lines) == len(SETTINGS)


@pytest.mark.parametrize("command", ["serve", "config", "healthcheck", "ca"])
def test_a_bad_value_is_bad_usage_in_every_command(command: str) -> None:
    done = run(command, "--profile", "sdkk")
    assert done.exit_code == 2
    assert "--profile: got 'sdkk', allowed: documented or sdk; nearest: sdk" in done.output


def test_a_bad_variable_is_bad_usage() -> None:
    done = run("config", MOCKSERVER_PORT="many")
    assert (done.exit_code, "MOCKSERVER_PORT: got 'many'" in done.output) == (2, True)


def test_every_option_is_accepted_as_a_flag() -> None:
    examples = {
        "--host": "::1",
        "--profile": "sdk",
        "--clock": "manual",
        "--public-url": "http://a.test",
        "--log-format": "json",
        "--findings": "off",
        "--log-level": "error",
        "--max-body": "1MB",
        "--journal-memory": "1MB",
        "--tls-port": "5001",
        "--sandbox-idle": "24h",
        "--store-sync": "full",
    }
    args: list[str] = []
    for row in SETTINGS:
        args += [row.flag] if row.is_switch else [row.flag, examples.get(row.flag, "7")]
    done = run("config", "--json", *args)
    assert done.exit_code == 0, done.output
    assert {row["source"] for row in json.loads(done.output)} == {"flag"}


def test_without_a_command_it_serves() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run("--port", str(taken.getsockname()[1]))
    assert done.exit_code == 3
    assert "is in use" in done.output


class Ready(http.server.BaseHTTPRequestHandler):
    """Answers /readyz with the statuses of ``statuses``, the last one again and again."""

    statuses: tuple[int, ...] = (200,)

    def do_GET(self) -> None:
        status, *rest = type(self).statuses
        type(self).statuses = tuple(rest) or (status,)
        body = b'{"reasons": ["rules.yaml is bad"]}' if self.path == "/readyz" else b"wrong path"
        self.send_response(status if self.path == "/readyz" else 404)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def readiness() -> Iterator[tuple[int, type[Ready]]]:
    answers = type("Answers", (Ready,), {})
    server = http.server.HTTPServer(("127.0.0.1", 0), answers)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server.server_address[1], answers
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "::"])
def test_healthcheck_of_a_ready_server(readiness: tuple[int, type[Ready]], host: str) -> None:
    done = run("healthcheck", MOCKSERVER_HOST=host, MOCKSERVER_PORT=str(readiness[0]))
    assert (done.exit_code, done.output) == (0, "ready\n")


def test_healthcheck_reads_the_port_file_when_the_port_is_0(
    readiness: tuple[int, type[Ready]], tmp_path: Path
) -> None:
    (tmp_path / "port").write_text(f"{readiness[0]}\n")
    assert run("healthcheck", "--port", "0", "--port-file", str(tmp_path / "port")).exit_code == 0
    absent = run(
        "healthcheck", "--port", "0", "--port-file", str(tmp_path / "absent"), "--within", "0"
    )
    assert (absent.exit_code, "--port-file names no file" in absent.output) == (5, True)


def test_healthcheck_of_a_server_that_is_not_ready_says_why(
    readiness: tuple[int, type[Ready]],
) -> None:
    port, answers = readiness
    answers.statuses = (503,)
    done = run("healthcheck", "--port", str(port), "--within", "0")
    assert done.exit_code == 5
    assert "answered 503" in done.output
    assert "rules.yaml is bad" in done.output


def test_healthcheck_waits_for_readiness(readiness: tuple[int, type[Ready]]) -> None:
    port, answers = readiness
    answers.statuses = (503, 503, 200)
    assert run("healthcheck", "--port", str(port), "--within", "30").exit_code == 0


def test_healthcheck_where_nothing_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    done = run("healthcheck", "--port", str(port), "--within", "0")
    assert (done.exit_code, done.output.startswith("not ready: ")) == (5, True)


def test_healthcheck_of_an_address(readiness: tuple[int, type[Ready]]) -> None:
    port = readiness[0]
    assert (
        run("healthcheck", "--url", f"http://127.0.0.1:{port}/", MOCKSERVER_PORT="1").output
        == "ready\n"
    )
    below = run("healthcheck", "--url", f"http://127.0.0.1:{port}/below", "--within", "0")
    assert (
        below.exit_code,
        f"not ready: http://127.0.0.1:{port}/below answered 404" in below.output,
    ) == (5, True)
    wrong = run("healthcheck", "--url", f"127.0.0.1:{port}")
    assert (wrong.exit_code, "--url: got '127.0.0.1:" in wrong.output) == (2, True)


def test_healthcheck_over_tls_trusts_the_authority_of_this_user(tmp_path: Path) -> None:
    class Served(Ready):
        pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Served)
    server.socket = listener_context(Settings(data_dir=str(tmp_path)), None).wrap_socket(
        server.socket, server_side=True
    )
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    url = f"https://127.0.0.1:{server.server_address[1]}"
    assert run("healthcheck", "--url", url, "--data-dir", str(tmp_path)).output == "ready\n"
    other = run("healthcheck", "--url", url, "--data-dir", str(tmp_path / "none"), "--within", "0")
    assert (other.exit_code, "CERTIFICATE_VERIFY_FAILED" in other.output) == (5, True)
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_ipv6_address_stands_in_brackets_in_every_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    done = run("healthcheck", "--host", "[::1]", "--port", str(port), "--within", "0")
    assert done.output.startswith(f"not ready: http://[::1]:{port}: ")
    assert (
        json.loads(run("openapi", "--host", "::1").output)["servers"][0]["url"]
        == "http://[::1]:4111"
    )


def test_ca_prints_the_same_certificate_every_time(tmp_path: Path) -> None:
    first = run("ca", "--data-dir", str(tmp_path))
    assert first.exit_code == 0
    ssl.create_default_context(cadata=first.output)
    assert run("ca", MOCKSERVER_DATA_DIR=str(tmp_path)).output == first.output


def test_ca_in_a_folder_that_cannot_be_made_is_bad_usage(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run("ca", "--data-dir", str(tmp_path / "file" / "below"))
    assert (done.exit_code, "--data-dir" in done.output) == (2, True)


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("mockserver sc", {"scenarios", "schema"}),
        ("mockserver help expl", {"explain", "explore"}),
        ("mockserver --scenario declines-by", {"declines-by-reason"}),
        ("mockserver run --scenario declines-by", {"declines-by-reason"}),
        ("mockserver scenarios declines-by", {"declines-by-reason"}),
        ("mockserver serve --profile ", {"documented", "sdk"}),
        ("mockserver explore --format ju", {"junit"}),
        ("mockserver check mine", {"mine"}),
        ("mockserver serve --seed ", set()),
    ],
)
def test_the_shell_completes_commands_scenarios_and_choices(typed: str, offered: set[str]) -> None:
    *before, last = typed.split(" ")[1:]
    found = BashComplete(main, {}, "mockserver", "_MOCKSERVER_COMPLETE").get_completions(
        before, last
    )
    assert {item.value for item in found} == offered


def test_help_is_that_of_the_command() -> None:
    assert run("help").output == run("--help").output
    assert run("help", "serve").output == run("serve", "--help").output
    assert run("help", "store", "export").output == run("store", "export", "--help").output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["serv"], "No such command 'serv'. Did you mean 'serve'?"),
        (["store", "expot"], "No such command 'expot'. Did you mean 'export'?"),
        (["serve", "x"], "serve has no commands of its own, got 'x'"),
    ],
)
def test_help_of_what_is_no_command_is_refused(words: list[str], said: str) -> None:
    done = run("help", *words)
    assert (done.exit_code, said in done.output) == (2, True), done.output
