"""Verification: counts, tests as in ``when``, near misses, expectations of rules."""

import asyncio
from typing import Any

import pytest

from mockserver.web import runner
from tests.driving import Api, Reply


def verify(api: Api, *requests: object, **more: object) -> Reply:
    return api.call("POST", "/__admin/verify", {"requests": list(requests), **more})


def fill(api: Api) -> None:
    api.try_charge(10, reference="a")
    api.try_charge(20, reference="b")
    api.try_charge(20, number="4000000000000002", reference="c")
    api.call("GET", "/charge/none")


@pytest.mark.parametrize(
    "request_",
    [
        {"op": "charge.create"},
        {"op": "charge.create", "count": {"exactly": 3}},
        {"op": "charge.create", "count": 3},
        {"op": "charge.*", "count": {"min": 4, "max": 4}},
        {"op": "charge.create", "where": {"request.amount": "20.00"}, "count": {"exactly": 2}},
        {
            "op": "charge.create",
            "where": {"request.amount": {"gt": 10}, "card": {"last4": "0002"}},
            "count": 1,
        },
        {
            "op": "charge.create",
            "where": {"source": "card", "card": {"brand": "VISA"}},
            "count": {"exactly": 3},
        },
        {"op": "charge.create", "where": {"card": {"test": "do_not_honour"}}, "count": {"max": 1}},
        {"op": "charge.create", "where": {"clock": {"from": "2031-02-28T23:00:00Z"}}, "count": 3},
        {"op": "charge.create", "where": {"clock": {"to": "2031-02-28T23:00:00Z"}}, "count": 0},
        {"op": "charge.void", "count": {"exactly": 0}},
        {"op": "charge.create", "where": {"request.reference": "z"}, "count": {"max": 0}},
        "charge.create",
        {"op": "charge.create", "request.reference": "b", "count": 1},
        {
            "op": "charge.create",
            "card": {"last4": "1111"},
            "where": {"request.amount": 20},
            "count": 1,
        },
    ],
)
def test_what_has_happened_holds(api: Api, request_: dict[str, Any]) -> None:
    fill(api)
    reply = verify(api, request_)
    assert (reply.status, reply.body["verified"]) == (200, True), reply.body


@pytest.mark.parametrize(
    ("request_", "got"),
    [
        ({"op": "charge.create", "count": {"exactly": 2}}, 3),
        ({"op": "charge.create", "count": {"max": 2}}, 3),
        ({"op": "charge.void"}, 0),
        ({"op": "charge.create", "where": {"request.amount": 20}, "count": {"min": 3}}, 2),
    ],
)
def test_what_has_not_happened_is_reported(api: Api, request_: dict[str, Any], got: int) -> None:
    fill(api)
    reply = verify(api, request_)
    assert (reply.status, reply.body["verified"]) == (409, False)
    [told] = reply.body["requests"]
    assert (told["got"], told["holds"]) == (got, False)
    assert f"got {got}" in reply.body["message"]


def test_near_misses_come_nearest_first(api: Api) -> None:
    fill(api)
    where = {"request.reference": "b", "request.amount": 21, "card": {"last4": "1111"}}
    told = verify(api, {"op": "charge.create", "where": where}).body["requests"][0]
    assert [miss["entry"] for miss in told["nearMisses"]] == [2, 1, 3]
    assert told["nearMisses"][0]["differences"] == ["request.amount: wanted 21, got 20"]
    assert len(told["nearMisses"][2]["differences"]) == 3


def test_expectations_of_rules_count_when_asked(api: Api) -> None:
    rule = {
        "id": "once",
        "when": {"op": "charge.create"},
        "then": {"decline": "lost_card"},
        "expect": {"min": 1},
    }
    assert (
        api.call("PUT", "/__admin/scenarios", {"version": 1, "name": "s", "rules": [rule]}).status
        == 200
    )
    asked = {"op": "charge.create", "count": {"exactly": 0}}
    assert verify(api, asked).status == 200
    reply = verify(api, asked, rules=True)
    assert reply.status == 409
    assert "once" in reply.body["message"]
    api.try_charge()
    assert verify(api, rules=True).status == 200


@pytest.mark.parametrize("body", [{}, {"requests": []}, {"rules": False}])
def test_verifying_nothing_is_refused_instead_of_passing(api: Api, body: object) -> None:
    reply = api.call("POST", "/__admin/verify", body)
    assert (reply.status, reply.body["code"]) == (400, 90)
    assert "nothing is verified" in reply.body["details"]["Requests"]


