"""The control page and the calls that only it makes; its script is driven in tests/browser."""

import asyncio
import json
import re
from typing import Any

import pytest

from mockserver.engine.step import KINDS
from mockserver.web import page as pages
from mockserver.web.control_page import MOST_STREAMS
from tests.driving import VISA, Api, card, problem_of


def by_public_key(api: Api, path: str, public_key: str = "pk_tests") -> Any:
    reply = api.send("GET", path, headers={"x-publickey": public_key, "x-secretkey": ""})
    return reply


def test_the_page_allows_nothing_from_outside_nothing_inline_and_no_frame(api: Api) -> None:
    shown = api.send("GET", "/__admin/")
    policy = shown.headers["content-security-policy"]
    html = shown.raw.decode()
    assert shown.status == 200
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in html
    assert "<script>" not in html
    assert "style=" not in html


def test_a_browser_at_the_root_is_led_to_the_page_and_nobody_else(api: Api) -> None:
    led = api.send("GET", "/", headers={"accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert (led.status, led.headers["location"]) == (303, "/__admin")
    for accept in ("*/*", "application/json"):
        refused = api.send("GET", "/", headers={"accept": accept})
        assert problem_of(refused) == (404, 1)
        assert "no such route; /__admin is the control page" in refused["details"]["Path"]


def test_every_file_that_the_page_names_is_there(api: Api) -> None:
    waiting, seen = ["/__admin/"], set()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        reply = api.send("GET", path)
        assert reply.status == 200, path
        text = reply.raw.decode()
        waiting += [
            part.split('"')[0] for part in text.split('="')[1:] if part.startswith("/__static/")
        ]
        folder = path.rpartition("/")[0]
        waiting += [folder + "/" + part.split('"')[0] for part in text.split('from "./')[1:]]
        kept = "immutable" in reply.headers.get("cache-control", "")
        assert kept == path.startswith("/__static/"), path
    folder = f"/__static/{pages.static_version()}"
    assert {f"{folder}/admin.js", f"{folder}/admin-dom.js", f"{folder}/admin.css"} <= seen


HEAVIEST = 168_000
"""Bytes of the page and all that it loads at once: the editor comes when it is opened."""


def test_the_page_is_light(api: Api) -> None:
    html = api.send("GET", "/__admin/").raw
    names = {
        part.split('"')[0]
        for part in html.decode().split("/")
        if part.split('"')[0].endswith((".js", ".css", ".svg"))
    }
    known = pages.static_files()
    waiting = list(names)
    while waiting:
        found = {
            *re.findall(r'^import .* from "\./([^"]+)"', known[waiting.pop()].body.decode(), re.M)
        } - names
        waiting += found
        names |= found
    assert {"admin.js", "admin.css", "admin-books.js"} < names
    assert "admin-editor.js" not in names
    assert len(html) + sum(len(known[name].body) for name in names) <= HEAVIEST


def test_a_file_of_another_version_is_not_kept(api: Api) -> None:
    for path in ("/__static/admin.js", "/__static/0123456789abcdef/admin.js"):
        assert api.send("GET", path).headers["cache-control"] == "no-cache"


def test_a_sandbox_is_named_by_its_public_key_where_no_secret_is_known(api: Api) -> None:
    api.charge()
    listed = api.app.world.sandboxes.open("sk_tests", 0).public_key
    reply = api.send("GET", "/__admin/sandbox", headers={"x-publickey": listed})
    assert reply["publicKey"] == listed
    other = Api(key=None, seed=1)
    assert problem_of(
        other.send("GET", "/__admin/clock", headers={"x-publickey": "pk-nobody"})
    ) == (401, 40)


def test_the_timeline_tells_each_step_in_a_line(api: Api) -> None:
    charge = api.charge()
    api.post(
        "/charge/card",
        {"amount": 1, "providerId": "x", "paymentInformation": card("4000000000009995")},
    )
    api.advance("1d")
    told = api.get("/__admin/timeline").body
    first = told["lines"][0]
    assert first[2:6] == ["POST", "/charge/card", "charge.create", 201]
    assert first[9] == ["charge SUCCESS"]
    assert told["last"] == told["lines"][-1][0]
    assert api.get("/__admin/timeline", after=told["last"])["lines"] == []
    assert len(api.get("/__admin/timeline", limit=1)["lines"]) == 1
    assert charge["chargeId"] not in json.dumps(first)


@pytest.mark.parametrize("query", [{"after": "-1"}, {"limit": "many"}, {"after": "1" * 20}])
def test_a_number_that_is_none_is_refused(api: Api, query: dict[str, object]) -> None:
    assert problem_of(api.get("/__admin/timeline", **query)) == (400, 90)


def test_due_work_is_a_line_too(api: Api) -> None:
    api.charge(capture=False)
    api.advance("7d")
    expired, moved = api.get("/__admin/timeline")["lines"][-2:]
    assert (expired[2], expired[4], expired[5]) == ("", "clock.authorisation_expiry", None)
    assert (moved[2], moved[3], moved[4], moved[5]) == (
        "POST",
        "/__admin/clock/advance",
        "clock.advance",
        200,
    )


def test_objects_are_counted_and_listed_newest_first(api: Api) -> None:
    first, second = api.charge(reference="one"), api.charge(reference="two", amount="12.50")
    assert api.get("/__admin/objects")["counts"]["charge"] == 2
    told = api.get("/__admin/objects", kind="charge").body
    assert [row["id"] for row in told["objects"]] == [second["chargeId"], first["chargeId"]]
    assert told["objects"][0] == {
        "id": second["chargeId"], "added": "2031-03-01T00:00:00.0000000Z", "state": "SUCCESS", "amount": "AUD 12.5",
        "label": "two",
    }  # fmt: skip
    assert [row["id"] for row in api.get("/__admin/objects", kind="charge", skip=1)["objects"]] == [
        first["chargeId"]
    ]


def test_one_object_is_shown_as_the_api_shows_it(api: Api) -> None:
    charge = api.charge()
    told = api.get(f"/__admin/objects/charge/{charge['chargeId']}").body
    assert told["state"] == "SUCCESS"
    assert told["object"]["chargeId"] == charge["chargeId"]
    assert told["object"]["provider"]


def test_looking_at_an_object_is_no_step_of_the_sandbox(api: Api) -> None:
    charge = api.charge()
    before = api.get("/__admin/timeline")["last"]
    api.get(f"/__admin/objects/charge/{charge['chargeId']}")
    assert api.get("/__admin/timeline")["last"] == before


def test_a_vault_item_is_shown_without_its_number_and_ccv(api: Api) -> None:
    item = api.post("/vault", {"cardNumber": VISA, "ccv": "987"})
    raw = api.get(f"/__admin/objects/vault/{item['vaultId']}").raw.decode()
    assert VISA not in raw
    assert "987" not in raw
    assert item["vaultId"] in raw


def test_every_kind_can_be_listed(api: Api) -> None:
    for kind in KINDS:
        assert api.get("/__admin/objects", kind=kind).status == 200, kind


def test_an_unknown_kind_or_id_is_refused_with_a_hint(api: Api) -> None:
    refused = api.get("/__admin/objects", kind="charges")
    assert problem_of(refused) == (400, 90)
    assert "did you mean 'charge'?" in refused["details"]["Kind"]
    assert problem_of(api.get("/__admin/objects/charge/none")) == (404, 1)


def test_the_state_tables_are_reported_whole(api: Api) -> None:
    told = api.get("/__admin/states").body
    assert told["charge"]["moves"]["Authorised"]["captured"] == "SUCCESS"
    assert told["charge"]["moves"]["REFUND"] == {
        "refund_failed": "PARTIAL_REFUND",
        "last_refund_failed": "SUCCESS",
    }
    assert told["charge"]["moves"]["FAILED"] == {}
    assert told["charge"]["begins"]["paid"] == "SUCCESS"
    assert told["vault"]["begins"] == {"": "stored"}


def news_of(api: Api, meanwhile: Any = None) -> tuple[dict[str, Any], list[bytes]]:
    """The start and the first pieces of the stream, until it has told two pieces of news and the
    browser leaves."""
    scope = {
        "type": "http", "method": "GET", "path": "/__admin/events-stream", "query_string": b"", "http_version": "1.1",
        "headers": [(b"host", b"127.0.0.1"), (b"x-secretkey", b"sk_tests")], "scheme": "http", "root_path": "",
        "client": ("127.0.0.1", 5), "server": ("127.0.0.1", 4111),
    }  # fmt: skip
    sent: list[Any] = []
    left = asyncio.Event()

    async def run() -> None:
        asked = False

        async def receive() -> dict[str, Any]:
            nonlocal asked
            if not asked:
                asked = True
                return {"type": "http.request", "body": b"", "more_body": False}
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)
            if len(sent) == 2 and meanwhile is not None:
                meanwhile()
            if len(sent) == 3 or meanwhile is None:
                left.set()

        await asyncio.wait_for(api.app(scope, receive, send), 60)

    asyncio.run(run())
    return sent[0], [message["body"] for message in sent[1:] if message.get("body")]


def test_the_stream_tells_what_changed_and_ends_when_the_browser_leaves(api: Api) -> None:
    sandbox = api.app.world.sandboxes.open("sk_tests", 0)
    start, pieces = news_of(
        api, lambda: sandbox.ids.hex32("x") and sandbox.clock.move_to(sandbox.clock.virtual + 1, 0)
    )
    assert start["status"] == 200
    assert dict(start["headers"])[b"content-type"] == b"text/event-stream; charset=utf-8"
    first, second = [json.loads(piece.split(b"data: ")[1]) for piece in pieces[:2]]
    assert first["mode"] == "manual"
    assert second["now"] > first["now"]
    assert api.app.world.streams == 0


def test_the_stream_ends_when_the_sandbox_is_deleted(api: Api) -> None:
    api.app.world.sandboxes.open("sk_tests", 0)
    start, pieces = news_of(api, lambda: api.call("DELETE", "/__admin/sandbox", {}))
    assert (start["status"], len(pieces)) == (200, 1)


def test_the_stream_ends_when_the_server_stops() -> None:
    api = Api()
    api.get("/__admin/clock")
    api.app.world.runner.stop()
    assert news_of(api)[1] == []


def test_too_many_streams_are_refused() -> None:
    api = Api()
    api.app.world.streams = MOST_STREAMS
    assert problem_of(api.get("/__admin/events-stream"))[0] == 503


def test_a_stream_of_nobody_is_refused(api: Api) -> None:
    assert problem_of(
        api.send("GET", "/__admin/events-stream", headers={"x-secretkey": "invalid"})
    ) == (401, 40)
