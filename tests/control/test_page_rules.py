"""The rules that buttons of the control page write: each is driven in the words in which its script
has it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import mockserver
from mockserver.adapters.strict_yaml import read
from tests.driving import Api

STATIC = Path(mockserver.__file__).parent / "web" / "static"
A, B, C = "4111111111111111", "5555555555554444", "4242424242424242"


def written(script: str, pattern: str) -> str:
    """What stands in a script between the parts of a pattern."""
    found = re.search(pattern, (STATIC / script).read_text("utf-8"), re.DOTALL)
    assert found is not None, pattern
    return found[1]


def literal(text: str) -> Any:
    """An object of a script. Its members are written as YAML has them too."""
    return read(text, "script")[0]


OUTCOMES = literal(written("admin-acts.js", r"const OUTCOMES = (\{.*?\n\});"))
NEXT = written("admin-acts.js", r"const rule = (\{.*?\});")
EXAMPLE = written("admin-scenarios.js", r"const EXAMPLE = `(.*?)`;")


def next_payment(name: str) -> dict[str, Any]:
    """The scenario that the button writes for a choice."""
    rule = literal(NEXT.replace("OUTCOMES[choice.value]", json.dumps(OUTCOMES[name])))
    return {"version": 1, "name": "next-payment", "rules": [rule]}


def pay(api: Api, number: str) -> object:
    """How a payment ends: the state of the charge, else the status of the answer, or that none
    came."""
    try:
        reply = api.try_charge(number=number)
    except ConnectionError:
        return "no answer"
    return reply["status"] if reply.status == 201 else reply.status


ENDS: dict[str, object] = {
    "provider down": 400,
    "3-D Secure is asked": "PENDING_CHECKOUT",
    "pending, then paid": "PENDING",
    "pending, then bounced": "PENDING",
    "answer lost, it has happened": "no answer",
    "503, nothing has happened": 503,
}
"""How payments end that are not declined."""


@pytest.mark.parametrize("name", OUTCOMES)
def test_the_next_payment_is_one_in_all_whatever_its_card(api: Api, name: str) -> None:
    for _ in range(2):
        api.call("DELETE", "/__admin/scenarios?name=next-payment")
        assert api.call("POST", "/__admin/scenarios", next_payment(name)).status == 201
        ends = [pay(api, number) for number in (A, A, B, C)]
        assert ends == [ENDS.get(name, 400), "SUCCESS", "SUCCESS", "SUCCESS"]


def test_the_example_of_the_editor_declines_as_often_as_it_says(api: Api) -> None:
    assert "The first two payments of each card are declined" in EXAMPLE
    assert api.call("POST", "/__admin/scenarios", raw=EXAMPLE.encode()).status == 201
    assert [pay(api, number) for number in (A, B, A, B, A, B, C)] == [
        400,
        400,
        400,
        400,
        "SUCCESS",
        "SUCCESS",
        400,
    ]
