"""Those who watch a sandbox hear of every step in its order, and change none."""

from typing import Any

from mockserver.domain.charge import Charge
from mockserver.domain.clock import Micros
from mockserver.domain.facts import Call, UncertainResult, WebhookTry
from mockserver.domain.states import Event
from mockserver.engine.observer import Observer
from tests.driving import Api

INBOX = "http://127.0.0.1:4111/__inbox/shop?publicKey=pk_tests"
LIMITED = """
version: 1
findings: {poll_limit: 3}
"""


class Told(Observer):
    """What one who watches was told, in order."""

    def __init__(self) -> None:
        self.heard: list[tuple[Any, ...]] = []

    def limited(self, limits: Any) -> None:
        self.heard.append(("limited", [one.poll_limit for one in limits]))

    def arrived(self, call: Call) -> None:
        self.heard.append(("arrived", call.op, call.waited_as))

    def called(self, call: Call) -> None:
        self.heard.append(("called", call.op, call.entry, call.is_open))

    def ended(self, entry: int, doubt: UncertainResult | None, at: Micros, real: Micros) -> None:
        self.heard.append(("ended", entry, doubt))

    def missed(self, entry: int, at: Micros, what: str, near: str | None) -> None:
        self.heard.append(("missed", what, near))

    def moved(self, event: Event, entry: int) -> None:
        self.heard.append(("moved", event.what, entry))

    def row_charged(self, charge: Charge, at: Micros, entry: int) -> None:
        self.heard.append(("row charged", charge.amount))

    def webhook_sent(self, delivery_id: str, entry: int) -> None:
        self.heard.append(("sent", entry))

    def webhook_tried(self, tried: WebhookTry) -> None:
        self.heard.append(("tried", tried.delivery.state.value, tried.is_scripted))

    def finished(self, at: Micros, real: Micros) -> None:
        self.heard.append(("finished",))


def watched(api: Api) -> Told:
    """One who watches the caller's sandbox from now on, beside the findings."""
    told = Told()
    sandbox = api.app.world.sandboxes.open("sk_tests", 0)
    sandbox.observers = (*sandbox.observers, told)
    return told


def test_all_that_happens_is_told_in_its_order(api: Api) -> None:
    payer = api.method()
    told = watched(api)
    api.charge(webhook={"url": INBOX})
    api.get("/charges/of/nobody")
    api.batch(f"{payer},5,AUD,row-1")
    api.advance("1d")
    api.call(
        "PUT",
        "/__admin/scenarios",
        raw=LIMITED.encode(),
        headers={"content-type": "application/yaml"},
    )
    api.post("/__admin/findings/finish")
    heard = [one for one in told.heard if one[0] != "moved"]
    assert heard == [
        ("called", "charge.create", 2, False),
        ("tried", "delivered", True),
        ("missed", "GET /charges/of/nobody", "/charge/{charge_id}"),
        ("called", "none", 3, False),
        ("called", "batch.create", 4, False),
        ("row charged", 5),
        ("limited", [3]),
        ("finished",),
    ]
    assert [one[1] for one in told.heard if one[0] == "moved"] == [
        "prepared",
        "started",
        "finished",
    ]


def test_nobody_who_watches_changes_an_answer() -> None:
    def story(api: Api) -> list[bytes]:
        paid = api.charge(reference="order-1")
        answers = [
            api.get(f"/charge/{paid['chargeId']}"),
            api.get("/charge/unknown"),
            api.delete("/refund/unknown"),
        ]
        return [one.raw for one in answers] + [api.call("GET", "/__admin/state?secrets=true").raw]

    observed, alone = Api(), Api(findings="off")
    watched(observed)
    assert story(observed) == story(alone)
    assert alone.app.world.sandboxes.open("sk_tests", 0).observers == ()


def test_one_who_cares_for_nothing_is_told_everything_in_vain(api: Api) -> None:
    sandbox = api.app.world.sandboxes.open("sk_tests", 0)
    sandbox.observers = (Observer(),)
    api.charge(webhook={"url": INBOX})
    api.advance("1d")
    assert api.post("/__admin/verify", {"finish": True}).status == 200
    assert sandbox.observers[0].remarks() == ()
