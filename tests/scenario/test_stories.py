"""Failure stories that payment teams tell, each said by one scenario file and confirmed by real requests.

The table says which file tells a story and in how many lines of rules, ``id`` included. Each story has a test of the
name of its file.
"""

from __future__ import annotations

import gzip
import json
import ssl
from pathlib import Path
from typing import Any

import pytest

from mockserver import Settings
from mockserver.adapters.tls import authority_pem, listener_context
from mockserver.web.transport_faults import Cut
from tests.adapters.test_tls import handshake
from tests.driving import Api, card, card_charge, problem_of
from tests.server.connecting import converse

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
BOB = "5555555555554444"


def shop(name: str, assumptions: dict[str, object] | None = None) -> Api:
    """A caller of a sandbox in which one file is in force."""
    return Api(scenario=(SCENARIOS / f"{name}.yaml").read_text("utf-8"), assumptions=assumptions)


INBOX = {"webhook": {"url": "http://127.0.0.1:4111/__inbox/shop"}}


def told_in(api: Api) -> list[tuple[str, str]]:
    """What the inbox of the shop was told: event types, and the status of the charge."""
    messages = api.get("/__admin/inbox/shop")["messages"]
    return [(one["body"]["meta"]["eventType"], one["body"]["data"]["status"]) for one in messages]


def lines_of_rules(name: str) -> int:
    """Lines between ``rules:`` and the next part of a file, blank ones and comments left out; and that of ``tls``."""
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
def test_lines(name: str, lines: int) -> None:
    assert lines_of_rules(name) == lines


def test_every_story_is_confirmed() -> None:
    assert [name for _, name, _ in ROWS if f"test_{name.replace('-', '_')}" not in globals()] == []
    assert len({name for _, name, _ in ROWS}) == len(ROWS)


def test_fifteen_a_second() -> None:
    api = shop("fifteen-a-second")
    for _ in range(3):
        replies = [api.get("/customer") for _ in range(17)]
        assert [reply.status for reply in replies] == [200] * 15 + [429] * 2
        assert (problem_of(replies[16]), replies[16].headers["retry-after"]) == ((429, 35), "1")
        api.advance("1s")


def test_daily_limit() -> None:
    api = shop("daily-limit")
    for pause in ("4h", "24h", "1h"):
        replies = [api.post("/charge/card", card_charge()) for _ in range(4)]
        assert [reply.status for reply in replies] == [201, 201, 201, 400]
        assert problem_of(replies[3]) == (400, 965)
        if pause != "1h":
            api.advance(pause)
    api.advance("1h")
    assert problem_of(api.post("/charge/card", card_charge())) == (400, 965)


def test_soft_decline_then_success() -> None:
    api = shop("soft-decline-then-success")
    tries = [api.post("/charge/card", card_charge(reference=one)) for one in ("a", "a", "b", "a", "b", "b")]
    assert [reply.status for reply in tries] == [400, 400, 400, 201, 400, 201]
    assert problem_of(tries[0]) == (400, 15)


def test_provider_outage_with_failover() -> None:
    paid = shop("provider-outage-with-failover").charge(providerId="acq_main")
    assert (paid["status"], paid["providerId"]) == ("SUCCESS", "acq_backup")
    assert [attempt["providerId"] for attempt in paid["failedAttempts"]] == ["acq_main"]


def test_provider_flapping() -> None:
    api = shop("provider-flapping")
    assert [api.post("/charge/card", card_charge()).status for _ in range(7)] == [201, 201, 400, 201, 201, 400, 201]


def test_charged_but_unanswered() -> None:
    api = shop("charged-but-unanswered")
    with pytest.raises(Cut):
        api.post("/charge/card", card_charge(reference="order-1"))
    assert api.get("/charge", reference="order-1", status="SUCCESS")["count"] == 1
    assert api.post("/charge/card", card_charge(reference="order-1")).status == 201


def test_webhook_twice() -> None:
    api = shop("webhook-twice")
    api.charge(**INBOX)
    api.advance("10s")
    messages = api.get("/__admin/inbox/shop")["messages"]
    assert len({one["body"]["meta"]["messageId"] for one in messages}) == 1
    assert [one["signature"] for one in messages] == ["valid"] * 3


