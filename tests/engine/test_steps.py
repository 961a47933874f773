"""What a step knows of its decisions."""

from __future__ import annotations

from tests.driving import Api

RULES = """
version: 1
name: steps
rules:
  - {id: no, when: {op: charge.create, request.reference: no}, then: {decline: lost_card}}
  - {id: lost, when: {op: charge.create, request.reference: lost}, then: {transport: {at: receive, status: 503}}}
  - {id: told, when: {op: webhook.deliver}, then: {webhook: {delay: 1m}}}
"""


def test_a_step_knows_whether_a_rule_has_fired() -> None:
    api = Api(scenario=RULES)
    for reference in ("plain", "no", "lost"):
        api.try_charge(10, Reference=reference)
    api.try_charge(10, Webhook={"Url": "http://127.0.0.1:9/hook"})
    api.call("GET", "/charge")
    (sandbox,) = api.app.world.sandboxes
    steps = [entry.result for entry in sandbox.journal.entries]
    fired = [[one.rule for one in step.decisions if one.rule is not None] for step in steps]
    assert fired == [[], ["no"], ["lost"], ["told"], []]
    assert [step.ruled for step in steps] == [bool(rules) for rules in fired]
