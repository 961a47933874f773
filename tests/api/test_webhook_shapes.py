"""Webhooks in another shape than the genuine one (scenario language, Outcomes, webhook), seen by a
receiver."""

import asyncio
import json
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl

import pytest

from mockserver.domain.delivery import MediaType, padded, sign
from mockserver.scenario.webhook_plan import MOST_BYTES
from mockserver.settings import DEFAULT_WEBHOOK_KEY
from tests.adapters.test_webhook_sender import Receiver, charge, listening, lived, waited
from tests.driving import Api
from tests.scenario.telling import fault, one, told

Got = tuple[dict[str, str], bytes]


def received(plan: str, calls: int = 1, **receiver: Any) -> list[Got]:
    """What a receiver gets of some charges under a plan, in the order of arrival."""
    return _told(plan, calls, **receiver)[0]


def _told(plan: str, calls: int = 1, **receiver: Any) -> tuple[list[Got], list[dict[str, Any]]]:
    """The same, and what the sandbox found."""
    rule = f"{{id: r, when: {{op: charge.create}}, then: {{webhook: {{{plan}}}}}}}"
    shop = Api(scenario=f"version: 1\nrules: [{rule}]")
    there = Receiver(**receiver)

    async def story() -> None:
        async with listening(there):
            for _ in range(calls):
                assert (await shop.calling("POST", "/charge/card", charge(there.url))).status == 201
            assert (await waited(shop, {"webhook": {"state": "delivered"}}))["held"]
            while (await shop.calling("GET", "/__admin/webhooks?state=sending")).body["count"]:
                await asyncio.sleep(0)

    lived(shop, story)
    return there.got, shop.get("/__admin/findings")["findings"]


@pytest.mark.parametrize(
    ("plan", "fault"), [("none", "was missing"), ("bad", "did not fit its body")]
)
def test_a_forgery_that_is_accepted_is_told_by_its_header(plan: str, fault: str) -> None:
    _, rows = _told(f"signature: {plan}")
    [line] = next(row["evidence"] for row in rows if row["finding"] == "forged-webhook-accepted")
    assert line["line"].endswith(f"though its header X-Payfurl-Signature {fault}")


def is_signed(got: Got) -> bool:
    return got[0].get("x-payfurl-signature") == sign(DEFAULT_WEBHOOK_KEY, got[1])


def test_unsigned_means_without_the_header() -> None:
    ((headers, body),) = received("signature: none")
    assert "x-payfurl-signature" not in headers
    assert headers["x-payfurl-version"]
    assert json.loads(body)["data"]["status"] == "SUCCESS"


@pytest.mark.parametrize("plan", ["signature: bad", "bad_signature: true", "signature: stale"])
def test_a_signature_that_does_not_fit(plan: str) -> None:
    (got,) = received(plan)
    assert got[0]["x-payfurl-signature"]
    assert not is_signed(got)


def test_a_stale_signature_is_of_the_same_message_a_day_before() -> None:
    ((headers, body),) = received("signature: stale")
    earlier = body.replace(b'"timestamp":"2031-03-01', b'"timestamp":"2031-02-28')
    assert earlier != body
    assert headers["x-payfurl-signature"] == sign(DEFAULT_WEBHOOK_KEY, earlier)


def test_a_form_has_the_members_of_the_body_and_is_signed_as_it_is() -> None:
    (got,) = received("form: true")
    assert got[0]["content-type"] == "application/x-www-form-urlencoded"
    assert is_signed(got)
    fields = dict(parse_qsl(got[1].decode()))
    assert fields["meta[type]"] == "transaction"
    assert (fields["data[status]"], fields["data[amount]"]) == ("SUCCESS", "5")
    assert fields["data[paymentInformation][card][type]"] == "VISA"


@pytest.mark.parametrize("form", ["", ", form: true"])
@pytest.mark.parametrize("length", [200_000, 10])
def test_a_webhook_is_padded_to_its_length(length: int, form: str) -> None:
    (got,) = received(f"pad: {length}{form}")
    assert is_signed(got)
    if length == 10:
        assert b"padding" not in got[1]
    else:
        assert len(got[1]) == length
        assert form or set(json.loads(got[1])) == {"meta", "data", "padding"}


