"""The two doors for coding agents: /mcp of a server, with its guards, and the command over standard
input."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mockserver.adapters.extras import how_to_add
from mockserver.cli import main
from mockserver.web.app import Application
from tests import warm
from tests.driving import Api, Reply
from tests.mcp.talking import SECRETS, Agent, talk
from tests.served import Process, serve

ROOT = Path(__file__).resolve().parents[2]
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ACCEPT = {"accept": "application/json, text/event-stream"}
TOKEN = "s3cret"


def open_door(**settings: Any) -> Api:
    """A caller of an application that answers agents."""
    from mockserver.mcp.http import mount

    api = Api(**settings)
    world = api.app.world
    # One of its own: other tests get the application without the door.
    app = Application(world.settings, world.real_clock, world.directory.reader)
    mount(app)
    api.app = app
    return api


def ping(mounted: bool = True, headers: dict[str, str] | None = None, **settings: Any) -> Reply:
    api = open_door(**settings) if mounted else Api(**settings)
    return api.call("POST", "/mcp", PING, headers={**ACCEPT, **(headers or {})}, waits=True)


def test_the_path_answers_agents() -> None:
    assert ping().body == {"jsonrpc": "2.0", "id": 1, "result": {}}
    for origin in ("http://127.0.0.1", "http://127.0.0.1:80"):
        assert (
            ping(headers={"host": origin.removeprefix("http://"), "origin": origin}).status == 200
        )


def test_it_is_off_without_the_option() -> None:
    refused = ping(mounted=False)
    assert (refused.status, refused["details"]) == (404, {"Path": "no such route"})


@pytest.mark.parametrize(
    "headers", [{"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}]
)
def test_a_page_of_another_site_is_turned_away(headers: dict[str, str]) -> None:
    refused = ping(headers=headers)
    assert (refused.status, list(refused["details"])) == (403, ["Origin"])


def test_a_foreign_host_is_turned_away() -> None:
    refused = ping(headers={"host": "evil.example"})
    assert (refused.status, list(refused["details"])) == (403, ["Host"])


def test_another_type_of_body_is_turned_away() -> None:
    assert ping(headers={"content-type": "text/plain"}).status == 415


def test_the_admin_token_is_wanted_and_passed_on() -> None:
    assert (
        ping(admin_token=TOKEN).status,
        ping(admin_token=TOKEN, headers={"x-admin-token": "x"}).status,
    ) == (
        401,
        401,
    )
    for headers in ({"x-admin-token": TOKEN}, {"authorization": f"Bearer {TOKEN}"}):
        assert ping(admin_token=TOKEN, headers=headers).status == 200


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_another_method_is_refused(method: str) -> None:
    refused = open_door().call(method, "/mcp", headers=ACCEPT)
    assert (refused.status, refused["details"]["Method"]) == (405, f"got {method}, allowed: POST")


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b'{"jsonrpc": "2.0"}', b"\xff\xfe", b'{"a": ' * 200, b"1" * 5_000_000]
)
def test_what_is_no_message_is_refused(raw: bytes) -> None:
    api = open_door()
    headers = {**ACCEPT, "content-type": "application/json"}
    assert 400 <= api.send("POST", "/mcp", raw, headers, waits=True).status < 500


@pytest.mark.parametrize("command", [["mcp"], ["serve", "--mcp", "--port", "0"]])
def test_without_the_package_the_command_says_what_to_install(
    command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    done = CliRunner().invoke(main, command)
    said = f"the package mcp is not installed: {how_to_add('mcp')}"
    assert (done.exit_code, said in done.output) == (2, True)


def test_a_folder_of_allow_is_there(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["mcp", "--allow", str(tmp_path / "missing")])
    assert (done.exit_code, "--allow" in done.output) == (2, True)


@pytest.mark.slow
def test_the_package_is_loaded_for_agents_alone() -> None:
    program = (
        "import sys\nfrom mockserver.cli import main\n"
        "main(['--help'], standalone_mode=False)\n"
        "import mockserver.web.app, mockserver.pytest_plugin\n"
        "print(sorted({'mcp', 'mcp_types', 'httpx2', 'sse_starlette', 'jsonschema'} & "
        "set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("\n[]\n")


@pytest.fixture(scope="module")
def server() -> Iterator[Process]:
    process = serve("--mcp")
    yield process
    process.stop()


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_agent_talks_over_http(mode: str, server: Process) -> None:
    async def story(agent: Agent) -> None:
        opened = json.loads(await agent.does("open_sandbox", key=f"sk_{mode}"))
        assert opened["environment"]["MOCKSERVER_URL"] == server.url
        assert (await agent.does("call_operation", key=f"sk_{mode}", method="GET", path="/charge"))[
            :3
        ] == "200"
        assert server.call("GET", "/charge", key=f"sk_{mode}")[0] == 200
        assert json.loads(await agent.does("journal", key=f"sk_{mode}"))["count"] == 2
        names = [tool.name for tool in (await agent.client.list_tools()).tools]
        assert ("timeline" in names, "explore" in names) == (True, False)

    talk(f"{server.url}/mcp", story, mode)


def agent_of(*args: str, folder: Path, **environ: str) -> Any:
    """What starts the command for an agent, with Python on its path."""
    from mcp import StdioServerParameters
    from mcp.client.stdio import stdio_client

    program, *words = [*warm.python(), "-m", "mockserver", "mcp", *args]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": warm.path(), **environ}
    return stdio_client(
        StdioServerParameters(command=program, args=words, cwd=folder, env=environment)
    )


BUY = """
import os
from shop import Shop
shop = Shop(os.environ["MOCKSERVER_URL"], os.environ["MOCKSERVER_SECRET_KEY"])
print("card 4000056655665556 sk_topsecret ccv: 737")
raise SystemExit(0 if shop.buy("order-1", 20, "4111111111111111") == "paid" else 1)
"""
BLIND = """                continue
            if answer.is_success:"""
CAREFUL = """                found = self.http.get("/charge", params={"reference": order}).json()["charges"]
                if any(one["status"] == "SUCCESS" for one in found):
                    return "paid"
                continue
            if answer.is_success:"""
CELL = "charge.create#1/lost_answer"


@pytest.mark.slow
def test_from_the_source_of_a_naive_shop_to_a_red_cell_to_a_green_one(tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    shutil.copy(ROOT / "tests" / "e2e" / "naive" / "shop.py", shop)
    (shop / "mild.yaml").write_text("version: 1\nname: mild\nrules: []\n")
    (tmp_path / "secret.yaml").write_text("secret-line: 1\n")
    run: dict[str, Any] = {"command": ["python", "buy.py"]}

    async def story(agent: Agent) -> None:
        assert "`explore` does it all in one call" in (agent.client.instructions or "")
        # It reads the source, learns what the sandbox is for, and writes what pays.
        assert "except httpx.TransportError" in (shop / "shop.py").read_text()
        assert "UNSAFE" in await agent.does("documentation", name="explore")
        (shop / "buy.py").write_text(BUY)
        told = await agent.is_refused("explore", **run, scenario=["../secret.yaml"])
        assert told.startswith(
            "scenario: got '../secret.yaml', wanted what is there and inside of --allow: "
        )
        assert "secret-line" not in told
        # One of the product by its name, and one of the shop.
        under: dict[str, Any] = {**run, "scenario": ["webhook-twice", "mild.yaml"]}
        found = await agent.does("explore", **under, ops="charge.create", faults="lost_answer")
        assert f"UNSAFE  {CELL}" in found
        assert found.endswith("exit code 1")
        seen = await agent.does("replay", cell=CELL)
        assert "error double-charge: The customer was charged twice" in seen
        assert "search for the charge by its reference" in seen
        assert "not fixed: " in await agent.does("check_fix", cell=CELL)
        source = (shop / "shop.py").read_text()
        assert BLIND in source
        (shop / "shop.py").write_text(source.replace(BLIND, CAREFUL))
        assert (await agent.does("check_fix", cell=CELL)).partition(f"\nfixed: {CELL}\n")[1]
        assert f"UNSAFE  {CELL}" not in await agent.does(
            "explore", **run, ops="charge.create", faults="lost_answer"
        )
        assert "which was survived in" in await agent.is_refused("check_fix", **run, cell=CELL)

    for answer in talk(agent_of("--allow", str(shop), folder=tmp_path), story):
        assert [secret for secret in (*SECRETS, "ccv: 737") if secret in answer] == []
    assert sorted(one.name for one in tmp_path.iterdir()) == ["secret.yaml", "shop"]


@pytest.mark.slow
def test_an_agent_joins_a_server_and_runs_nothing_unless_it_may(
    server: Process, tmp_path: Path
) -> None:
    async def story(agent: Agent) -> None:
        await agent.does("call_operation", key="sk_joined", method="GET", path="/charge")
        assert json.loads(await agent.does("journal", key="sk_joined"))["count"] == 1
        with pytest.raises(Exception, match="not a tool"):
            await agent.does("explore", command=["true"])

    talk(agent_of("--url", server.url, folder=tmp_path), story)
    assert server.call("GET", "/charge", key="sk_joined")[0] == 200


@pytest.mark.slow
def test_a_server_that_is_not_there_is_said(tmp_path: Path) -> None:
    async def story(agent: Agent) -> None:
        assert "no server at http://127.0.0.1:9: " in await agent.is_refused("clock")

    talk(agent_of("--url", "http://127.0.0.1:9", folder=tmp_path), story)


HANG = """
import os, signal
with open("alive", "w") as alive:
    alive.write(f"{os.getpid()}\\n")
    alive.flush()
    signal.pause()
