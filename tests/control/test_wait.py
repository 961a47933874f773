"""Waiting for a charge, a batch, a webhook or an arrival (control document, ``/__admin/wait``)."""

import asyncio
import time
from typing import Any

import pytest

from mockserver.engine import conditions
from mockserver.engine.conditions import WaitCondition
from mockserver.engine.sandbox import Sandbox
from mockserver.web import runner
from tests.driving import DUMMY, NOW, Api

CHARGE = {
    "amount": 5,
    "providerId": DUMMY,
    "paymentInformation": {"cardNumber": "4111111111111111", "expiryDate": "12/40"},
}
HOOK = {"url": "http://127.0.0.1:4111/__inbox/shop"}


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[Sandbox]:
    """The sandbox of each look at a condition."""
    monkeypatch.setattr(runner, "REST", 0)
    looks: list[Sandbox] = []
    unmet = WaitCondition.unmet
    monkeypatch.setattr(
        WaitCondition, "unmet", lambda self, sandbox: looks.append(sandbox) or unmet(self, sandbox)
    )
    return looks


def wait(api: Api, wanted: object, **more: object) -> dict[str, Any]:
    reply = api.call("POST", "/__admin/wait", {"for": wanted, **more}, waits=True)
    assert reply.status == 200, reply.raw
    return reply.body


def bank_charge(api: Api, **more: object) -> str:
    account = {"bankCode": "001-002", "accountNumber": "123456", "accountName": "Ann"}
    body = {"amount": 5, "providerId": DUMMY, "bankPaymentInformation": account, **more}
    return api.call("POST", "/charge/bank_account", body).body["chargeId"]


def test_what_holds_already_is_answered_at_once(api: Api) -> None:
    charge_id = api.try_charge(webhook=HOOK).body["chargeId"]
    for wanted in (
        {"charge": {"id": charge_id, "status": "SUCCESS"}},
        {"charge": {"status": "SUCCESS", "amount": {"gt": 12}}},
        {
            "webhook": {
                "subject": charge_id,
                "state": "delivered",
                "eventType": "transaction.status.changed",
            }
        },
        {"inbox": {"name": "shop", "signature": "valid"}, "charge": {"id": charge_id}},
        {"inbox": "shop"},
    ):
        answer = api.call("POST", "/__admin/wait", {"for": wanted})
        assert answer.status == 200
        assert (answer.body["held"], answer.body["why"], answer.body["waited"]) == (True, {}, "0s")


def test_a_wait_that_moves_the_clock_needs_to_be_told_nothing_more(api: Api) -> None:
    charge_id = bank_charge(api)
    answer = wait(api, {"charge": {"id": charge_id, "status": "SUCCESS"}}, advance=True)
    assert (answer["held"], answer["waited"], answer["ran"], answer["waiting"]) == (
        True,
        "1d",
        1,
        0,
    )


def test_a_wait_moves_the_clock_to_what_is_due_within_its_bound_and_no_further(api: Api) -> None:
    charge_id = bank_charge(api)
    answer = wait(
        api, {"charge": {"id": charge_id, "status": "SUCCESS"}}, within="3h", advance=True
    )
    assert (answer["held"], answer["waited"]) == (False, "0s")
    assert "wanted 'SUCCESS', got 'PENDING'" in answer["why"]["charge"]
    assert (
        answer["hint"]
        == "what is due next, at 2031-03-02T00:00:00.0000000Z, lies beyond within: 3h"
    )
    assert wait(api, {"charge": {"id": charge_id, "status": "SUCCESS"}}, within="1d", advance=True)[
        "held"
    ]


def test_a_wait_ends_with_the_last_thing_that_is_due(api: Api) -> None:
    bank_charge(api)
    answer = wait(api, {"charge": {"status": "REFUND"}}, advance=True)
    assert (answer["held"], answer["waited"]) == (False, "1d")
    assert (
        answer["hint"] == "nothing more is due in this sandbox, so the clock was moved no further"
    )


