"""Every line of the cookbook is executed: its rule is put in force, and a shop's long story makes
it fire."""

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from mockserver.web.transport_faults import Cut
from tests.driving import DUMMY, Api, card, card_charge

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "cookbook.md").read_text("utf-8")
ROWS = re.findall(r"^\| (.+?) \| `(.+)` \|$", PAGE, re.MULTILINE)
RULES = [row for row in ROWS if row[1].startswith("{")]
PARTS = [row for row in ROWS if not row[1].startswith("{")]
NOT_ALONE = {
    "429 while more than three are under way",
    "409 for a call that overlaps another of its charge",
}
"""What calls one after the other do not meet: ``scenarios/too-many-at-once.yaml`` and
``overlapping-calls.yaml`` do."""

GROUPS = [
    "Transport",
    "Declines",
    "Webhooks",
    "Money",
    "Time",
    "Batches",
    "Tokens",
    "3-D",
    "Limits",
    "Recovery",
    "Faults",
]
INBOX = {"webhook": {"url": "http://127.0.0.1:4111/__inbox/shop"}}
BATCH = "PaymentMethodId,Amount,Currency,Reference\n"


def test_there_are_sixty_lines_in_the_groups_that_people_look_for() -> None:
    assert len(ROWS) == len({want for want, _ in ROWS}) >= 60
    assert [line.split()[1] for line in PAGE.splitlines() if line.startswith("## ")] == GROUPS


def call(api: Api, method: str, path: str, body: object = None) -> dict[str, Any]:
    """The answer, or nothing where a fault or a refusal has left none."""
    with suppress(Cut, ValueError):
        answer = api.call(method, path, body, waits=True)
        return answer.body if answer.status < 300 and isinstance(answer.body, dict) else {}
    return {}


def story(api: Api) -> None:
    """Two months of a shop that takes, captures and refunds payments, stores cards, subscribes and
    submits a batch."""
    more = {**INBOX, "metadata": {"want": "do_not_honour"}}
    paid = [
        call(
            api,
            "POST",
            "/charge/card",
            card_charge(reference=f"order-{number // 2}", amount=amount, **more),
        )
        for number, amount in enumerate((20, 20, 200, 20, 20, 20))
    ]
    held = [
        call(api, "POST", "/charge/card", card_charge(capture=False, reference=f"held-{n}"))
        for n in range(2)
    ]
    for charge in held:
        call(api, "POST", f"/charge/{charge.get('chargeId')}", {"amount": 5})
    token = call(api, "POST", "/token/card", {"providerId": DUMMY, "paymentInformation": card()})
    call(api, "POST", "/vault", {"cardNumber": "4111111111111111", "expireSeconds": 86400})
    for _ in range(2):
        stored = call(
            api, "POST", "/payment_method/card", {"providerId": DUMMY, "paymentInformation": card()}
        )
    method = stored.get("paymentMethodId")
    plan = {"paymentMethodId": method, "amount": 10, "currency": "AUD", "interval": "Month"}
    call(api, "POST", "/subscription/payment_method", plan)
    rows = "".join(f"{method},10,AUD,row-{number}\n" for number in range(4))
    call(
        api,
        "POST",
        "/batch/transaction/payment_method",
        {"count": 4, "batch": BATCH + rows, "description": "b"},
    )
    for charge in paid:
        call(api, "GET", f"/charge/{charge.get('chargeId')}")
    with suppress(Cut):
        api.advance("25d")
    call(api, "POST", "/charge/token", {"token": token.get("tokenId"), "amount": 5})
    for charge in paid[:2]:
        call(api, "DELETE", f"/refund/{charge.get('chargeId')}?Amount=1")
    api.advance("35d")
    for charge in paid[2:]:
        call(api, "DELETE", f"/refund/{charge.get('chargeId')}?Amount=1")


def file_of(part: str) -> str:
    return (
        f"version: 1\nassumptions: {{token.lifetime: 60d}}\nrules:\n  - {{id: wanted, {part[1:]}\n"
    )


@pytest.mark.parametrize(("want", "rule"), RULES, ids=[want for want, _ in RULES])
def test_a_rule_fires(want: str, rule: str) -> None:
    api = Api(scenario=file_of(rule), skips=True)
    story(api)
    found = {one["id"]: one for one in api.get("/__admin/rules")["rules"]}["wanted"]
    assert found["hits"] > 0 or (want in NOT_ALONE and found["calls"] == 0), found


@pytest.mark.parametrize(("want", "part"), PARTS, ids=[want for want, _ in PARTS])
def test_a_part_of_a_file_is_in_force(want: str, part: str) -> None:
    app = Api(scenario=f"version: 1\n{part}\n").app
    scenario = next(one for one in app.world.directory.config.scenarios if not one.builtin)
    key, _, _ = part.partition(":")
    assert scenario.source[key]
    assert (app.tls is not None) == (key == "tls")