def test_a_count_that_the_journal_cannot_vouch_for_does_not_hold() -> None:
    api = Api(journal_limit=2)
    for _ in range(3):
        api.try_charge()
    assert verify(api, {"op": "charge.create", "count": {"min": 2}}).status == 200
    reply = verify(api, {"op": "charge.create", "count": {"exactly": 2}})
    assert reply.status == 409
    assert "--journal-limit" in reply.body["message"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"requests": {}}, "Requests"),
        ({"requests": [1]}, "Requests[0]"),
        ({"requests": [{"op": "charge.creat"}]}, "Requests[0].op"),
        ({"requests": [{"op": "charge.create", "when": {}}]}, "Requests[0].when"),
        (
            {"requests": [{"op": "charge.create", "where": {"amount": 1}}]},
            "Requests[0].where.amount",
        ),
        ({"requests": [{"op": "charge.create", "amount": 1}]}, "Requests[0].amount"),
        ({"requests": [{"op": "charge.create", "nth": 1}]}, "Requests[0].where.nth"),
        ({"requests": [{"op": "charge.create", "where": {"nth": 1}}]}, "Requests[0].where.nth"),
        (
            {"requests": [{"op": "charge.get", "where": {"state.charge.status": "x"}}]},
            "Requests[0].where.state.charge.status",
        ),
        (
            {"requests": [{"op": "charge.create", "where": []}, {"op": "charge.get", "count": {}}]},
            "Requests[1].count",
        ),
        (
            {"requests": [{"op": "charge.create", "count": {"exactly": 1, "min": 1}}]},
            "Requests[0].count",
        ),
        (
            {"requests": [{"op": "charge.create", "count": {"min": 3, "max": 1}}]},
            "Requests[0].count",
        ),
        ({"requests": [{"op": "charge.create", "count": {"max": -1}}]}, "Requests[0].count"),
        (
            {
                "requests": [
                    {"op": "charge.create", "where": {"request.paymentInformation.ccv": "1"}}
                ]
            },
            "Requests[0].where.request.paymentInformation.ccv",
        ),
        ({"rules": "yes"}, "Rules"),
        ({"request": []}, "Request"),
    ],
)
def test_senseless_expectations_are_refused(shared: Api, body: object, field: str) -> None:
    reply = shared.call("POST", "/__admin/verify", body)
    assert (reply.status, list(reply.body["details"])) == (400, [field])


def test_all_faults_are_reported_at_once(api: Api) -> None:
    reply = verify(api, {"op": "no.such"}, {"op": "charge.get", "count": "many"}, rules=1)
    assert list(reply.body["details"]) == ["Requests[0].op", "Requests[1].count", "Rules"]


def test_others_are_served_while_much_is_verified(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each expectation reads the requests of all entries anew."""
    monkeypatch.setattr(runner, "TURN", 0)
    for number in range(120):
        api.try_charge(reference=f"order-{number}")
    order: list[str] = []

    async def one(method: str, target: str, body: object) -> None:
        reply = await api.calling(method, target, body)
        order.append(f"{target} {reply.status}")

    async def all_at_once() -> None:
        wanted = {"requests": [{"op": "charge.create", "where": {"request.reference": "none"}}] * 5}
        verifying = asyncio.ensure_future(one("POST", "/__admin/verify", wanted))
        for _ in range(8):
            await asyncio.sleep(0)
            await one("GET", "/info", None)
        await verifying

    asyncio.run(all_at_once())
    assert order == ["/info 200"] * 8 + ["/__admin/verify 409"]


def test_an_expectation_has_so_many_tests(api: Api) -> None:
    many = {f"request.metadata.a{number}": "x" for number in range(1_001)}
    refused = api.call(
        "POST", "/__admin/verify", {"requests": [{"op": "charge.create", "where": many}]}
    )
    assert (refused.status, refused["details"]) == (
        400,
        {"Requests[0].where": "got 1001 tests, wanted at most 1000"},
    )


def test_of_many_faulty_expectations_the_first_are_reported(api: Api) -> None:
    refused = api.call(
        "POST",
        "/__admin/verify",
        {"requests": [{"op": f"charge.creat{one}"} for one in range(500)]},
    )
    assert (refused.status, len(refused["details"])) == (400, 100)


def test_what_is_pushed_out_during_a_verification_raises_no_doubt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runner, "TURN", 0)
    api = Api(journal_limit=200)
    for _ in range(200):
        api.try_charge()
    # The first control call waits until the control API is loaded: that one shall begin at once.
    assert api.app.lookup.at("/__admin/verify") is not None

    async def verified_meanwhile() -> Reply:
        wanted = {"op": "charge.create", "where": {"request.amount": {"gte": 1}}, "count": 200}
        verifying = asyncio.ensure_future(
            api.calling("POST", "/__admin/verify", {"requests": [wanted]})
        )
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await api.calling("POST", "/charge/card", {"amount": 5})
        assert not verifying.done()
        return await verifying

    reply = asyncio.run(verified_meanwhile())
    assert (reply.status, reply["differences"]) == (200, [])