def test_a_batch_is_waited_for(api: Api) -> None:
    batch = api.batch(f"{api.method()},10,AUD,a", webhook=HOOK)
    answer = wait(api, {"batch": {"id": batch, "status": "SUCCESS"}}, timeout="1m", advance=True)
    assert (answer["held"], answer["waited"]) == (True, "102ms")
    assert wait(api, {"inbox": {"name": "shop", "count": 4}})["held"]


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"charge": {"id": "nope"}}, "no charge 'nope'"),
        ({"webhook": {"state": "delivered"}}, "this sandbox has no webhook"),
        ({"inbox": {"name": "shop", "count": 2}}, "the inbox 'shop' is empty"),
    ],
)
def test_a_wait_in_vain_says_why_and_is_no_error(
    api: Api, wanted: dict[str, object], words: str
) -> None:
    answer = wait(api, wanted, timeout="10ms")
    assert answer["held"] is False
    (why,) = answer["why"].values()
    assert words in why
    assert "advance: true" in answer["hint"]


def test_a_waiter_is_woken_by_what_others_do(api: Api) -> None:
    async def both() -> tuple[Any, Any]:
        body = {"for": {"inbox": {"name": "shop", "count": 1}}, "timeout": "30s"}
        waiting = asyncio.ensure_future(api.calling("POST", "/__admin/wait", body))
        await asyncio.sleep(0)
        assert not waiting.done()
        card = {"cardNumber": "4111111111111111", "expiryDate": "12/40"}
        charge = {"amount": 5, "providerId": DUMMY, "paymentInformation": card, "webhook": HOOK}
        return await api.calling("POST", "/charge/card", charge), await waiting

    charged, waited = asyncio.run(both())
    assert charged.status == 201
    assert waited.body["held"] is True


def test_a_wait_ends_when_the_server_stops() -> None:
    api = Api()

    async def stop_meanwhile() -> Any:
        waiting = asyncio.create_task(
            api.calling("POST", "/__admin/wait", {"for": {"charge": {}}, "timeout": "10m"})
        )
        await asyncio.sleep(0)
        api.app.world.runner.stop()
        return await asyncio.wait_for(waiting, 60)

    assert asyncio.run(stop_meanwhile()).body["held"] is False


def test_those_who_wait_do_not_keep_one_another_awake(api: Api, looks: list[Sandbox]) -> None:
    async def wait_for_nothing() -> None:
        body = {"for": {"charge": {}}, "timeout": "300ms"}
        waiting = [
            api.calling("POST", "/__admin/wait", body, key=f"sk_{number}") for number in range(3)
        ]
        stirring = asyncio.get_running_loop().call_later(0.05, api.app.world.runner.activity.notify)
        await asyncio.gather(*waiting)
        stirring.cancel()

    asyncio.run(wait_for_nothing())
    assert len(looks) < 30


def test_nobody_is_looked_after_who_has_hung_up(api: Api) -> None:
    async def leave_meanwhile() -> Any:
        gone, body = asyncio.Event(), {"for": {"charge": {}}, "timeout": "10m"}
        waiting = asyncio.create_task(api.calling("POST", "/__admin/wait", body, gone=gone))
        await asyncio.sleep(0)
        gone.set()
        return await asyncio.wait_for(waiting, 60)

    assert asyncio.run(leave_meanwhile()).status == 0


def test_a_clock_is_not_moved_for_one_who_has_hung_up(api: Api) -> None:
    card = {"cardNumber": "4111111111111111", "expiryDate": "12/40"}
    method = api.call(
        "POST", "/payment_method/card", {"providerId": DUMMY, "paymentInformation": card}
    ).body
    plan = {
        "paymentMethodId": method["paymentMethodId"],
        "amount": 1,
        "currency": "AUD",
        "interval": "Day",
    }
    assert api.call("POST", "/subscription/payment_method", plan).status == 201

    async def leave_meanwhile() -> tuple[Any, str, str]:
        gone, body = (
            asyncio.Event(),
            {"for": {"charge": {"amount": 2}}, "within": "2000d", "advance": True},
        )
        waiting = asyncio.create_task(api.calling("POST", "/__admin/wait", body, gone=gone))
        for _ in range(50):
            await asyncio.sleep(0)
        gone.set()
        reply = await asyncio.wait_for(waiting, 60)
        clocks = [(await api.calling("GET", "/__admin/clock")).body["now"] for _ in range(2)]
        return reply, *clocks

    reply, now, then = asyncio.run(leave_meanwhile())
    assert reply.status == 0
    assert "2031-03-01" < now == then < "2032"


