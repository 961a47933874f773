"""The tools of a coding agent, over an application in this process."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import mockserver
from tests.driving import CARD, DUMMY, VISA, Api
from tests.mcp.talking import SECRETS, Agent, in_process, talk

from mockserver.mcp import server_tools  # isort: skip
from mockserver.mcp.explore_tools import Folders, explore_tools  # isort: skip
from mockserver.mcp.server_tools import Line  # isort: skip
from mockserver.mcp.tools import Tool, ToolRefused, rows  # isort: skip

CHARGE = {
    "amount": 20,
    "currency": "AUD",
    "reference": "order-1",
    "providerId": DUMMY,
    "paymentInformation": CARD,
}
LOST = """
version: 1
name: lost
rules:
  - id: lost
    when: {op: charge.create}
    limit: 1
    then: {transport: {at: answer, reset: true}}
"""
BAD = (
    "version: 1\nname: bad\nrules:\n  - id: a\n    when: {op: charge.creat}\n    then: "
    "{decline: insufficient_fund}\n"
)


def test_a_payment_is_tried_by_hand_and_looked_up() -> None:
    async def story(agent: Agent) -> None:
        opened = json.loads(await agent.does("open_sandbox", key="sk_shop", name="Checkout"))
        assert opened["environment"] == {
            "MOCKSERVER_URL": "http://127.0.0.1:4111",
            "MOCKSERVER_PUBLIC_KEY": "pk_shop",
        }
        assert opened["sandbox"]["name"] == "Checkout"
        shown = await agent.does("operations", find="charge.create")
        example = json.loads(
            shown.partition("POST /charge/card  charge.create")[2]
            .partition("body: ")[2]
            .splitlines()[0]
        )
        assert example["paymentInformation"]["cardNumber"] == VISA
        assert "GET /charge  charge.search" in await agent.does("operations", find="/charge")
        assert (await agent.does("operations")).count("\n") > 50
        paid = await agent.does(
            "call_operation", key="sk_shop", method="post", path="/charge/card", body=CHARGE
        )
        assert paid.startswith('201\n{"chargeId":"')
        charge = json.loads(paid.partition("\n")[2])["chargeId"]
        declined = {**CHARGE, "paymentInformation": {**CARD, "cardNumber": "4000000000009995"}}
        assert (
            await agent.does("call_operation", method="POST", path="/charge/card", body=declined)
        )[:3] == "400"
        assert f"charge {charge} paid: (new) -> SUCCESS" in await agent.does(
            "timeline", key="sk_shop"
        )
        assert json.loads(await agent.does("journal", key="sk_shop", op="charge.*"))["count"] == 1
        entry = json.loads(await agent.does("journal_entry", key="sk_shop", entry_id=1))
        assert entry["request"]["body"]["paymentInformation"]["ccv"] == "***"
        [order] = json.loads(await agent.does("books", key="sk_shop", reference="order-1"))[
            "orders"
        ]
        assert order["net"] == 20
        told = {"key": "sk_shop", "rows": [{"reference": "order-1", "paid": 30}]}
        assert (
            "books-" in await agent.does("compare_books", **told) or "differ" in agent.answers[-1]
        )
        assert "wanted exactly 2, got 1" in await agent.is_refused(
            "verify", key="sk_shop", requests=[{"op": "charge.create", "count": 2}]
        )
        await agent.does("verify", key="sk_shop", requests=[{"op": "charge.create", "count": 1}])
        await agent.does("reset_sandbox", key="sk_shop")
        assert json.loads(await agent.does("books", key="sk_shop"))["orders"] == []

    talk(in_process(Api()), story)


def test_a_failure_is_made_and_judged() -> None:
    async def story(agent: Agent) -> None:
        for tool in ("apply_scenario", "check_scenario"):
            said = await getattr(agent, "is_refused" if tool == "apply_scenario" else "does")(
                tool, scenario=BAD
            )
            assert "did you mean 'charge.create'?" in said
            assert "line 5" in said or '"line":5' in said
        assert "soft-decline-then-success: A payment is declined twice" in await agent.does(
            "shipped_scenarios"
        )
        ready = await agent.does("shipped_scenarios", name="soft-decline-then-success")
        assert '"soft-decline-then-success"' in await agent.does("apply_scenario", scenario=ready)
        assert '"three-ds-passed"' in await agent.does(
            "apply_scenario", scenario={"shipped": "three-ds-passed"}
        )
        explained = await agent.does("explain", scenario=LOST, request={"op": "charge.create"})
        assert "fires: lost (scenario:5)" in explained
        await agent.does("apply_scenario", scenario=LOST)
        pay: dict[str, Any] = {"method": "POST", "path": "/charge/card", "body": CHARGE}
        assert "the connection was cut" in await agent.is_refused("call_operation", **pay)
        assert (await agent.does("call_operation", **pay)).startswith("201")
        assert '"id":"lost"' in (lost := await agent.does("rules"))
        assert '"hits":1' in lost
        assert '"double-charge"' in await agent.does("findings")
        assert '"double-charge"' in await agent.does("findings_at_the_end", severity="error")
        await agent.does("clear_scenarios")
        assert '"id":"lost"' not in await agent.does("rules")

    talk(in_process(Api()), story)


def test_an_operation_that_is_never_answered_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_tools, "OPERATION_SECONDS", 0.05)

    async def story(agent: Agent) -> None:
        await agent.does("apply_scenario", scenario=LOST.replace("reset: true", "delay: 60s"))
        said = await agent.is_refused(
            "call_operation", method="POST", path="/charge/card", body=CHARGE
        )
        assert said == "POST /charge/card: no answer came within 0.05 s"

    talk(in_process(Api(waits=True)), story)


def test_time_passes_and_webhooks_arrive() -> None:
    async def story(agent: Agent) -> None:
        await agent.does("set_clock", mode="manual", now="2031-03-02T09:00:00Z")
        hook = {"url": "http://127.0.0.1:4111/__inbox/shop?publicKey=pk_agent"}
        held = {**CHARGE, "capture": False, "webhook": hook}
        await agent.does("call_operation", method="POST", path="/charge/card", body=held)
        assert "2031-03-10T09:00:00" in await agent.does("advance_clock", by="8d")
        assert "2031-03-10T09:00:00" in await agent.does("clock")
        assert "by: got 'soon'" in (await agent.is_refused("advance_clock", by="soon")).lower()
        assert '"held":true' in await agent.does(
            "wait_for", **{"for": {"inbox": "shop"}, "timeout": "1s"}
        )
        assert '"count":' in await agent.does("inbox", name="shop")

    talk(in_process(Api()), story)


def test_what_can_be_looked_up() -> None:
    async def story(agent: Agent) -> None:
        assert "insufficient_funds: " in await agent.does("outcomes")
        assert (await agent.does("outcomes", name="insufficient_funds")).count("\n") == 0
        assert "did you mean 'insufficient_funds'?" in await agent.is_refused(
            "outcomes", name="insuficient_funds"
        )
        assert "did you mean 'three-ds-passed'?" in await agent.is_refused(
            "shipped_scenarios", name="three-ds-pased"
        )
        assert "explore: Try every failure" in await agent.does("documentation")
        assert (await agent.does("documentation", name="docs/explore.md")).startswith(
            "# Try every failure"
        )
        for page in ("explor", "../README", "/etc/passwd"):
            assert "which is not a page" in await agent.is_refused("documentation", name=page)
        resources = {str(one.uri): one for one in (await agent.client.list_resources()).resources}
        assert len(resources) >= 30
        for uri in (
            "mockserver://scenario.schema.json",
            "mockserver://docs/mcp",
            "mockserver://docs/spec/service",
        ):
            [page] = (await agent.client.read_resource(uri)).contents
            assert (page.mime_type, len(page.text) > 1_000) == (resources[uri].mime_type, True)  # type: ignore[union-attr]
        with pytest.raises(Exception, match="is not a page"):
            await agent.client.read_resource("mockserver://docs/../../LICENSE")

    talk(in_process(Api()), story)


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        (
            "timeline",
            {"sinc": "1"},
            "unknown argument 'sinc' - did you mean 'since'?, allowed: key, since",
        ),
        ("inbox", {}, "name is missing"),
        ("explain", {"scenario": LOST}, "request is missing: wanted method and path"),
        (
            "explain",
            {"scenario": LOST, "request": {"op": "charge.creat"}},
            "did you mean 'charge.create'?",
        ),
        ("explain", {"scenario": BAD, "request": {"op": "charge.create"}}, "scenario:5:"),
        (
            "call_operation",
            {"method": "POST", "path": "/charge/card", "body": "x"},
            'body: got "x", wanted object',
        ),
        (
            "call_operation",
            {"method": "TRACE", "path": "/charge"},
            "method: got 'TRACE', allowed: GET, POST",
        ),
        ("call_operation", {"method": True, "path": "/charge"}, "method: got true, wanted string"),
        ("operations", {"find": "charge.creat"}, "did you mean 'charge.create'?"),
        ("journal", {"limit": 0}, "Limit"),
        ("findings", {"severity": "fatal"}, "Severity"),
        ("advance_clock", {}, "by"),
        ("wait_for", {"advance": "yes"}, "advance: got"),
        ("apply_scenario", {"scenario": "a: [\n"}, "line"),
        ("apply_scenario", {"scenario": {"shipped": "three-ds-pased"}}, "three-ds-passed"),
    ],
)
def test_a_refusal_says_what_was_got_and_what_is_allowed(
    tool: str, arguments: dict[str, Any], words: str
) -> None:
    async def story(agent: Agent) -> None:
        assert words in await agent.is_refused(tool, **arguments)

    talk(in_process(Api()), story)


def test_an_unknown_tool_is_told_the_nearest() -> None:
    async def story(agent: Agent) -> None:
        with pytest.raises(Exception, match="did you mean 'timeline'"):
            await agent.does("timelin")

    talk(in_process(Api()), story)


@pytest.mark.parametrize(
    "path",
    [
        "/__admin/reset?all=true",
        "//__admin/state",
        "/x/../__admin/state",
        "/%5f%5fadmin/state",
        "/x/..%2f__admin/state",
        "/mcp",
        "http://example.com/charge",
        "@example.com/charge",
        ":9/charge",
        "charge",
        "",
    ],
)
def test_only_operations_of_this_server_are_called(path: str) -> None:
    async def story(agent: Agent) -> None:
        assert "path: got" in await agent.is_refused("call_operation", method="GET", path=path)

    talk(in_process(Api()), story)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("call_operation", {"method": "GET", "path": "/\ud800"}), ("journal", {"op": "\ud800"})],
)
def test_a_text_that_cannot_be_sent_is_refused(tool: str, arguments: dict[str, Any]) -> None:
    made = {
        one.row.name: one
        for one in server_tools.server_tools(Line("http://127.0.0.1:4111", None, Api().app))
    }
    with pytest.raises(ToolRefused):
        asyncio.run(made[tool](arguments))
    assert asyncio.run(made["inbox"]({"name": "\ud800"})).startswith('{"name":"?"')


def test_no_answer_holds_a_card_number_a_ccv_or_a_key() -> None:
    number, spaced, key, _ = SECRETS
    secret = {"cardNumber": number, "expiryDate": "12/40", "ccv": "737"}

    async def story(agent: Agent) -> None:
        await agent.does("open_sandbox", key=key, name="Card")
        await agent.is_refused("open_sandbox", key=key, name=f"Card {number}")
        body = {**CHARGE, "paymentInformation": secret, "metadata": {"note": f"{spaced} {key}"}}
        await agent.does("call_operation", key=key, method="POST", path="/charge/card", body=body)
        await agent.does("call_operation", key=key, method="GET", path=f"/charge/{number}")
        for tool in (
            "timeline",
            "journal",
            "books",
            "findings",
            "findings_at_the_end",
            "rules",
            "clock",
        ):
            await agent.does(tool, key=key)
        await agent.does("journal_entry", key=key, entry_id=1)
        for tool, arguments in {
            "apply_scenario": {"scenario": f"version: {number}\nname: {key}\n"},
            "inbox": {number: key},
            "journal": {"limit": f"{number} {key}"},
            "outcomes": {"name": number},
            "documentation": {"name": key},
            "operations": {"find": number},
            "call_operation": {"method": number, "path": f"//{key}"},
            "explain": {"scenario": f"rules: {key} {number}", "request": {}},
            "clock": {"key": [number, key]},
        }.items():
            await agent.is_refused(tool, **arguments)

    for answer in talk(in_process(Api()), story):
        assert [secret for secret in SECRETS if secret in answer] == []


def test_every_tool_says_what_it_is_for_and_what_it_takes() -> None:
    async def story(agent: Agent) -> None:
        tools = {tool.name: tool for tool in (await agent.client.list_tools()).tools}
        assert list(tools) == [
            name for name in rows() if name not in ("explore", "replay", "check_fix")
        ]
        for tool in tools.values():
            assert len(tool.description or "") > 30
            assert tool.input_schema["additionalProperties"] is False
            assert [
                name
                for name, one in tool.input_schema["properties"].items()
                if not one.get("description")
            ] == []
        assert tools["journal"].annotations is not None
        assert (
            tools["journal"].annotations.read_only_hint,
            tools["verify"].annotations.read_only_hint,
        ) == (
            True,
            False,
        )  # type: ignore[union-attr]
        assert "no packet leaves" in (agent.client.instructions or "")
        assert "explore" not in (agent.client.instructions or "")

    talk(in_process(Api()), story)


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside / "sub", outside):
        folder.mkdir(parents=True)
    for file in (inside / "pay.py", inside / "run", outside / "secret", outside / "run"):
        file.write_text("")
        file.chmod(0o755)
    (inside / "link").symlink_to(outside / "secret")
    (inside / "away").symlink_to(outside)
    (inside / "python").symlink_to(sys.executable)
    (inside / "linked").symlink_to(outside / "run")
    return Folders([inside])


@pytest.mark.parametrize(
    "words",
    [
        ["sh", "pay.py"],
        ["sh", "--file=pay.py", "-xpay.py", "{url}/charge", "http://127.0.0.1/charge"],
        ["./run"],
        ["sub/../run"],
        ["sh", "not-there.txt", "a=b", "charge.create#1"],
    ],
)
def test_a_command_inside_is_run(words: list[str], folders: Folders) -> None:
    folders.check_command(words, folders.folder(""), "command")
    folders.check_command(
        [*words, str(folders.allowed[0] / "sub" / "new.txt")], folders.folder(""), "command"
    )


def test_a_program_of_the_path_may_be_linked_inside(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).resolve().parent))
    folders.check_command(["./python", "pay.py"], folders.folder(""), "command")
    monkeypatch.setenv("PATH", str(folders.allowed[0]))
    with pytest.raises(ToolRefused, match="of --allow"):
        folders.check_command(["./python", "pay.py"], folders.folder(""), "command")


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["no-such-program-here"],
        ["./missing"],
        ["../outside/run"],
        ["./linked"],
        ["away/run"],
        ["sh", "../outside/secret"],
        ["sh", "/etc/passwd"],
        ["sh", "link"],
        ["sh", "away/new.txt"],
        ["sh", "--file=../outside/secret"],
        ["sh", "-f../outside/secret"],
        ["sh", "--file=/etc/passwd"],
        ["sh", "~/secret"],
        ["sh", "a\0b"],
    ],
)
def test_a_command_that_names_what_is_outside_is_refused(
    words: list[str], folders: Folders
) -> None:
    with pytest.raises(ToolRefused, match=r"^command: "):
        folders.check_command(words, folders.folder(""), "command")


RUNNING = ("explore", "replay", "check_fix")
"""The tools that run a command: those that are given names of files."""

CANARY = "the-line-of-a-file-outside"
COMMANDS = ("books", "restart", "reconcile")
"""Options of these tools that are commands."""


def running_tools(folders: Folders) -> dict[str, Tool]:
    return {one.row.name: one for one in explore_tools(folders, None)}


def texts_of_tools() -> list[tuple[str, str]]:
    """Every argument of these tools that holds texts: the rows of arguments.csv, and the options of
    the command."""
    tools = running_tools(Folders([Path.cwd()]))
    assert list(tools) == [*RUNNING]
    return [
        (name, argument)
        for name, tool in tools.items()
        for argument, schema in tool.properties.items()
        if schema["type"] not in ("integer", "boolean")
    ]


def given_as(tool: Tool, argument: str, text: str) -> dict[str, Any]:
    """The arguments of a tool of which one holds a text, and the others what they need."""
    asked: dict[str, Any] = {"command": ["sh", "pay.py"]}
    if "cell" in tool.required:
        asked["cell"] = "charge.create#1/lost_answer"
    if argument == "command":
        return {**asked, "command": ["sh", text]}
    if argument in COMMANDS:
        return {**asked, argument: f"sh {text}"}
    return {**asked, argument: [text] if tool.properties[argument]["type"] == "array" else text}


OUTSIDE = (
    "/etc/passwd",
    "../outside/secret",
    "sub/../../outside/secret",
    "link",
    "away/secret",
    "~/secret",
    "a=/etc",
)


@pytest.mark.parametrize(("tool", "argument"), texts_of_tools())
def test_no_argument_of_a_tool_that_runs_a_command_leads_outside(
    tool: str, argument: str, folders: Folders
) -> None:
    made = running_tools(folders)[tool]
    for text in OUTSIDE:
        with pytest.raises(ToolRefused, match=rf"^{argument}: got '.*inside of --allow: "):
            asyncio.run(made(given_as(made, argument, text)))
    for text in ("a\0b", "\ud800"):
        with pytest.raises(ToolRefused, match=rf"^{argument}: "):
            asyncio.run(made(given_as(made, argument, text)))
    assert not os.path.lexists(folders.allowed[0] / "explored")


LISTS = (
    "own.yaml,/etc/passwd",
    "sample-shop, ../outside/secret",
    " ../outside/secret",
    "\t/etc/passwd",
    "own.yaml,away",
)


@pytest.mark.parametrize(
    ("tool", "argument"),
    [one for one in texts_of_tools() if one[1] not in (*COMMANDS, "command", "folder")],
)
def test_no_list_and_no_blank_before_a_name_leads_outside(
    tool: str, argument: str, folders: Folders
) -> None:
    made = running_tools(folders)[tool]
    for text in LISTS:
        with pytest.raises(ToolRefused, match=rf"^{argument}: got '.*inside of --allow: "):
            asyncio.run(made(given_as(made, argument, text)))


@pytest.mark.parametrize("tool", RUNNING)
def test_a_folder_of_scenarios_holds_no_link_that_leads_outside(
    tool: str, folders: Folders
) -> None:
    inside = folders.allowed[0]
    (inside / "sub" / "linked.yaml").symlink_to(inside.parent / "outside" / "secret")
    made = running_tools(folders)[tool]
    with pytest.raises(ToolRefused, match=r"^scenario: got '.*sub/linked.yaml'.*--allow"):
        asyncio.run(made(given_as(made, "scenario", "sub")))


@pytest.mark.parametrize(
    "text",
    [
        "sample-shop",
        "own.yaml",
        "sub",
        "sub/../own.yaml",
        "inner.yaml",
        ".",
        "own.yaml, sample-shop",
        " sub,",
    ],
)
def test_scenarios_inside_and_those_of_the_product_are_read(text: str, folders: Folders) -> None:
    inside = folders.allowed[0]
    (inside / "own.yaml").write_text("version: 1\n")
    (inside / "inner.yaml").symlink_to("own.yaml")
    folders.check_argument(text, inside, "scenario")
    folders.check_argument(str(inside / text), inside, "scenario")


NEEDED: dict[str, Any] = {
    "method": "GET",
    "path": "/charge",
    "scenario": LOST,
    "request": {"op": "charge.create"},
    "entry_id": "1",
    "rows": [],
    "name": "shop",
}
"""Arguments that tools need, by name."""


@pytest.mark.parametrize("tool", [name for name in rows() if name not in RUNNING])
def test_no_other_tool_reads_a_file(tool: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.yaml"
    secret.write_text(f"{CANARY}: 1\n")
    pages, scenarios = (
        Path(mockserver.__file__).parents[1] / "docs",
        Path(mockserver.__file__).parents[1] / "scenarios",
    )
    names = [
        str(secret),
        f"file://{secret}",
        *(os.path.relpath(secret, one) for one in (Path.cwd(), pages, scenarios)),
    ]
    names += [name.removesuffix(".yaml") for name in names]
    made = {
        one.row.name: one
        for one in server_tools.server_tools(Line("http://127.0.0.1:4111", None, Api().app))
    }[tool]
    needed = {name: NEEDED[name] for name in made.required}

    async def answers() -> list[str]:
        told = []
        for argument in made.properties:
            for name in names:
                for value in (name, [name], {"file": name}, {"shipped": name}):
                    try:
                        told.append(await made({**needed, argument: value}))
                    except ToolRefused as refused:
                        told.append(str(refused))
        return told

    assert [one for one in asyncio.run(answers()) if CANARY in one] == []


@pytest.mark.parametrize(
    ("report", "words"),
    [
        (None, "command is missing: "),
        ("{", "command is missing: "),
        ({"cells": [], "command": 7}, "command is missing: "),
        ({"cells": []}, "command: wanted the words of a command"),
        (
            {"cells": [], "command": ["sh", "pay.py", "sk_***"]},
            "the report masks a card number or a key",
        ),
        (
            {"cells": [], "command": ["sh", "4000********5556"]},
            "the report masks a card number or a key",
        ),
        ({"cells": [], "command": ["sh", "../outside/secret"]}, "command: got '../outside/secret'"),
        (
            {
                "cells": [],
                "command": ["sh"],
                "options": ["--scenario", "a.yaml", "--scenario", "link"],
            },
            "scenario: got 'link'",
        ),
        ({"cells": [], "command": ["sh"], "options": ["--books", "sh link"]}, "books: got 'link'"),
    ],
)
@pytest.mark.parametrize("tool", ["replay", "check_fix"])
def test_a_command_of_a_report_is_checked_as_one_that_is_given(
    tool: str, report: object, words: str, folders: Folders
) -> None:
    if report is not None:
        (folders.allowed[0] / "explored").mkdir()
        text = report if isinstance(report, str) else json.dumps(report)
        (folders.allowed[0] / "explored" / "report.json").write_text(text)
    with pytest.raises(ToolRefused) as refused:
        asyncio.run(running_tools(folders)[tool]({"cell": "charge.create#1/lost_answer"}))
    assert words in str(refused.value)


@pytest.mark.parametrize(
    "given", ["..", "../outside", "away", "/", "sub/../../outside", "pay.py", "missing"]
)
def test_a_folder_outside_is_refused(given: str, folders: Folders) -> None:
    assert folders.folder("sub") == folders.allowed[0] / "sub"
    with pytest.raises(ToolRefused, match=r"^folder: "):
        folders.folder(given)


@pytest.mark.parametrize("target", ["explored", "explored/report.json"])
def test_reports_go_through_no_link(target: str, folders: Folders) -> None:
    inside = folders.allowed[0]
    (inside / target).parent.mkdir(exist_ok=True)
    assert folders.folder("") == inside
    (inside / target).symlink_to(inside.parent / "outside" / Path(target).name)
    with pytest.raises(ToolRefused, match="symbolic link"):
        folders.folder("")


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        (
            "explore",
            {"command": ["sh", "pay.py"], "books": "cat ../outside/secret"},
            "books: got '../outside/secret'",
        ),
        (
            "explore",
            {"command": ["sh", "pay.py"], "books": "http://example.com/"},
            "books: got 'http://example.com/'",
        ),
        ("explore", {"command": ["sh", "pay.py"], "restart": "'"}, "restart: got"),
        ("explore", {"command": ["sh", "pay.py"], "out": "x"}, "unknown argument 'out'"),
        ("explore", {"command": [{"a": 1}]}, "command: got"),
        ("explore", {"command": "sh pay.py"}, "wanted array"),
        ("replay", {"command": ["sh", "pay.py"]}, "cell is missing"),
        (
            "replay",
            {"command": ["sh", "pay.py"], "cell": "../outside/secret"},
            "cell: got '../outside/secret'",
        ),
        (
            "check_fix",
            {"command": ["sh", "pay.py"], "cell": "/etc/passwd"},
            "cell: got '/etc/passwd'",
        ),
        ("check_fix", {"command": ["sh", "pay.py"], "folder": ".."}, "folder: got '..'"),
    ],
)
def test_a_run_that_would_leave_the_folder_is_refused(
    tool: str, arguments: dict[str, Any], words: str, folders: Folders
) -> None:
    made = {one.row.name: one for one in explore_tools(folders, None)}
    asked = (
        {"cell": "charge.create#1/lost_answer", **arguments} if tool == "check_fix" else arguments
    )
    with pytest.raises(ToolRefused) as refused:
        asyncio.run(made[tool](asked))
    assert words in str(refused.value)
    assert not os.path.lexists(folders.allowed[0] / "explored")
