"""The server's own rate limit (``--rate-limit``): refused beyond it, nothing changed, everybody by
himself."""

import pytest

from mockserver.domain.clock import SECOND
from tests.driving import NOW, Api


class Machine:
    """A machine's clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> int:
        return self.now


def limited(machine: Machine, limit: int = 3) -> Api:
    return Api(rate_limit=limit, real_clock=machine)


def test_calls_over_the_limit_are_refused_and_change_nothing() -> None:
    machine = Machine()
    api = limited(machine)
    taken = [api.try_charge() for _ in range(3)]
    before = api.call("GET", "/__admin/state").raw
    refused = api.try_charge()
    assert [reply.status for reply in taken] == [201] * 3
    assert (refused.status, refused.headers["retry-after"]) == (429, "1")
    assert refused.body == {
        "message": "Rate Limiting Applied",
        "code": 35,
        "isRetryable": True,
        "type": "https://docs.payfurl.com/errorcodes#35",
        "resource": "/charge/card",
        "details": {
            "RateLimit": "got more than 3 calls in a second, allowed: 3 for each sandbox "
            "(--rate-limit); "
            "the next one is accepted in 333ms334us"
        },
        "gatewayCode": None,
        "gatewayMessage": None,
        "httpStatus": 429,
    }
    assert api.call("GET", "/__admin/state").raw == before
    machine.now += SECOND
    assert api.call("GET", "/charge").body["count"] == 3


def test_it_says_what_a_scripted_limit_says() -> None:
    api = limited(Machine(), 1)
    rule = {"id": "slow", "then": {"transport": {"at": "receive", "status": 429, "retry_after": 1}}}
    api.call("PUT", "/__admin/scenarios", {"version": 1, "name": "s", "rules": [rule]})
    scripted, refused = api.try_charge(), api.try_charge()
    assert scripted.status == refused.status == 429
    assert scripted.headers["retry-after"] == refused.headers["retry-after"]
    told = ("message", "code", "isRetryable", "httpStatus")
    assert [scripted.body[name] for name in told] == [refused.body[name] for name in told]


def test_two_keys_do_not_disturb_each_other() -> None:
    api = limited(Machine(), 1)
    assert [api.try_charge(5, key=key).status for key in ("sk_a", "sk_b", "sk_a", "sk_c")] == [
        201,
        201,
        429,
        201,
    ]


def test_either_key_of_a_sandbox_counts() -> None:
    api = limited(Machine(), 1)
    assert api.call("GET", "/charge").status == 200
    assert (
        api.call("POST", "/token/card", {}, key=None, headers={"x-publickey": "pk_tests"}).status
        == 429
    )


def test_control_health_and_pages_are_not_limited() -> None:
    api = limited(Machine(), 1)
    assert [api.try_charge().status, api.try_charge().status] == [201, 429]
    for path in (
        "/__admin/journal",
        "/__admin/clock",
        "/healthz",
        "/readyz",
        "/__admin/",
        "/pay/none",
    ):
        assert [api.call("GET", path).status for _ in range(3)].count(429) == 0
    assert api.call("POST", "/__admin/reset").status == 200
    assert api.try_charge().status == 429


def test_real_time_lets_calls_in_again_and_the_sandbox_s_clock_does_not() -> None:
    machine = Machine()
    api = limited(machine, 1)
    assert api.try_charge().status == 201
    api.call("POST", "/__admin/clock/advance", {"by": "1h"})
    assert api.try_charge().status == 429
    machine.now += SECOND
    assert api.try_charge().status == 201


def test_a_refused_call_is_an_entry_of_the_journal_and_no_part_of_a_repetition() -> None:
    machine = Machine()
    api = limited(machine, 1)
    api.try_charge()
    api.try_charge()
    machine.now += SECOND
    api.try_charge()
    entries = api.call("GET", "/__admin/journal").body["entries"]
    assert [(entry["op"], entry["status"]) for entry in entries] == [
        ("charge.create", 201),
        ("charge.create", 429),
        ("charge.create", 201),
    ]
    assert (
        api.call("POST", "/__admin/fork", {"to": "sk_copy", "at": 3}).body["objects"]["charges"]
        == 2
    )


def test_without_the_setting_there_is_no_limit(api: Api) -> None:
    assert {api.call("GET", "/charge").status for _ in range(200)} == {200}


@pytest.mark.parametrize(("pause", "found"), [(SECOND, []), (SECOND // 2, ["retry-after-ignored"])])
def test_a_client_that_comes_back_before_the_pause_is_over_is_reported_so(
    pause: int, found: list[str]
) -> None:
    machine = Machine()
    api = Api(rate_limit=1, real_clock=machine, clock="real")
    for _ in range(2):
        api.call("GET", "/charge")
    machine.now += pause
    api.call("GET", "/charge")
    assert [
        row["finding"] for row in api.call("GET", "/__admin/findings").body["findings"]
    ] == found
