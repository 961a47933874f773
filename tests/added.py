"""Uses the additions of ``tests/test_additions.py`` as a user does, in a copy of the package that
has them."""

import json
import re
import subprocess
import sys
from pathlib import Path
from traceback import format_exc
from typing import Any

import mockserver
from tests.drift.test_settling import played
from tests.driving import CARD, DUMMY, Api


def scripted(rule: str) -> Api:
    return Api(scenario=f"version: 1\nrules: [{{id: r, {rule}}}]")


def named_outcome() -> Any:
    reply = scripted("then: {decline: issuer_on_holiday}").try_charge()
    return [reply[name] for name in ("code", "gatewayCode", "gatewayMessage", "isRetryable")]


def outcome() -> Any:
    api = scripted("when: {op: 'charge.*'}, then: {whole_units: {}}")
    charge = api.charge(amount=5.75)
    described = api.get("/__admin/scenarios/schema")["$defs"]["ThenMap"]["properties"][
        "whole_units"
    ]
    return [charge["status"], charge["amount"], described["description"]]


def fault() -> Any:
    return scripted("then: {transport: {at: answer, shout: true}}").get("/charge").body


def source() -> Any:
    api = scripted(
        "when: {source: voucher, request.voucherCode: SPENT}, then: {decline: insufficient_funds}"
    )
    body = {"amount": 5, "currency": "AUD", "providerId": DUMMY}
    paid = api.post("/charge/voucher", {**body, "voucherCode": "NEW"})
    spent = api.post("/charge/voucher", {**body, "voucherCode": "SPENT"})
    described = api.get("/openapi.json")["paths"]["/charge/voucher"]["post"]
    return [paid["status"], spent["code"], described["summary"]]


def charge_field() -> Any:
    api = Api()
    charge = api.charge(terminal="till 3")
    stored = api.get(f"/charge/{charge['chargeId']}")
    return [charge["terminal"], stored["terminal"]]


def code() -> Any:
    reply = Api().try_charge(amount=13)
    return [reply.status, reply["code"], reply["message"], reply["details"]]


def control() -> Any:
    api = Api()
    greeted, refused = (api.post("/__admin/greeting", {name: "Ann"}) for name in ("name", "nom"))
    described = api.get("/__admin/openapi.json")["paths"]["/__admin/greeting"]["post"]
    answer = described["responses"]["200"]["content"]["application/json"]["example"]
    return [greeted["greeting"], refused.status, described["summary"], answer]


def explored() -> Any:
    """The command line, whose client pays once; it has struck."""
    pay = f"""curl -s "$MOCKSERVER_URL/charge/card" -H "x-secretkey: $MOCKSERVER_SECRET_KEY" -o /dev/null --json '{{
        "amount": 5, "providerId": "{DUMMY}", "paymentInformation": {json.dumps(CARD)}}}'"""
    asked = ["explore", "--faults", "teapot", "--format", "json", "--", "sh", "-c", pay]
    done = subprocess.run(
        [sys.executable, "-m", "mockserver", *asked], capture_output=True, text=True, check=False
    )
    [cell] = json.loads(done.stdout)["cells"]
    return [cell[key] for key in ("name", "verdict")]


def assumption() -> Any:
    api, link = Api(), {"amount": 5, "currency": "AUD"}
    taken = api.post("/payment_link", link)
    api.put("/__admin/assumptions", {"link.untitled": "refuse"})
    refused = api.post("/payment_link", link)
    usual, other = played({}), played({"link.untitled": "refuse"})
    shown = [name for name in usual.answers if usual.answers[name] != other.answers[name]]
    return [taken.status, refused["details"], shown]


def due_work() -> Any:
    api = Api()
    link = api.post("/payment_link", {"title": "Tea", "amount": 5, "currency": "AUD"})
    api.advance("1d")
    return [link["title"], api.get(f"/payment_link/{link['paymentLinkId']}")["title"]]


def timed_event() -> Any:
    api = Api()
    api.post("/webhook/subscription", {"types": ["Customer"], "url": "http://127.0.0.1:1/"})
    api.post("/customer/card", {"providerId": DUMMY, "paymentInformation": CARD})

    def sent() -> list[str]:
        told = api.get("/__admin/webhooks")["webhooks"]
        return sorted(one["eventType"] for one in told)

    at_first = sent()
    api.advance("1h")
    return [at_first, sent(), "customer.greeted" in api.get("/openapi.json")["webhooks"]]


def index() -> Any:
    api = Api()
    person = {"providerId": DUMMY, "phone": "+61400000000", "paymentInformation": CARD}
    first, second = (api.post("/customer/card", person) for _ in range(2))
    return [first.status, second["details"]]


def setting() -> Any:
    return Api(least_amount=3).try_charge(amount=2)["details"]


def finding() -> Any:
    allowed = Api(scenario="version: 1\nfindings: {allow: [large-amount]}")
    return [_raised(Api()), _raised(allowed)]


def _raised(api: Api) -> list[list[str]]:
    for amount in (4999, 5000):
        api.charge(amount=amount, reference=f"order-{amount}")
    return [
        [one["finding"], one["evidence"][0]["line"]]
        for one in api.get("/__admin/findings")["findings"]
    ]


def watched() -> Any:
    api = Api()
    api.charge()
    api.get("/charge")
    sandbox = api.app.world.sandboxes.open("sk_tests", 0)
    return [
        observer.calls for observer in sandbox.observers if type(observer).__name__ == "CallCount"
    ]


def page() -> Any:
    reply = Api().send("GET", "/hello/%3CAnn%3E")
    found = re.search("<h1>.*</h1>", reply.raw.decode())
    return [reply.status, found and found[0]]


USES = {
    "an outcome of a provider, by name": named_outcome,
    "a new kind of provider outcome": outcome,
    "a transport fault": fault,
    "a payment source": source,
    "a field of a charge": charge_field,
    "an error code": code,
    "a control operation": control,
    "an assumption": assumption,
    "work that comes due": due_work,
    "an event that time causes": timed_event,
    "an index that an operation asks": index,
    "a setting": setting,
    "a finding": finding,
    "one who watches every sandbox": watched,
    "a fault of explore": explored,
    "a page": page,
}


def main() -> None:
    """Print what is seen of each addition, or why it is not, as JSON. The folder of the copy is the
    current one."""
    assert Path(mockserver.__file__).is_relative_to(Path.cwd())
    seen: dict[str, Any] = {}
    for what, use in USES.items():
        try:
            seen[what] = use()
        except Exception:
            seen[what] = format_exc()
    print(json.dumps(seen))
