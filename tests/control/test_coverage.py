"""``GET /__admin/coverage``: what the rules of ordinary scenarios have made the calls of clients
meet."""

from typing import Any

from tests.driving import Api, card_charge

TEXT = """
version: 1
name: s
rules:
  - {id: refused, when: {op: charge.create, request.reference: poor}, then: {decline: insufficient_funds}}
  - {id: told, when: {op: charge.create}, then: {webhook: {copies: 2}}}
"""


def states(api: Api) -> dict[str, dict[str, Any]]:
    return {row["op"]: row["failures"] for row in api.get("/__admin/coverage")["map"]}


def test_a_failure_counts_once_it_has_struck() -> None:
    api = Api(scenario=TEXT)
    assert api.get("/__admin/coverage").body == {
        "covered": 0,
        "failures": 0,
        "percent": 100,
        "map": [],
    }
    api.get("/charge")
    assert "charge.create" not in states(api)
    assert states(api)["charge.search"]["lost_answer"] is None
    api.post("/charge/card", card_charge(reference="poor"))
    found = states(api)["charge.create"]
    assert found["declined_soft"] == "tried"
    assert {name for name, state in found.items() if state} == {"declined_soft"}
    api.charge(reference="rich")
    assert states(api)["charge.create"]["webhook_twice"] is None  # nobody wanted to hear of it
    api.charge(reference="rich", webhook={"url": "http://127.0.0.1:4111/__inbox/shop"})
    assert states(api)["charge.create"]["webhook_twice"] == "tried"
    whole = api.get("/__admin/coverage")
    assert whole["covered"] == 2
    assert whole["failures"] == sum(map(len, states(api).values()))


def test_every_sandbox_counts_and_a_reset_forgets_nothing() -> None:
    api = Api(scenario=TEXT)
    api.call("POST", "/charge/card", {"amount": 1}, key="sk_other")
    api.post("/__admin/reset")
    assert list(states(api)) == ["charge.create"]