async def watched(
    api: Api, wanted: object, count: int, looks: list[Sandbox]
) -> list[asyncio.Task[Any]]:
    """So many who wait, once all of them do."""
    body = {"for": wanted, "timeout": "10m"}
    waiting = [
        asyncio.create_task(api.calling("POST", "/__admin/wait", body)) for _ in range(count)
    ]
    await settled(looks)
    looks.clear()
    return waiting


async def settled(looks: list[Sandbox]) -> None:
    """Wait until nobody looks any more."""
    before = -1
    while before < len(looks):
        before = len(looks)
        for _ in range(1_000):
            await asyncio.sleep(0)


async def test_nobody_looks_whom_a_change_does_not_concern(looks: list[Sandbox]) -> None:
    api = Api()
    waiting = await watched(api, {"charge": {"id": "x"}}, 100, looks)
    for _ in range(10):
        assert (await api.calling("POST", "/charge/card", CHARGE, key="sk_neighbour")).status == 201
        assert (await api.calling("POST", "/__admin/reset", {}, key="sk_neighbour")).status == 200
    await settled(looks)
    assert looks == []
    assert (await api.calling("POST", "/charge/card", CHARGE)).status == 201
    assert looks == []
    await settled(looks)
    assert 100 <= len(looks) <= 200
    api.app.world.runner.stop()
    assert [reply.body["held"] for reply in await asyncio.gather(*waiting)] == [False] * 100


async def test_of_many_who_wait_those_wake_whose_wait_is_over(looks: list[Sandbox]) -> None:
    api = Api()
    waiting = await watched(api, {"charge": {"reference": "other"}}, 50, looks)
    over = await watched(api, {"charge": {"reference": "this"}}, 3, looks)
    assert (
        await api.calling("POST", "/charge/card", {**CHARGE, "reference": "this"})
    ).status == 201
    assert [(await one).body["held"] for one in over] == [True] * 3
    assert not any(one.done() for one in waiting)
    api.app.world.runner.stop()
    await asyncio.gather(*waiting)


@pytest.mark.parametrize("change", ["reset", "fork"])
def test_a_wait_hears_of_a_sandbox_that_a_call_for_another_changed(api: Api, change: str) -> None:
    assert api.try_charge(reference="copied").status == 201

    async def story() -> Any:
        known = (
            {"webhook": {"count": 1}} if change == "reset" else {"charge": {"reference": "copied"}}
        )
        body = {"for": known, "timeout": "10m"}
        waiting = asyncio.create_task(api.calling("POST", "/__admin/wait", body, key="sk_copy"))
        await asyncio.sleep(0)
        if change == "fork":
            assert (await api.calling("POST", "/__admin/fork", {"to": "sk_copy"})).status == 201
            return (await asyncio.wait_for(waiting, 60)).body["held"]
        assert (await api.calling("POST", "/__admin/reset?all=true", {}, key=None)).status == 200
        hooked = {**CHARGE, "webhook": HOOK}
        assert (await api.calling("POST", "/charge/card", hooked, key="sk_copy")).status == 201
        return (await asyncio.wait_for(waiting, 60)).body["held"]

    assert asyncio.run(story()) is True


