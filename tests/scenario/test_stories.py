"""Failure stories that payment teams tell, each said by one scenario file in a few lines.

The table says which file tells a story and in how many lines of rules, ``id`` included.
``test_shipped.py`` confirms each by the examples in its file; here stands what no example can say.
"""

import gzip
import ssl
from pathlib import Path
from typing import Any

import pytest

from mockserver import Settings
from mockserver.adapters.tls import authority_pem, listener_context
from tests.adapters.test_tls import handshake
from tests.driving import Api, card_charge

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"
STORIES = """
fifteen calls a second, then 429            | fifteen-a-second          | 4
a merchant's daily limit                    | daily-limit               | 4
a refund that fails after three days        | refund-fails-late         | 4
a refund unseen until it settles            | refund-settles-late       | 3
captures booked at night                    | capture-pending           | 2
a direct debit returned after two weeks     | direct-debit-returned     | 3
a dispute is opened                         | dispute-opened            | 3
a dispute is won                            | dispute-won               | 4
a dispute is lost                           | dispute-lost              | 4
declined twice, then paid                   | soft-decline-then-success | 4
the backup acquirer takes over              | provider-outage-with-failover | 3
an acquirer that comes and goes             | provider-flapping         | 5
charged, but unanswered                     | charged-but-unanswered    | 4
the same webhook several times              | webhook-twice             | 3
a webhook before the answer                 | webhook-early             | 3
only a part is approved                     | partial-approval          | 3
3-D Secure abandoned                        | three-ds-abandoned        | 3
an authorisation that expires               | authorisation-lapses      | 0
a bank debit that bounces after a day       | bank-charge-bounces       | 3
an account updater renews a card            | account-updater           | 3
a batch row that never finishes             | batch-row-never-finishes  | 3
a batch row returned after three days       | batch-row-returned        | 3
a subscription of the 31st                  | month-end-subscription    | 0
an answer lost once for each customer       | once-per-customer         | 4
closed each night, across summer time       | maintenance-window        | 3
a status that nobody knows                  | answer-unknown-status     | 3
a card that is null                         | answer-null-card          | 3
an answer without its amount                | answer-missing-amount     | 3
members of a newer version                  | answer-additional-field   | 3
called compressed, and it is not            | answer-gzip-header        | 3
a false content-length                      | answer-wrong-length       | 3
an unsigned webhook                         | webhook-unsigned          | 3
the signature of another day                | webhook-stale-signature   | 3
a webhook as a form                         | webhook-form-encoded      | 3
a webhook of 200 KB                         | webhook-huge              | 3
a webhook signed too long ago               | webhook-signed-long-ago   | 3
two copies at the same instant              | webhook-two-at-once       | 3
two events at the same instant              | webhook-two-events-at-once | 3
a webhook with a status that nobody knows   | webhook-unknown-status    | 3
a read behind the write                     | read-lags                 | 3
a search behind the write                   | search-lags               | 3
an order id that was used before            | reused-order-id           | 4
a reset while the request is sent           | upload-reset              | 4
a request that is never read                | upload-hangs              | 4
a reset as the connection is made           | connection-reset          | 3
an expired certificate                      | certificate-expired       | 1
the certificate of another name             | certificate-wrong-name    | 1
a certificate of nobody known               | certificate-untrusted     | 1
"""
ROWS = [[cell.strip() for cell in line.split("|")] for line in STORIES.strip().splitlines()]
INBOX = {"webhook": {"url": "http://127.0.0.1:4111/__inbox/shop"}}


def shop(name: str, assumptions: dict[str, object] | None = None) -> Api:
    """A caller of a sandbox in which one file is in force."""
    return Api(scenario=(SCENARIOS / f"{name}.yaml").read_text("utf-8"), assumptions=assumptions)


def heard(name: str, later: str = "0s") -> list[dict[str, Any]]:
    """What arrives of one charge until some time later."""
    api = shop(name)
    api.charge(**INBOX)
    api.advance(later)
    messages: list[dict[str, Any]] = api.get("/__admin/inbox/shop")["messages"]
    return messages


def lines_of_rules(name: str) -> int:
    """Lines between ``rules:`` and the next part of a file, blank ones and comments left out; and
    that of ``tls``."""
    text = (SCENARIOS / f"{name}.yaml").read_text("utf-8").splitlines()
    lines = iter(text)
    next((line for line in lines if line == "rules:"), None)
    told = [line for line in text if line.startswith("tls:")]
    for line in lines:
        if line and not line.startswith((" ", "#")):
            break
        told += [line] if line.strip() and not line.lstrip().startswith("#") else []
    return len(told)


def test_there_are_forty_and_nearly_all_are_short() -> None:
    assert len(ROWS) >= 40
    assert [name for _, name, lines in ROWS if int(lines) > 4] == ["provider-flapping"]


@pytest.mark.parametrize(("name", "lines"), [(name, int(lines)) for _, name, lines in ROWS])
def test_a_story_takes_as_many_lines_as_the_table_says(name: str, lines: int) -> None:
    assert lines_of_rules(name) == lines


def test_a_webhook_that_is_early_arrives_before_the_answer() -> None:
    told = {}
    for name in ("webhook-early", "webhook-twice"):
        api = shop(name, {"provider.latency": "50ms"})
        body = card_charge(**INBOX)
        calls = (("POST", "/charge/card", body), ("GET", "/__admin/inbox/shop", None))
        (place, looked), (_, paid) = api.race(*calls)
        assert place == 1
        told[name] = [one["body"]["data"]["chargeId"] for one in looked["messages"]]
        assert not told[name] or told[name] == [paid["chargeId"]]
    assert [len(ids) for ids in told.values()] == [1, 0]


def test_a_body_called_compressed_is_not() -> None:
    reply = shop("answer-gzip-header").post("/charge/card", card_charge())
    assert reply.headers["content-encoding"] == "gzip"
    with pytest.raises(OSError, match="gzip"):
        gzip.decompress(reply.raw)


def test_a_webhook_is_huge_and_one_was_signed_ten_minutes_ago() -> None:
    (huge,), (old,) = heard("webhook-huge"), heard("webhook-signed-long-ago")
    assert "(199268 characters)" in huge["body"]["padding"]
    assert (old["signature"], old["body"]["meta"]["timestamp"][:16]) == (
        "valid",
        "2031-02-28T23:50",
    )


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("dispute-won", [("charge.dispute.won", "SUCCESS")]),
        (
            "dispute-lost",
            [("charge.dispute.lost", "SUCCESS"), ("transaction.status.changed", "FAILED")],
        ),
    ],
)
def test_the_end_of_a_dispute_is_told(name: str, told: list[tuple[str, str]]) -> None:
    messages = [one["body"] for one in heard(name, "60d")]
    found = [(one["meta"]["eventType"], one["data"]["status"]) for one in messages]
    assert found[1:] == [("charge.dispute.created", "SUCCESS"), *told]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("certificate-expired", "certificate has expired"),
        ("certificate-wrong-name", "Hostname mismatch"),
        ("certificate-untrusted", "unable to get local issuer certificate"),
    ],
)
def test_a_client_refuses_the_certificate(name: str, why: str, tmp_path: Path) -> None:
    plan = shop(name).app.tls
    assert plan is not None
    assert plan.certificate is not None
    settings = Settings(data_dir=str(tmp_path))
    with pytest.raises(ssl.SSLCertVerificationError, match=why):
        handshake(listener_context(settings, plan), authority_pem(tmp_path), "localhost")
    assert handshake(listener_context(settings, None), authority_pem(tmp_path), "localhost")