def test_webhook_early() -> None:
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


def test_partial_approval() -> None:
    paid = shop("partial-approval").charge(amount=80)
    assert (paid["status"], paid["amount"], paid["authorisationAmount"]) == ("SUCCESS", 50, 50)


def test_three_ds_abandoned() -> None:
    api = shop("three-ds-abandoned")
    charge_id = api.charge(amount=100)["chargeId"]
    seen = []
    for pause in ("14m", "1m", "1d"):
        seen.append(api.get(f"/charge/{charge_id}")["status"])
        api.advance(pause)
    assert [*seen, api.get(f"/charge/{charge_id}")["status"]] == ["PENDING_CHECKOUT"] * 2 + ["FAILED"] * 2


def test_authorisation_lapses() -> None:
    api = shop("authorisation-lapses")
    charge_id = api.charge(capture=False)["chargeId"]
    api.advance("7d")
    assert problem_of(api.post(f"/charge/{charge_id}")) == (409, 54)
    assert api.get(f"/charge/{charge_id}")["status"] == "AUTHORISE_CANCELLED"


def test_bank_charge_bounces() -> None:
    api = shop("bank-charge-bounces")
    charge_id = debit(api)
    api.advance("1d")
    assert api.get(f"/charge/{charge_id}")["status"] == "FAILED"


def debit(api: Api) -> str:
    """A payment by bank account."""
    account = {"bankCode": "001-002", "accountNumber": "123456", "accountName": "Ann"}
    body = {"amount": 5, "providerId": card_charge()["providerId"], "bankPaymentInformation": account}
    made: str = api.post("/charge/bank_account", body)["chargeId"]
    return made


def test_month_end_subscription() -> None:
    api = shop("month-end-subscription")
    body = {"paymentMethodId": kept(api), "amount": 9, "currency": "AUD", "interval": "Month"}
    plan = api.post("/subscription/payment_method", body)["subscriptionId"]
    api.advance("100d")
    days = [one["dateAdded"][:10] for one in api.get("/charge", subscriptionId=plan)["charges"]]
    assert days == ["2031-04-28", "2031-03-28", "2031-02-28", "2031-01-31"]


def kept(api: Api, **fields: object) -> str:
    """A stored card."""
    body = {"providerId": card_charge()["providerId"], "paymentInformation": card(**fields)}
    made: str = api.post("/payment_method/card", body)["paymentMethodId"]
    return made


def batch(api: Api, *references: str) -> str:
    """A batch of 10 for each reference."""
    method = kept(api)
    return api.batch(*(f"{method},10,AUD,{reference}" for reference in references))


def rows_of(api: Api, batch_id: str) -> dict[str, str]:
    """The states of a batch's rows by reference, after a look at whether rows, counts and charges agree."""
    found = api.get(f"/batch/{batch_id}").body
    rows = [line.split(",") for line in found["results"].splitlines()[1:]]
    told = {row[3]: row[4] for row in rows}
    counts = [list(told.values()).count(word) for word in ("SUCCESS", "FAILED")]
    assert counts == [found["success"], found["failure"]]
    charges = [api.get("/charge", batchId=batch_id, status=word)["count"] for word in ("SUCCESS", "FAILED")]
    assert charges == counts
    return {**told, "": found["status"]}


def test_batch_row_never_finishes() -> None:
    api = shop("batch-row-never-finishes")
    batch_id = batch(api, "a", "b", "c")
    api.advance("365d")
    assert rows_of(api, batch_id) == {"a": "SUCCESS", "b": "IN_PROGRESS", "c": "SUCCESS", "": "IN_PROGRESS"}
    assert api.get(f"/batch/{batch_id}/status")["progress"] == 0.6666


def test_batch_row_returned() -> None:
    api = shop("batch-row-returned")
    batch_id = batch(api, "a", "b", "c")
    api.advance("1d")
    assert rows_of(api, batch_id) == {"a": "SUCCESS", "b": "SUCCESS", "c": "SUCCESS", "": "SUCCESS"}
    api.advance("2d1h")
    assert rows_of(api, batch_id) == {"a": "SUCCESS", "b": "FAILED", "c": "SUCCESS", "": "SUCCESS"}