def test_the_same_data_is_spelt_otherwise_and_signed_so() -> None:
    fee = "edit: {data.fee: 0.6}"
    (usual,), (got,) = received(fee), received(f"respelt: true, {fee}")
    assert json.loads(got[1], parse_float=Decimal) == json.loads(usual[1], parse_float=Decimal)
    assert is_signed(got)
    assert b'"status":"SUCCESS"' in usual[1]
    assert b'"status" : "\\u0053UCCESS"' in got[1]
    assert b'"fee" : 0.60 ' in got[1]
    assert list(json.loads(got[1])) == ["data", "meta"]


def test_a_webhook_that_is_spelt_otherwise_may_be_padded() -> None:
    (got,) = received("respelt: true, pad: 3000")
    assert (len(got[1]), json.loads(got[1])["data"]["status"]) == (3000, "SUCCESS")


def foreign_after(*references: str) -> list[dict[str, Any]]:
    """The messages about the last of some charges, the webhook of which tells of another."""
    rule = (
        f"{{id: r, when: {{op: charge.create, call: {len(references)}}}, "
        "then: {decline: do_not_honour, webhook: {extra: true, foreign: true}}}"
    )
    shop = Api(scenario=f"version: 1\nrules: [{rule}]")
    there = "http://127.0.0.1:4111/__inbox/shop"
    for amount, reference in enumerate(references, start=20):
        body = {**charge(there), "amount": amount, "reference": reference}
        shop.post("/charge/card", body)
    messages = shop.get("/__admin/inbox/shop")["messages"]
    assert {message["signature"] for message in messages} == {"valid"}
    return [message["body"]["data"] for message in messages[len(references) - 1 :]]


def test_a_foreign_webhook_tells_of_the_last_paid_charge_of_another_order() -> None:
    told, true = foreign_after("web-1", "web-2", "web-3")
    assert (told["reference"], told["status"], told["amount"]) == ("web-2", "SUCCESS", 22)
    assert (true["reference"], true["status"], true["amount"]) == ("web-3", "FAILED", 22)
    assert told["chargeId"] != true["chargeId"]


def test_a_foreign_webhook_tells_of_nobodys_charge_where_there_is_no_other() -> None:
    told, true = foreign_after("web-1", "web-1")
    assert (told["reference"], told["amount"]) == ("another-order", 21)
    assert told["chargeId"] == "e" * 32
    assert true["reference"] == "web-1"


@pytest.mark.parametrize("media_type", MediaType)
def test_padding_by_little_keeps_a_body_readable(media_type: MediaType) -> None:
    is_json = media_type is MediaType.JSON
    body = b'{"a":1}' if is_json else b"a=1"
    for more in range(25):
        got = padded(body, media_type, len(body) + more)
        assert more == 0 or len(got) >= len(body) + more
        assert str((json.loads(got) if is_json else dict(parse_qsl(got.decode())))["a"]) == "1"


@pytest.mark.parametrize(
    ("sent", "told_at"), [("-10m", "2031-02-28T23:50:00"), ("1h", "2031-03-01T01:00:00")]
)
def test_the_timestamp_is_moved_and_signed(sent: str, told_at: str) -> None:
    (got,) = received(f"sent: {sent}")
    assert json.loads(got[1])["meta"]["timestamp"].startswith(told_at)
    assert is_signed(got)


@pytest.mark.parametrize("plan", ["sent: -1d", "sent: 416000w", "signature: stale"])
def test_time_has_two_ends(plan: str) -> None:
    api = Api(
        scenario=f"version: 1\nrules: "
        f"[{{id: r, when: {{op: charge.create}}, then: {{webhook: {{{plan}}}}}}}]",
        clock="0001-01-01T00:00:00Z",
    )
    assert api.post("/charge/card", charge("http://127.0.0.1:4111/__inbox/shop")).status == 201
    assert api.get("/__admin/inbox/shop")["count"] == 1


def test_an_edited_body_is_signed() -> None:
    (got,) = received(
        "edit: {data.status: NEW, data.card.is: null}, omit: [data.amount, meta.type]"
    )
    body = json.loads(got[1])
    assert body["data"]["status"] == "NEW"
    assert not {"amount", "card"} & body["data"].keys()
    assert "type" not in body["meta"]
    assert is_signed(got)


