"""The server's own rate limit (``--rate-limit``): refused beyond it, nothing changed, everybody by himself."""

from __future__ import annotations

import pytest

from mockserver.domain.clock import SECOND
from tests.control.driving import START, Shop


class Machine:
    """A machine's clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> int:
        return self.now


def limited(machine: Machine, limit: int = 3) -> Shop:
    return Shop(rate_limit=limit, real_clock=machine)


def test_calls_over_the_limit_are_refused_and_change_nothing() -> None:
    machine = Machine()
    shop = limited(machine)
    taken = [shop.charge() for _ in range(3)]
    before = shop("GET", "/__admin/state").raw
    refused = shop.charge()
    assert [reply.status for reply in taken] == [201] * 3
    assert (refused.status, refused.headers["retry-after"]) == (429, "1")
    assert refused.body == {
        "message": "Rate Limiting Applied",
        "code": 35,
        "isRetryable": True,
        "type": "https://docs.payfurl.com/errorcodes#35",
        "resource": "/charge/card",
        "details": {
            "RateLimit": "got more than 3 calls in a second, allowed: 3 for each sandbox (--rate-limit); "
            "the next one is taken in 333ms334us"
        },
        "gatewayCode": None,
        "gatewayMessage": None,
        "httpStatus": 429,
    }
    assert shop("GET", "/__admin/state").raw == before
    machine.now += SECOND
    assert shop("GET", "/charge").body["count"] == 3


def test_it_says_what_a_scripted_limit_says() -> None:
    shop = limited(Machine(), 1)
    rule = {"id": "slow", "then": {"transport": {"at": "receive", "status": 429, "retry_after": 1}}}
    shop("PUT", "/__admin/scenarios", {"version": 1, "name": "s", "rules": [rule]})
    scripted, refused = shop.charge(), shop.charge()
    assert scripted.status == refused.status == 429
    assert scripted.headers["retry-after"] == refused.headers["retry-after"]
    told = ("message", "code", "isRetryable", "httpStatus")
    assert [scripted.body[name] for name in told] == [refused.body[name] for name in told]


def test_two_keys_do_not_disturb_each_other() -> None:
    shop = limited(Machine(), 1)
    assert [shop.charge_as(key).status for key in ("sk_a", "sk_b", "sk_a", "sk_c")] == [201, 201, 429, 201]


def test_either_key_of_a_sandbox_counts() -> None:
    shop = limited(Machine(), 1)
    assert shop("GET", "/charge").status == 200
    assert shop("POST", "/token/card", {}, key=None, headers={"x-publickey": "pk_shop"}).status == 429


def test_control_health_and_pages_are_not_limited() -> None:
    shop = limited(Machine(), 1)
    assert [shop.charge().status, shop.charge().status] == [201, 429]
    for path in ("/__admin/journal", "/__admin/clock", "/healthz", "/readyz", "/__admin/", "/pay/none"):
        assert [shop("GET", path).status for _ in range(3)].count(429) == 0
    assert shop("POST", "/__admin/reset").status == 200
    assert shop.charge().status == 429


def test_real_time_lets_calls_in_again_and_the_sandbox_s_clock_does_not() -> None:
    machine = Machine()
    shop = limited(machine, 1)
    assert shop.charge().status == 201
    shop("POST", "/__admin/clock/advance", {"by": "1h"})
    assert shop.charge().status == 429
    machine.now += SECOND
    assert shop.charge().status == 201


def test_a_refused_call_is_an_entry_of_the_journal_and_no_part_of_a_repetition() -> None:
    machine = Machine()
    shop = limited(machine, 1)
    shop.charge()
    shop.charge()
    machine.now += SECOND
    shop.charge()
    entries = shop("GET", "/__admin/journal").body["entries"]
    assert [(entry["op"], entry["status"]) for entry in entries] == [
        ("charge.create", 201),
        ("charge.create", 429),
        ("charge.create", 201),
    ]
    assert shop("POST", "/__admin/fork", {"to": "sk_copy", "at": 3}).body["objects"]["charges"] == 2


def test_without_the_setting_there_is_no_limit() -> None:
    shop = Shop()
    assert {shop("GET", "/charge").status for _ in range(200)} == {200}


@pytest.mark.parametrize(("pause", "found"), [(SECOND, []), (SECOND // 2, ["retry-after-ignored"])])
def test_a_client_that_comes_back_before_the_pause_is_over_is_told_so(pause: int, found: list[str]) -> None:
    machine = Machine()
    shop = Shop(rate_limit=1, real_clock=machine, clock="real")
    for _ in range(2):
        shop("GET", "/charge")
    machine.now += pause
    shop("GET", "/charge")
    assert [row["finding"] for row in shop("GET", "/__admin/findings").body["findings"]] == found