def test_once_per_customer() -> None:
    api = shop("once-per-customer")
    made = [
        api.post("/customer/card", {"providerId": card_charge()["providerId"], "paymentInformation": card(number)})
        for number in ("4111111111111111", BOB)
    ]
    ids = [reply["customerId"] for reply in made]
    bodies = [{"customerId": one, "amount": amount} for amount in (1, 2, 3) for one in ids]
    for body in bodies[:2]:
        with pytest.raises(Cut):
            api.post("/charge/customer", body)
    assert [api.post("/charge/customer", body).status for body in bodies[2:]] == [201] * 4
    assert api.get("/charge")["count"] == 6


def test_maintenance_window() -> None:
    api = shop("maintenance-window")
    open_, shut = [], []
    api.advance("31m")
    for _ in range(3 * 24):
        (shut if api.get("/charge").status == 503 else open_).append(len(open_) + len(shut))
        api.advance("1h")
    # 15:30 and 16:30 UTC of the first night, one hour more in the next, an hour later from then on.
    assert shut == [0, 1, 24, 25, 26, 49, 50]


def test_refund_fails_late() -> None:
    api = shop("refund-fails-late")
    charge_id = api.charge()["chargeId"]
    assert api.delete(f"/refund/{charge_id}")["status"] == "REFUND"
    api.advance("3d")
    failed = api.get(f"/charge/{charge_id}").body
    assert (failed["status"], failed["refundedAmount"], failed["refunds"]) == ("SUCCESS", 0, [])
    assert api.delete(f"/refund/{charge_id}")["refundedAmount"] == 20


def test_refund_settles_late() -> None:
    api = shop("refund-settles-late")
    charge_id = api.charge()["chargeId"]
    assert api.delete(f"/refund/{charge_id}")["status"] == "SUCCESS"
    assert problem_of(api.delete(f"/refund/{charge_id}")) == (400, 76)
    api.advance("5d")
    assert api.get(f"/charge/{charge_id}")["status"] == "REFUND"


def test_capture_pending() -> None:
    api = shop("capture-pending")
    ids = [api.charge(amount=amount, capture=False)["chargeId"] for amount in (100, 100.01)]
    assert [api.post(f"/charge/{one}")["status"] for one in ids] == ["PENDING"] * 2
    api.advance("12h")
    assert [api.get(f"/charge/{one}")["status"] for one in ids] == ["SUCCESS", "FAILED"]


def test_direct_debit_returned() -> None:
    api = shop("direct-debit-returned")
    charge_id = debit(api)
    seen = []
    for pause in ("1d", "12d", "1d", "0s"):
        seen.append(api.get(f"/charge/{charge_id}")["status"])
        api.advance(pause)
    assert seen == ["PENDING", "SUCCESS", "SUCCESS", "FAILED"]


def paid(api: Api, **more: object) -> dict[str, Any]:
    """A charge as its own answer tells it."""
    reply = api.post("/charge/card", card_charge(**more))
    assert reply.status == 201
    return dict(reply.body)


def stored(api: Api) -> dict[str, Any]:
    """The only charge, as a search and a read tell it."""
    (found,) = api.get("/charge")["charges"]
    return dict(api.get(f"/charge/{found['chargeId']}").body)


def test_answer_unknown_status() -> None:
    api = shop("answer-unknown-status")
    got = paid(api)
    assert (got["status"], stored(api)["status"]) == ("RETRY_SCHEDULED", "SUCCESS")
    assert {**got, "status": "SUCCESS"} == stored(api)


def test_answer_null_card() -> None:
    api = shop("answer-null-card")
    got = paid(api)["paymentInformation"]
    assert got["card"] is None
    assert {**got, "card": 1} == {**stored(api)["paymentInformation"], "card": 1}


def test_answer_missing_amount() -> None:
    api = shop("answer-missing-amount")
    assert paid(api).keys() == stored(api).keys() - {"amount"}


