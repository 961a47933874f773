"""The web tells the findings of every call of the client, whatever came of it: whether one is worth
a look, each judge says for itself."""

from mockserver.domain.codes import Code
from mockserver.domain.facts import Call
from mockserver.findings.policy import Policy
from mockserver.findings.watch import Watch
from tests.driving import VISA, Api, card


class Told(Watch):
    """What is told of calls, and judged by nobody."""

    def __init__(self) -> None:
        super().__init__(lambda charge_id: None, lambda subscription_id: (), Policy())
        self.calls: list[Call] = []

    def called(self, call: Call) -> None:
        self.calls.append(call)


def told(api: Api) -> Told:
    """The findings of the caller's sandbox from now on."""
    sandbox = api.app.world.sandboxes.open("sk_tests", 0)
    watch = Told()
    sandbox.observers = (watch,)
    return watch


def test_calls_that_go_well_are_told(api: Api) -> None:
    watch = told(api)
    charge = api.charge(reference="order-1", paymentInformation=card(VISA))
    api.get(f"/charge/{charge['chargeId']}")
    api.get("/charge", reference="order-1")
    assert [(call.entry, call.op, call.subject) for call in watch.calls] == [
        (1, "charge.create", charge["chargeId"]),
        (2, "charge.get", charge["chargeId"]),
        (3, "charge.search", None),
    ]
    paid, read, searched = watch.calls
    assert (paid.charge is not None, [event.what for event in paid.events], paid.code) == (
        True,
        ["paid"],
        None,
    )
    assert (read.events, read.is_ours, read.is_open) == ((), True, False)
    assert searched.where == "/charge?reference=order-1"


def test_a_refused_call_is_told_with_its_code(api: Api) -> None:
    watch = told(api)
    assert api.get("/charge/unknown").status == 404
    (call,) = watch.calls
    assert (call.op, call.subject, call.code) == ("charge.get", "unknown", Code.INVALID_CHARGE_ID)


def test_what_the_client_did_not_ask_is_not_told(api: Api) -> None:
    watch = told(api)
    api.charge(reference="order-1")
    assert api.post("/__admin/journal/1/repeat")["status"] == 201
    assert [call.entry for call in watch.calls] == [1]
