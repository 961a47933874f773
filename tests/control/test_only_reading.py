"""Reading opens no sandbox: who looks at one sees what would open, and leaves nothing behind."""

import pytest

from mockserver.web.control.routes import CONTROL_ROUTES
from tests.driving import START, Api, problem_of

READS = [
    row.path for row in CONTROL_ROUTES if row.method == "GET" and row.keyed and "{" not in row.path
]

SET_UP = """
version: 1
name: stocked
setup:
  - {call: POST /vault, body: {cardNumber: '4111111111111111', expireSeconds: 60}}
"""


def known(api: Api) -> int:
    return int(api.get("/__admin/sandboxes")["count"])


@pytest.mark.parametrize("path", READS)
def test_nothing_is_left_of_a_look(api: Api, path: str) -> None:
    api.call("GET", path, key="sk_looked_at")
    api.call("GET", path, key=None, headers={"x-publickey": "pk_looked_at"})
    assert known(api) == 0


def test_what_is_seen_is_what_opens() -> None:
    api = Api(scenario=SET_UP)
    seen, state = api.get("/__admin/sandbox"), api.get("/__admin/state", secrets="true")
    assert (seen["objects"]["vault"], seen["now"][:19] + "Z", known(api)) == (1, START, 0)
    assert api.get("/charge").status == 200
    assert known(api) == 1
    assert api.get("/__admin/state", secrets="true")["tables"] == state["tables"]


def test_a_call_that_changes_something_opens(api: Api) -> None:
    assert api.put("/__admin/assumptions", {}).status == 200
    assert known(api) == 1


def test_a_look_with_a_key_that_opens_nothing_is_refused() -> None:
    assert problem_of(Api(keys=("sk_a",)).get("/__admin/journal")) == (401, 40)