def test_answer_additional_field() -> None:
    api = shop("answer-additional-field")
    got = paid(api)
    assert (got["riskScore"], got["status"], got["paymentInformation"]["card"]["wallet"]) == (
        17,
        "SUCCESS",
        {"name": "none"},
    )


def test_answer_gzip_header() -> None:
    reply = shop("answer-gzip-header").post("/charge/card", card_charge())
    assert reply.headers["content-encoding"] == "gzip"
    with pytest.raises(OSError, match="gzip"):
        gzip.decompress(reply.raw)


def test_answer_wrong_length() -> None:
    api = shop("answer-wrong-length")
    body = json.dumps(card_charge()).encode()
    head = b"POST /charge/card HTTP/1.1\r\nhost: localhost\r\nx-secretkey: sk_tests\r\ncontent-length: %d\r\n\r\n"
    said, _ = converse(head % len(body) + body, until=b'"status":"SUCCESS"', app=api.app)
    assert b"content-length: 20\r\n" in said
    assert len(said.partition(b"\r\n\r\n")[2]) > 20
    assert stored(api)["status"] == "SUCCESS"


def heard(name: str, **more: object) -> list[dict[str, Any]]:
    """What arrives of one charge."""
    api = shop(name)
    paid(api, webhook={"url": "http://127.0.0.1:4111/__inbox/shop"}, **more)
    messages: list[dict[str, Any]] = api.get("/__admin/inbox/shop")["messages"]
    return messages


def test_webhook_unsigned() -> None:
    (got,) = heard("webhook-unsigned")
    assert got["signature"] == "missing"
    assert "x-payfurl-signature" not in got["headers"]


def test_webhook_stale_signature() -> None:
    (got,) = heard("webhook-stale-signature")
    assert got["signature"] == "invalid"


def test_webhook_form_encoded() -> None:
    (got,) = heard("webhook-form-encoded")
    assert (got["signature"], got["headers"]["content-type"]) == ("valid", "application/x-www-form-urlencoded")
    assert "data[status]=SUCCESS" in got["body"]
    # What is secret is masked, and nothing else.
    assert "data[amount]=20&" in got["body"]
    assert "data[paymentInformation][card][cardNumber]=4111********1111&" in got["body"]


def test_webhook_huge() -> None:
    (got,) = heard("webhook-huge")
    assert got["signature"] == "valid"
    assert "(199269 characters)" in got["body"]["padding"]


def test_webhook_signed_long_ago() -> None:
    (got,) = heard("webhook-signed-long-ago")
    assert (got["signature"], got["body"]["meta"]["timestamp"][:16]) == ("valid", "2031-02-28T23:50")


def test_webhook_two_at_once() -> None:
    first, second = heard("webhook-two-at-once")
    assert first["body"] == second["body"]
    assert first["at"] == second["at"]


def test_webhook_two_events_at_once() -> None:
    api = shop("webhook-two-events-at-once")
    charge = paid(api, webhook={"url": "http://127.0.0.1:4111/__inbox/shop"})
    assert api.get("/__admin/inbox/shop")["count"] == 0
    api.advance("20s")
    api.delete(f"/refund/{charge['chargeId']}")
    messages = api.get("/__admin/inbox/shop")["messages"]
    assert sorted(one["body"]["data"]["status"] for one in messages) == ["REFUND", "SUCCESS"]
    assert len({one["at"] for one in messages}) == 1


def test_read_lags() -> None:
    api = shop("read-lags")
    charge_id = paid(api)["chargeId"]
    seen = []
    for pause in ("14s", "1s", "0s"):
        seen.append(api.get(f"/charge/{charge_id}").status)
        api.advance(pause)
    assert seen == [404, 404, 200]
    api.delete(f"/refund/{charge_id}")
    assert api.get(f"/charge/{charge_id}")["status"] == "SUCCESS"
    assert api.get("/charge")["charges"][0]["status"] == "REFUND"


def test_search_lags() -> None:
    api = shop("search-lags")
    paid(api, reference="order-1")
    assert api.get("/charge", Reference="order-1")["count"] == 0
    api.advance("1m")
    assert api.get("/charge", Reference="order-1")["count"] == 1


