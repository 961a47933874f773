"""Byte-exact answers: seed 42 and a clock that stands still give the same bytes on every server,
today and tomorrow.

After a change that is meant, write them anew with ``pytest tests/golden --update-golden`` and read
the difference.
"""

import json
import re
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from tests.driving import DUMMY, START, Api, card, card_charge
from tests.served import serve

GOLDEN = Path(__file__).with_name("answers.txt")
KEY = "sk_golden"
PUBLIC_URL = "http://pay.test"
BANK = {"bankCode": "123-456", "accountNumber": "12345678", "accountName": "Ann Example"}

Send = Callable[[str, str, bytes], tuple[int, bytes]]

STORY: list[tuple[str, str, object]] = [
    ("POST", "/vault", {"CardNumber": "4111111111111111", "Ccv": "123", "ExpireSeconds": 3600}),
    ("GET", "/vault/{0.vaultId}", None),
    (
        "POST",
        "/provider",
        {
            "type": "dummy",
            "name": "Backup",
            "currency": "AUD",
            "costData": [{"transactionCost": 9}],
        },
    ),
    ("PUT", "/provider/" + DUMMY, {"fallbackProviderId": "{2.providerId}"}),
    (
        "POST",
        "/payment_method/card",
        {"providerId": DUMMY, "paymentInformation": card(), "vaultCard": True},
    ),
    (
        "POST",
        "/payment_method/vault",
        {"ProviderId": "{2.providerId}", "PaymentMethodId": "{4.paymentMethodId}"},
    ),
    ("GET", "/payment_method/{5.paymentMethodId}", None),
    (
        "POST",
        "/charge/card",
        card_charge(reference="one", ip="203.0.113.7", metadata={"Shop": "A"}, firstName="Ann"),
    ),
    ("POST", "/charge/card", card_charge(amount="12.34", capture=False, initiator="MERCHANT")),
    ("POST", "/charge/{8.chargeId}", {"amount": 10.1}),
    ("DELETE", "/refund/{8.chargeId}?amount=0.10&comment=first", None),
    ("DELETE", "/charge/{8.chargeId}?Amount=10", None),
    ("DELETE", "/refund/{8.chargeId}", None),
    (
        "POST",
        "/charge/card/least_cost",
        {"amount": 1000, "paymentInformation": card("5555555555554444")},
    ),
    ("POST", "/charge/payment_method", {"amount": "7", "paymentMethodId": "{4.paymentMethodId}"}),
    (
        "POST",
        "/charge/bank_account",
        {"providerId": DUMMY, "amount": 50, "bankPaymentInformation": BANK},
    ),
    ("POST", "/charge/card", card_charge(paymentInformation=card("4000000000000002"))),
    ("POST", "/charge/card", card_charge(paymentInformation=card("4000000000003220"))),
    ("POST", "/charge/card", card_charge(paymentInformation=card("4000000000000000"))),
    ("POST", "/charge/card", {"reference": "x" * 41}),
    ("POST", "/__admin/clock/advance", {"by": "1h"}),
    ("GET", "/vault/{0.vaultId}", None),
    ("POST", "/__admin/clock/advance", {"to": "2031-03-02T12:00:00Z"}),
    ("GET", "/charge/{15.chargeId}", None),
    ("GET", "/charge?limit=3&sortBy=amount&sortOrder=asc", None),
    ("GET", "/charge/{7.chargeId}", None),
    ("GET", "/nothing", None),
    ("PUT", "/charge/card", {}),
]


def filled(text: str, answers: list[Any]) -> str:
    return re.sub(r"\{(\d+)\.(\w+)\}", lambda found: str(answers[int(found[1])][found[2]]), text)


def told(send: Send) -> str:
    """The story as a server tells it: each call with its status and the bytes of its answer."""
    answers: list[Any] = []
    lines: list[str] = []
    for method, target, body in STORY:
        path = filled(target, answers)
        raw = b"" if body is None else filled(json.dumps(body), answers).encode()
        status, answer = send(method, path, raw)
        answers.append(json.loads(answer))
        if not path.startswith("/__admin"):
            lines += [f"{method} {path}", f"{status} {answer.decode()}", ""]
    return "\n".join(lines)


def in_process() -> str:
    api = Api(key=KEY, public_url=PUBLIC_URL)

    def send(method: str, target: str, raw: bytes) -> tuple[int, bytes]:
        reply = api.send(method, target, raw, {"content-type": "application/json"})
        return reply.status, reply.raw

    return told(send)


@pytest.fixture
def port() -> Iterator[int]:
    """A served sandbox, as a user starts it."""
    server = serve("--seed", "42", "--clock", START, "--public-url", PUBLIC_URL)
    yield server.port
    server.stop()


def test_the_answers_are_those_that_were_kept(request: pytest.FixtureRequest) -> None:
    now = in_process()
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(now, "utf-8")
    assert now == GOLDEN.read_text("utf-8"), "if that is meant: pytest tests/golden --update-golden"


def test_two_servers_give_equal_bytes_and_another_seed_gives_others() -> None:
    assert in_process() == in_process()
    one, other = Api(seed=42).charge(), Api(seed=43).charge()
    assert one["chargeId"] != other["chargeId"]


@pytest.mark.slow
def test_over_a_real_connection_the_bytes_are_the_same(port: int) -> None:
    connection = HTTPConnection("127.0.0.1", port, timeout=20)

    def send(method: str, target: str, raw: bytes) -> tuple[int, bytes]:
        headers = {"x-secretkey": KEY, "content-type": "application/json"}
        connection.request(method, target, raw or None, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()

    start = time.monotonic()
    try:
        assert told(send) == GOLDEN.read_text("utf-8")
    finally:
        connection.close()
    assert time.monotonic() - start < 60