def test_in_real_time_a_wait_lasts_until_the_thing_comes_due() -> None:
    begun = time.monotonic_ns()
    api = Api(clock="real", real_clock=lambda: NOW + (time.monotonic_ns() - begun) // 1_000)
    assert (
        api.call("PUT", "/__admin/assumptions", {"charge.pending_settles_after": "30ms"}).status
        == 200
    )
    charge_id = bank_charge(api)
    answer = wait(api, {"charge": {"id": charge_id, "status": "SUCCESS"}}, timeout="20s")
    assert answer["held"] is True
    assert time.monotonic_ns() - begun < 10_000_000_000


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "For"),
        ({"for": {}}, "For"),
        ({"for": {"chrage": {}}}, "For.chrage"),
        ({"for": {"charge": "x"}}, "For.charge"),
        ({"for": {"charge": {"id": 5}}}, "For.charge"),
        ({"for": {"charge": {"status": {"equals": 1}}}}, "For.charge"),
        ({"for": {"charge": {"count": 0}}}, "For.charge"),
        ({"for": {"webhook": {"stat": "x"}}}, "For.webhook"),
        ({"for": {"inbox": {"count": 1}}}, "For.inbox"),
        ({"for": {"inbox": ""}}, "For.inbox"),
        ({"for": {"inbox": ["shop"]}}, "For.inbox"),
        ({"for": {"charge": {}}, "timeout": "soon"}, "Timeout"),
        ({"for": {"charge": {}}, "timeout": "11m"}, "Timeout"),
        ({"for": {"charge": {}}, "advance": "yes"}, "Advance"),
        ({"for": {"charge": {}}, "within": "1d"}, "Within"),
        ({"for": {"charge": {}}, "within": "soon", "advance": True}, "Within"),
        ({"for": {"charge": {}}, "until": "now"}, "Until"),
    ],
)
def test_a_senseless_wait_is_refused(shared: Api, body: object, field: str) -> None:
    reply = shared.call("POST", "/__admin/wait", body)
    assert (reply.status, reply.body["code"]) == (400, 90)
    assert field in reply.body["details"]


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (
            {"charge": {"statuss": "SUCCESS"}},
            "statuss: no such field - did you mean 'status'?, allowed: ",
        ),
        (
            {"charge": {"provider.nam": "x"}},
            "provider.nam: no such field - did you mean 'name'?, allowed: providerId",
        ),
        ({"charge": {"amount.cents": 5}}, "amount.cents: no such field, nothing lies below it"),
        ({"charge": {"name": "x"}}, "name: no such field"),
        ({"charge": {"state.charge.status": "x"}}, "state.charge.status: no such field"),
        ({"vault": {"number": "x"}}, "number: no such field"),
        ({"customer": {"frstName": "x"}}, "did you mean 'firstName'?"),
        ({"inbox": {"name": "shop", "id": "x"}}, "id: no such field"),
        ({"charge": {"colour": 1, "statuss": 2}}, "statuss: no such field"),
    ],
)
def test_an_unknown_field_is_refused_with_the_nearest_known(
    shared: Api, wanted: Any, words: str
) -> None:
    [kind] = wanted
    reply = shared.call("POST", "/__admin/wait", {"for": wanted})
    assert (reply.status, reply.body["code"]) == (400, 90)
    assert words in reply.body["details"][f"For.{kind}"]
    assert all(
        f"{path}: no such field" in reply.body["details"][f"For.{kind}"]
        for path in set(wanted[kind]) - {"name"}
    )


@pytest.mark.parametrize(
    "wanted",
    [
        {
            "charge": {
                "provider.providerId": DUMMY,
                "type": "CARD",
                "metadata.tier": "gold",
                "refundable": 20,
            }
        },
        {
            "charge": {
                "successDate": {"gt": 0},
                "instrument.card.cardholder": "Ann Example",
                "provider_id": DUMMY,
            }
        },
        {"vault": {"status": "stored", "ccvState": "held"}},
        {"provider": {"summary.name": "Dummy", "latency": None}},
    ],
)
def test_every_field_of_an_object_can_be_tested(api: Api, wanted: Any) -> None:
    api.try_charge(metadata={"tier": "gold"})
    api.call("POST", "/vault", {"cardNumber": "4111111111111111", "ccv": "123"})
    assert wait(api, wanted, timeout="1ms")["held"], wanted


@pytest.mark.parametrize("change", ["reset", "import"])
def test_a_wait_goes_on_in_the_sandbox_that_took_the_place_of_the_first(
    api: Api, change: str
) -> None:
    document = api.call("GET", "/__admin/state").body

    async def story() -> Any:
        body = {"for": {"charge": {"reference": "new", "status": "SUCCESS"}}, "timeout": "30s"}
        waiting = asyncio.ensure_future(api.calling("POST", "/__admin/wait", body))
        await asyncio.sleep(0)
        if change == "reset":
            await api.calling("POST", "/__admin/reset", {})
        else:
            await api.calling("PUT", "/__admin/state", document)
        card = {"cardNumber": "4111111111111111", "expiryDate": "12/40"}
        charge = {"amount": 5, "providerId": DUMMY, "paymentInformation": card, "reference": "new"}
        assert (await api.calling("POST", "/charge/card", charge)).status == 201
        return await asyncio.wait_for(waiting, 60)

    assert asyncio.run(story()).body["held"] is True