def test_reused_order_id() -> None:
    api = shop("reused-order-id")
    first = paid(api, reference="order-1", amount=20)
    assert paid(api, reference="order-1", amount=99) == first
    assert api.get("/charge")["count"] == 1


def test_connection_reset() -> None:
    api = shop("connection-reset")
    for _ in range(2):
        with pytest.raises(Cut):
            api.post("/charge/card", card_charge())
    assert paid(api)["status"] == "SUCCESS"


def refused_by_client(name: str, folder: Path) -> str:
    """Why a client that trusts the authority of this server refuses its certificate."""
    plan = shop(name).app.tls
    assert plan is not None
    assert plan.certificate is not None
    settings = Settings(data_dir=str(folder))
    with pytest.raises(ssl.SSLCertVerificationError) as refused:
        handshake(listener_context(settings, plan), authority_pem(folder), "localhost")
    assert handshake(listener_context(settings, None), authority_pem(folder), "localhost")
    return str(refused.value)


def test_certificate_expired(tmp_path: Path) -> None:
    assert "certificate has expired" in refused_by_client("certificate-expired", tmp_path)


def test_certificate_wrong_name(tmp_path: Path) -> None:
    assert "Hostname mismatch" in refused_by_client("certificate-wrong-name", tmp_path)


def test_certificate_untrusted(tmp_path: Path) -> None:
    assert "unable to get local issuer certificate" in refused_by_client("certificate-untrusted", tmp_path)


def uploaded(name: str) -> None:
    api = shop(name)
    with pytest.raises(Cut):
        api.call("POST", "/charge/card", card_charge(), waits=True)
    assert api.get("/charge")["count"] == 0
    assert api.call("POST", "/charge/card", card_charge(), waits=True).status == 201


def test_upload_reset() -> None:
    uploaded("upload-reset")


def test_upload_hangs() -> None:
    uploaded("upload-hangs")


def test_webhook_unknown_status() -> None:
    (got,) = heard("webhook-unknown-status")
    assert (got["signature"], got["body"]["data"]["status"]) == ("valid", "RETRY_SCHEDULED")


CHANGED, CREATED = "transaction.status.changed", "charge.dispute.created"


def test_dispute_opened() -> None:
    api = shop("dispute-opened")
    charge_id = api.charge(**INBOX)["chargeId"]
    api.advance("30d")
    assert told_in(api) == [(CHANGED, "SUCCESS"), (CREATED, "SUCCESS")]
    message = api.get("/__admin/inbox/shop")["messages"][1]
    assert message["signature"] == "valid"
    assert message["body"]["data"]["chargeId"] == charge_id
    assert message["body"]["data"]["disputeReason"] == "fraudulent"


def test_dispute_won() -> None:
    api = shop("dispute-won")
    charge_id = api.charge(**INBOX)["chargeId"]
    api.advance("44d")
    assert told_in(api)[1:] == [(CREATED, "SUCCESS"), ("charge.dispute.won", "SUCCESS")]
    assert api.delete(f"/refund/{charge_id}").status == 200


def test_dispute_lost() -> None:
    api = shop("dispute-lost")
    charge_id = api.charge(**INBOX)["chargeId"]
    api.advance("60d")
    assert told_in(api)[1:] == [(CREATED, "SUCCESS"), ("charge.dispute.lost", "SUCCESS"), (CHANGED, "FAILED")]
    assert problem_of(api.delete(f"/refund/{charge_id}")) == (409, 54)


def test_account_updater() -> None:
    api = shop("account-updater")
    bodies = [
        {"providerId": card_charge()["providerId"], "paymentInformation": card(number, expiryDate="03/31")}
        for number in ("4111111111111111", BOB)
    ]
    ids = [api.post("/payment_method/card", body)["paymentMethodId"] for body in bodies]
    api.advance("31d")
    replies = [api.post("/charge/payment_method", {"paymentMethodId": one, "amount": 5}) for one in ids]
    assert [reply.status for reply in replies] == [201, 400]
    assert problem_of(replies[1]) == (400, 14)