def meeting(parties: int) -> Any:
    """A receiver that answers nobody before so many connections are open at once."""
    seen = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(writer.get_extra_info("peername"))
        while len(set(seen)) < parties:
            await asyncio.sleep(0.001)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")

    return answer


def test_copies_arrive_together_on_connections_of_their_own() -> None:
    got = received("copies: 3, together: true", answer=meeting(3))
    assert len({body for _, body in got}) == 1
    assert len(got) == 3


def test_two_events_arrive_together() -> None:
    got = received("together: true", calls=2, answer=meeting(2))
    assert len({json.loads(body)["data"]["chargeId"] for _, body in got}) == 2


REFUSED = [
    ("{signature: good}", "got 'good', allowed: none, bad, stale"),
    ("{signature: bad, bad_signature: true}", "got bad_signature and signature, only one of them"),
    ("{form: yes}", "wanted true or false (yes and no are texts here)"),
    ("{pad: 0}", f"got 0, wanted a whole number from 1 to {MOST_BYTES}"),
    ("{pad: 200KB}", "got '200KB', wanted a whole number"),
    ("{sent: yesterday}", "wanted"),
    ("{sent: -10}", "wanted a duration with its unit"),
    ("{together: true, gap: 1s, copies: 2}", "got together and gap, only one of them"),
    ("{together: true, swap_with_next: true}", "got together and swap_with_next"),
    ("{together: true, before_answer: true}", "got together and before_answer"),
    (
        "{before_answer: true, swap_with_next: true}",
        "got before_answer and swap_with_next, only one of them",
    ),
    (
        "{extra: true, signature: none, swap_with_next: 5s}",
        "got extra and swap_with_next, only one of them",
    ),
    ("{together: true, receiver: [500]}", "got together and receiver"),
    (
        "{edit: {status: X}}",
        "got 'status', and a webhook has meta and data - did you mean 'data.status'?",
    ),
    (
        "{omit: [dat.amount]}",
        "got 'dat.amount', and a webhook has meta and data - did you mean 'data'?",
    ),
    ("{drop: true, form: true}", "drop sends nothing"),
    (
        "{extra: true}",
        "extra needs what is wrong with the one more: bad_signature, signature, foreign, edit, omit",
    ),
    ("{together: true, swap_with_next: 2s}", "got together and swap_with_next"),
    ("{form: true, respelt: true}", "got form and respelt, only one of them"),
    ("{signatur: none}", "unknown key 'signatur' - did you mean 'signature'?"),
]


@pytest.mark.parametrize(("plan", "words"), REFUSED, ids=[row[0] for row in REFUSED])
def test_a_plan_of_webhooks_that_makes_no_sense_is_refused(plan: str, words: str) -> None:
    assert words in fault(one("{op: charge.create}", f"then: {{webhook: {plan}}}"))


def test_webhooks_mean_nothing_where_nobody_is_reported() -> None:
    assert "webhook means nothing in charge.get; it fits batch.create" in fault(
        one("{op: charge.get}", "then: {webhook: {signature: none}}")
    )


def test_the_explanation_says_whose_webhooks_are_dropped() -> None:
    (rule,) = told(one("{op: charge.create}", "then: {webhook: {drop: true}}")).rules
    assert rule.plan.outcomes[0].words == "webhook: drop those of this call"


@pytest.mark.parametrize(
    "plan", ["form: true", "pad: 2000", "sent: -10m", "edit: {data.status: NEW}", "copies: 1"]
)
def test_a_receiver_may_refuse_what_is_out_of_the_ordinary(plan: str) -> None:
    rule = f"{{id: r, when: {{op: charge.create}}, then: {{webhook: {{{plan}}}}}}}"
    api = Api(scenario=f"version: 1\nassumptions: {{webhook.retry: 0s}}\nrules: [{rule}]")
    there = Receiver(400)

    async def story() -> None:
        async with listening(there):
            assert (await api.calling("POST", "/charge/card", charge(there.url))).status == 201
            assert (await waited(api, {"webhook": {"state": "given_up"}}, advance=True))["held"]

    lived(api, story)
    names = [row["finding"] for row in api.get("/__admin/findings")["findings"]]
    assert ("webhook-lost" in names) is (plan == "copies: 1")
