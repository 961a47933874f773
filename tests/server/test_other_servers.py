"""Under another server than ours the application serves everything but what needs the connection
itself: a scenario that does is refused when it is set."""

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

import mockserver
from mockserver.scenario.transport import FaultKind
from mockserver.web.request import TRANSPORT
from tests.driving import Api, card_charge

FOREIGN = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": {}}
DRIVEN = {"type": "lifespan"}
OURS = {**FOREIGN, "state": {TRANSPORT: True}}


def under(fault: str) -> str:
    """A scenario with one fault."""
    return f"{{version: 1, name: cut, rules: [{{id: torn, when: {{op: charge.create}}, then: {{transport: {fault}}}}}]}}"


CUTS = {
    FaultKind.RESET: "{at: receive, reset: true}",
    FaultKind.CLOSE_AFTER: "{at: answer, close_after: 10}",
    FaultKind.TRUNCATE: "{at: answer, truncate: true}",
    FaultKind.GARBAGE: "{at: answer, garbage: true}",
    FaultKind.HANG: "{at: upload, hang: true}",
    FaultKind.EDIT: "{at: answer, headers: {Content-Length: '5'}}",
}
HARMLESS = {
    FaultKind.STATUS: "{at: answer, status: 503}",
    FaultKind.DELAY: "{at: answer, delay: 1s, virtual: true}",
    FaultKind.DRIBBLE: "{at: answer, dribble: {chunk: 10, every: 0ms}}",
    FaultKind.MALFORMED_JSON: "{at: answer, malformed_json: true}",
    FaultKind.SLOW: "{at: upload, slow: {chunk: 10, every: 0ms}}",
    FaultKind.EDIT: "{at: answer, headers: {X-A: b}}",
    FaultKind.COPIES: "{at: receive, copies: 2}",
    FaultKind.HOLD: "{at: answer, hold: 10ms}",
}


def begun(scope: dict[str, Any], api: Api) -> list[Any]:
    """What the application answers to the start of a lifespan, and to its end."""
    messages = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
    said: list[Any] = []

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        said.append(message)

    asyncio.run(api.app({**scope, "state": dict(scope.get("state", {}))}, receive, send))
    return said


def put(api: Api, text: str) -> Any:
    """The answer to a scenario that is set."""
    return api.send(
        "PUT",
        "/__admin/scenarios",
        text.encode(),
        {"content-type": "text/yaml", "x-secretkey": "sk_tests"},
    )


def test_every_kind_of_fault_is_one_of_both() -> None:
    assert set(CUTS) | set(HARMLESS) == set(FaultKind)


@pytest.mark.parametrize(("kind", "fault"), CUTS.items())
def test_a_fault_that_needs_the_connection_is_refused_when_it_is_set(
    kind: FaultKind, fault: str
) -> None:
    api = Api()
    begun(FOREIGN, api)
    refused = put(api, under(fault))
    assert refused.status == 400
    words = refused["details"]["Rules"]
    assert words.startswith("rule 'torn' (posted:1): got transport at ")
    assert (
        "allowed: status, delay, dribble, hold, malformed_json, slow, copies, edit, no headers "
        "that say another length" in words
    )
    assert words.endswith("this is not the server of 'mockserver serve', which alone can do that")
    assert len(api.get("/__admin/scenarios")["scenarios"]) == 1


@pytest.mark.parametrize(("kind", "fault"), HARMLESS.items())
def test_any_other_fault_may_be_set(kind: FaultKind, fault: str) -> None:
    api = Api()
    begun(FOREIGN, api)
    assert put(api, under(fault)).status == 200


@pytest.mark.parametrize("scope", [DRIVEN, OURS])
def test_in_process_and_under_our_server_all_may_be_set(scope: dict[str, Any]) -> None:
    api = Api()
    begun(scope, api)
    for fault in CUTS.values():
        assert put(api, under(fault)).status == 200


def test_a_state_document_brings_no_such_scenario_in() -> None:
    there, api = Api(), Api()
    assert put(there, under(CUTS[FaultKind.RESET])).status == 200
    begun(FOREIGN, api)
    assert api.put("/__admin/state", there.get("/__admin/state", secrets="true").body).status == 400


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (under(CUTS[FaultKind.GARBAGE]), "got transport at answer: garbage, allowed: status"),
        (
            "{version: 1, name: old, tls: {certificate: expired}}",
            "got certificate: expired, allowed: none",
        ),
    ],
)
def test_files_that_the_start_names_are_refused_at_the_start(text: str, words: str) -> None:
    api = Api(scenario=text)
    (failed,) = begun(FOREIGN, api)
    assert failed["type"] == "lifespan.startup.failed"
    assert words in failed["message"]
    assert [said["type"] for said in begun(DRIVEN, api)] == [
        "lifespan.startup.complete",
        "lifespan.shutdown.complete",
    ]


def uvicorn(folder: Path, factory: str) -> subprocess.Popen[str]:
    """Uvicorn's own command on a free port."""
    command = [sys.executable, "-m", "uvicorn", "--factory", factory, "--port", "0"]
    root = str(Path(mockserver.__file__).resolve().parents[1])
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), root])}
    return subprocess.Popen(command, cwd=folder, env=environ, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_uvicorn_serves_the_application(tmp_path: Path) -> None:
    with uvicorn(tmp_path, "mockserver:create_app") as process:
        assert process.stderr is not None
        try:
            address = next(
                found[0] for line in process.stderr if (found := re.search(r"http://[\d.:]+", line))
            )
            key = {"x-secretkey": "sk_tests"}
            with httpx.Client(base_url=address, headers=key) as client:
                charge = client.post("/charge/card", json=card_charge())
                assert charge.status_code == 201
                assert client.get(f"/charge//{charge.json()['chargeId']}/").json() == charge.json()
                assert client.put("/charge/card", json={}).headers["allow"] == "POST"
                refused = client.put(
                    "/__admin/scenarios",
                    content=under(CUTS[FaultKind.HANG]),
                    headers={"content-type": "text/yaml"},
                )
                assert "got transport at upload: hang" in refused.json()["details"]["Rules"]
                assert client.get("/__admin").status_code == 200
        finally:
            process.terminate()


@pytest.mark.slow
def test_uvicorn_does_not_start_with_files_that_cut_connections(tmp_path: Path) -> None:
    (tmp_path / "cut.yaml").write_text(under(CUTS[FaultKind.CLOSE_AFTER]))
    (tmp_path / "factory.py").write_text(
        "import mockserver\n\ndef build():\n    return "
        "mockserver.create_app(scenario=('cut.yaml',))\n"
    )
    with uvicorn(tmp_path, "factory:build") as process:
        _, said = process.communicate(timeout=30)
    assert process.returncode == 3
    assert "got transport at answer: close after 10 bytes, allowed: status" in said
    assert "Traceback" not in said