def test_an_import_alone_can_be_what_is_waited_for(api: Api) -> None:
    api.try_charge(reference="kept")
    document = api.call("GET", "/__admin/state").body
    api.call("POST", "/__admin/reset")

    async def story() -> Any:
        body = {"for": {"charge": {"reference": "kept"}}, "timeout": "30s"}
        waiting = asyncio.ensure_future(api.calling("POST", "/__admin/wait", body))
        await asyncio.sleep(0)
        await api.calling("PUT", "/__admin/state", document)
        return await asyncio.wait_for(waiting, 60)

    assert asyncio.run(story()).body["held"] is True


def test_a_wait_that_moves_the_clock_moves_that_of_the_new_sandbox(api: Api) -> None:
    bank_charge(api)

    async def story() -> tuple[Any, Any]:
        body = {"for": {"charge": {"status": "FAILED"}}, "timeout": "3d", "advance": True}
        waiting = asyncio.ensure_future(api.calling("POST", "/__admin/wait", body))
        while not waiting.done():
            await asyncio.sleep(0)
            await api.calling("POST", "/__admin/reset", {})
        return await waiting, await api.calling("GET", "/__admin/clock", None)

    waited, clock = asyncio.run(story())
    assert waited.body["held"] is False
    assert waited.body["now"] >= clock.body["now"]


def test_why_a_wait_failed_shows_no_card_number(api: Api) -> None:
    api.try_charge()
    for wanted in ({"id": "4111111111111111"}, {"status": "4111 1111 1111 1111"}):
        told = wait(api, {"charge": wanted}, timeout="1s", advance=True)["why"]["charge"]
        assert "4111********1111" in told
        assert "1111 1111" not in told
        assert "1" * 9 not in told


def test_of_very_many_objects_the_newest_are_looked_at(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conditions, "MOST_READ", 4)
    for reference in "abcde":
        api.charge(reference=reference)
    assert wait(api, {"charge": {"reference": "b"}})["held"] is True
    assert wait(api, {"charge": {"count": 5}})["held"] is True
    told = wait(api, {"charge": {"reference": "a"}}, advance=True)
    assert (told["held"], told["why"]["charge"].split(";")[0]) == (
        False,
        "0 of 1 wanted pass all tests, among the newest 4 of 5",
    )
    many = api.call(
        "POST", "/__admin/wait", {"for": {"charge": {"reference": "b", "amount": 20, "count": 3}}}
    )
    assert many["details"] == {
        "For.charge": "count: got 3, wanted at most 2: with 2 tests no more are looked at"
    }


def test_of_many_faults_the_first_are_reported(api: Api) -> None:
    """To find the nearest name for each of 24,000 takes minutes, during which nobody else is
    answered."""
    fields = api.call(
        "POST", "/__admin/wait", {"for": {"charge": {f"amont{number}": 1 for number in range(900)}}}
    )
    assert fields["details"]["For.charge"].count("no such field") == 20
    many = {f"metadata.{number}": "a" for number in range(1_001)}
    assert api.call("POST", "/__admin/wait", {"for": {"charge": many}})["details"] == {
        "For.charge": "got 1001 tests, wanted at most 1000"
    }
    kinds = api.call(
        "POST", "/__admin/wait", {"for": {f"chage{number}": {} for number in range(900)}}
    )
    assert len(kinds["details"]) == 20


def test_a_control_call_has_so_many_values(api: Api) -> None:
    for count, words in (
        (24_000, "no such kind"),
        (25_000, "got 25002 or more, wanted at most 25000 fields and items of lists"),
    ):
        refused = api.call("POST", "/__admin/wait", {"for": {"none": list(range(count))}})
        assert (refused.status, words in str(refused["details"])) == (400, True)