"""


@pytest.mark.slow
@pytest.mark.parametrize("way", ["end of input", "cancelled", "SIGTERM"])
def test_what_an_agent_runs_ends_with_its_call_and_with_the_command(
    way: str, tmp_path: Path
) -> None:
    (tmp_path / "hang.py").write_text(HANG)
    os.mkfifo(tmp_path / "alive")
    asked: list[dict[str, Any]] = [
        {
            "id": 1,
            "method": "initialize",
            "params": {"protocolVersion": "2025-06-18", "capabilities": {}},
        },
        {"method": "notifications/initialized"},
        {
            "id": 2,
            "method": "tools/call",
            "params": {"name": "explore", "arguments": {"command": ["python", "hang.py"]}},
        },
    ]
    asked[0]["params"]["clientInfo"] = {"name": "test", "version": "1"}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    process = subprocess.Popen(
        [*warm.python(), "-m", "mockserver", "mcp", "--allow", str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PATH": path},
        text=True,
    )
    assert process.stdin is not None
    for message in asked:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    process.stdin.flush()
    with (tmp_path / "alive").open() as alive:
        assert alive.readline().strip().isdecimal()
        if way == "SIGTERM":
            process.terminate()
        elif way == "cancelled":
            cancelled = {
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {"requestId": 2},
            }
            process.stdin.write(json.dumps(cancelled) + "\n")
            process.stdin.flush()
        else:
            process.stdin.close()
        # It ends when nobody can write to it any more.
        assert alive.read() == ""
    if way == "cancelled":
        process.stdin.close()
    assert process.wait(20) == (130 if way == "SIGTERM" else 0)
    process.stdin.close()
    assert process.stdout is not None
    process.stdout.close()
