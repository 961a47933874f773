"""Moves of stored objects: each gives the next value, or is refused by the state table; the value before stays."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from mockserver.domain.batch import Batch, BatchPace, BatchRow, PacePoint, RowFailure
from mockserver.domain.cards import Card, CardNumber
from mockserver.domain.charge import Charge, FailedAttempt, Payer
from mockserver.domain.clock import Instant
from mockserver.domain.customer import Customer, CustomerDetails, PostalAddress
from mockserver.domain.errors import Invalid, WrongState
from mockserver.domain.network_token import NetworkToken
from mockserver.domain.payment_link import PaymentLink
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.payto import Agreement
from mockserver.domain.provider import ProviderDetails, ProviderSummary, default_provider
from mockserver.domain.record import replace
from mockserver.domain.sources import ChallengeAnswer, Instrument, PaymentType
from mockserver.domain.states import (
    BatchEvent,
    BatchState,
    CcvEvent,
    CcvState,
    ChargeEvent,
    ChargeState,
    NetworkTokenEvent,
    NetworkTokenState,
    PayToEvent,
    PayToState,
    Presence,
    SubscriptionEvent,
    SubscriptionState,
    TokenState,
    TransferState,
    VaultEvent,
    VaultState,
)
from mockserver.domain.subscription import Interval, Subscription
from mockserver.domain.token import Token
from mockserver.domain.transfer import Transfer
from mockserver.domain.vault import VaultItem
from mockserver.domain.webhook_subscription import WebhookSubscription, WebhookType
from mockserver.engine.card_registry import CardRegistry

NOW = 1_000
DUMMY = ProviderSummary("p1", "dummy", "Dummy")
CARD = Instrument(PaymentType.CARD)


def facts() -> CardNumber:
    return CardRegistry("salt").meet("4111111111111111")


def charge(status: ChargeState, **fields: Any) -> Charge:
    return Charge("c1", None, Decimal(20), "AUD", status, DUMMY, CARD, 1, authorised=Decimal(20), **fields)


def token(state: TokenState = TokenState.ACTIVE, uses: int = 1) -> Token:
    return Token("t1", CARD, DUMMY, added=1, expires=9, uses=uses, gateway_token_id="g1", state=state)


def item(**fields: Any) -> VaultItem:
    given = {"number": "4111111111111111", "ccv": "123", "ccv_state": CcvState.HELD, **fields}
    return VaultItem(vault_id="v1", facts=facts(), added=1, expires=None, **given)


def subscription(status: SubscriptionState) -> Subscription:
    return Subscription("s1", "m1", Decimal(5), "AUD", Interval.MONTH, 1, Instant(1), 1, 1, status)


def transfer(status: TransferState) -> Transfer:
    return Transfer("t1", None, "p1", None, "account", Decimal(1), Decimal(1), "AUD", None, None, status, 1)


def agreement(status: PayToState) -> Agreement:
    return Agreement("a1", DUMMY, "Ann", "Rent", 500, 1, status=status)


def network_token(status: NetworkTokenState) -> NetworkToken:
    return NetworkToken("n1", "s1", DUMMY, Card(facts(), None, None), 1, {}, "m1", status=status)


def receiver(state: Presence) -> WebhookSubscription:
    return WebhookSubscription("w1", "http://127.0.0.1/", None, (WebhookType.BATCH,), 1, state=state)


LATE = FailedAttempt("p1", NOW, 5, "no", None, None, False)

MOVES: list[tuple[Any, Callable[[Any], Any], dict[str, object], Any]] = [
    # an object, its move, what has changed then, the same object where the move is forbidden
    (
        charge(ChargeState.AUTHORISED),
        lambda one: one.after_capture(Decimal("12.50"), NOW),
        {"status": ChargeState.SUCCESS, "amount": Decimal("12.5"), "succeeded": NOW},
        charge(ChargeState.SUCCESS),
    ),
    (
        charge(ChargeState.AUTHORISED),
        lambda one: one.after_void(ChargeEvent.VOIDED, NOW),
        {"status": ChargeState.AUTHORISE_CANCELLED, "voided": NOW},
        charge(ChargeState.FAILED),
    ),
    (
        charge(ChargeState.SUCCESS),
        lambda one: one.after_refund(one.refund_of(Decimal(5), "broken", NOW, None)),
        {"status": ChargeState.PARTIAL_REFUND, "refunded": Decimal(5), "refundable": Decimal(15)},
        charge(ChargeState.AUTHORISED),
    ),
    (
        charge(ChargeState.SUCCESS),
        lambda one: one.after_refund(one.refund_of(None, None, NOW, None)),
        {"status": ChargeState.REFUND, "refunded": Decimal(20), "refundable": Decimal(0)},
        charge(ChargeState.REFUND, refunded=Decimal(20)),
    ),
    (
        charge(ChargeState.PENDING),
        lambda one: one.after_settlement(ChargeEvent.SETTLED, NOW),
        {"status": ChargeState.SUCCESS, "succeeded": NOW},
        charge(ChargeState.AUTHORISED),
    ),
    (
        charge(ChargeState.PENDING_CHECKOUT),
        lambda one: one.after_challenge(ChargeEvent.PAID, None, NOW),
        {"status": ChargeState.SUCCESS, "succeeded": NOW, "three_ds_verified": True},
        charge(ChargeState.SUCCESS),
    ),
    (
        charge(ChargeState.PENDING_CHECKOUT),
        lambda one: one.after_challenge(ChargeEvent.DECLINED, LATE, NOW),
        {"status": ChargeState.FAILED, "failed_attempts": (LATE,), "authorised": None},
        charge(ChargeState.FAILED),
    ),
    (
        token(uses=2),
        lambda one: one.after_use(NOW),
        {"state": TokenState.ACTIVE, "uses": 1, "used": NOW},
        token(TokenState.USED),
    ),
    (token(), lambda one: one.after_use(NOW), {"state": TokenState.USED, "uses": 0}, token(TokenState.EXPIRED)),
    (token(), lambda one: one.after_expiry(), {"state": TokenState.EXPIRED}, token(TokenState.USED)),
    (
        item(),
        lambda one: one.after_ccv(CcvEvent.PAID),
        {"ccv": None, "ccv_state": CcvState.SPENT, "state": VaultState.STORED},
        item(ccv=None, ccv_state=CcvState.ABSENT),
    ),
    (
        item(),
        lambda one: one.after_end(VaultEvent.DELETED),
        {"number": None, "state": VaultState.DELETED},
        item(state=VaultState.EXPIRED),
    ),
    (
        Customer("c1", 1, email="ann@example.com", phone="1"),
        lambda one: one.after_removal(NOW),
        {"state": Presence.REMOVED, "removed": NOW, "email": "deleted", "phone": "deleted"},
        Customer("c1", 1, state=Presence.REMOVED),
    ),
    (
        PaymentMethod("m1", CARD, DUMMY, 1, payer=Payer(email="ann@example.com")),
        lambda one: one.after_removal(NOW),
        {"state": Presence.REMOVED, "email": "deleted", "payer": Payer(email="deleted")},
        PaymentMethod("m1", CARD, DUMMY, 1, state=Presence.REMOVED),
    ),
    (
        default_provider(1),
        lambda one: one.after_removal(),
        {"state": Presence.REMOVED},
        replace(default_provider(1), state=Presence.REMOVED),
    ),
    (
        subscription(SubscriptionState.SUSPENDED),
        lambda one: one.after(SubscriptionEvent.RESUMED),
        {"status": SubscriptionState.ACTIVE},
        subscription(SubscriptionState.CANCELLED),
    ),
    (
        transfer(TransferState.PENDING),
        lambda one: one.after_settlement(),
        {"status": TransferState.SUCCESS},
        transfer(TransferState.SUCCESS),
    ),
    (
        agreement(PayToState.PENDING),
        lambda one: one.after(PayToEvent.AGREED),
        {"status": PayToState.ACTIVE},
        agreement(PayToState.DECLINED),
    ),
    (
        network_token(NetworkTokenState.ACTIVE),
        lambda one: one.after(NetworkTokenEvent.SUSPENDED),
        {"status": NetworkTokenState.SUSPENDED},
        network_token(NetworkTokenState.DELETED),
    ),
    (
        receiver(Presence.ACTIVE),
        lambda one: one.after_removal(NOW),
        {"state": Presence.REMOVED, "removed": NOW},
        receiver(Presence.REMOVED),
    ),
]


@pytest.mark.parametrize(("before", "move", "changed", "forbidden"), MOVES)
def test_a_move_gives_the_next_value_or_is_refused_by_the_state_table(
    before: Any, move: Callable[[Any], Any], changed: dict[str, object], forbidden: Any
) -> None:
    kept = replace(before)
    after = move(before)
    assert {name: getattr(after, name) for name in changed} == changed
    assert before == kept
    with pytest.raises(WrongState):
        move(forbidden)


@pytest.mark.parametrize(
    ("move", "code"),
    [
        (lambda: charge(ChargeState.AUTHORISED).after_capture(Decimal(21), NOW), 77),
        (lambda: charge(ChargeState.AUTHORISED).after_capture(Decimal(0), NOW), 74),
        (lambda: charge(ChargeState.AUTHORISED).after_capture(Decimal("1.001"), NOW), 2),
        (lambda: charge(ChargeState.SUCCESS).refund_of(Decimal("20.01"), None, NOW, None), 76),
        (lambda: charge(ChargeState.SUCCESS).refund_of(Decimal(-1), None, NOW, None), 74),
    ],
)
def test_an_amount_that_a_move_cannot_take_is_refused(move: Callable[[], object], code: int) -> None:
    with pytest.raises(Invalid) as refused:
        move()
    assert (int(refused.value.code), list(refused.value.details or {})) == (code, ["Amount"])


def test_a_charge_can_be_seen_as_it_was_before_its_last_move() -> None:
    before = charge(ChargeState.AUTHORISED)
    assert before.after_capture(Decimal(5), NOW).as_before(ChargeState.AUTHORISED) == before


def test_an_update_changes_what_is_given_and_leaves_the_rest() -> None:
    ann = Customer("c1", 1, first_name="Ann", email="ann@example.com", address=PostalAddress(city="Sydney"))
    moved = ann.after_update(CustomerDetails(email="a@example.com", address=PostalAddress(line1="1 High St")), "m2")
    assert moved == replace(
        ann,
        email="a@example.com",
        address=PostalAddress(line1="1 High St", city="Sydney"),
        default_payment_method_id="m2",
    )
    provider = default_provider(1)
    renamed = provider.after_update(ProviderDetails(name="Main", authentication={"Key": "x"}), (1, 2))
    assert renamed == replace(
        provider, summary=replace(provider.summary, name="Main"), authentication={"Key": "x"}, latency=(1, 2)
    )
    assert provider.after_update(ProviderDetails(), None) == provider


def test_a_link_counts_what_is_paid_and_holds_places_for_what_may_be() -> None:
    link = PaymentLink("l1", 1, limit=1)
    waiting = link.after_charge(None, ChargeState.PENDING)
    assert (waiting.payments, waiting.under_way, waiting.has_room) == (0, 1, False)
    paid = waiting.after_charge(ChargeState.PENDING, ChargeState.SUCCESS)
    assert (paid.payments, paid.under_way) == (1, 0)
    assert waiting.after_charge(ChargeState.PENDING, ChargeState.FAILED).has_room


def test_a_payment_is_counted_by_its_subscription() -> None:
    row = replace(subscription(SubscriptionState.ACTIVE), retries=2)
    waiting = row.after_payment(Decimal(5), 0, 1)
    assert (waiting.open_payments, waiting.open_amount, waiting.retries) == (1, Decimal(5), 2)
    paid = waiting.after_payment(Decimal(5), 1, -1)
    assert (paid.payments, paid.paid, paid.open_payments, paid.retries) == (1, Decimal(5), 0, 0)


def test_a_challenge_of_a_token_verifies_its_payments_only_when_it_is_passed() -> None:
    assert token().after_challenge(ChallengeAnswer.PASS).verified
    assert not token().after_challenge(ChallengeAnswer.CANCEL).verified


def test_the_charges_of_a_method_share_what_they_show() -> None:
    method = PaymentMethod("m1", CARD, DUMMY, 1, customer_id="c1")
    assert method.charged() is method.charged()
    assert (method.charged().payment_method_id, method.charged().customer_id) == ("m1", "c1")


def test_a_batch_ends_each_row_once() -> None:
    rows = [BatchRow("m1", Decimal(1), "AUD", ""), BatchRow("m1", Decimal(2), "AUD", "")]
    batch = Batch("b1", "Rent", 1, BatchPace((PacePoint(0, 0), PacePoint(2, 1)), 2), rows)
    with pytest.raises(WrongState):
        batch.end_row(0, None, "c1", Decimal(1))
    for event in (BatchEvent.PREPARED, BatchEvent.STARTED):
        batch.move(event)
        assert [batch.standing(place).status for place in (0, 1)] == [batch.status] * 2
    batch.end_row(0, None, "c1", Decimal(1))
    batch.end_row(1, RowFailure("no"), "c2", Decimal(2))
    with pytest.raises(WrongState):
        batch.end_row(0, None, "c1", Decimal(1))
    assert (batch.success, batch.failure, batch.progress) == (1, 1, 1)
    assert batch.place_of("c1") == 0
    batch.return_row(0, RowFailure("taken back"))
    assert (batch.success, batch.failure, batch.standing(0).status) == (0, 2, BatchState.FAILED)
    with pytest.raises(WrongState):
        batch.return_row(0, RowFailure("taken back"))


def test_a_copy_of_a_batch_stays_as_it_was_taken() -> None:
    rows = [BatchRow("m1", Decimal(1), "AUD", ""), BatchRow("m1", Decimal(2), "AUD", "")]
    batch = Batch("b1", "Rent", 1, BatchPace((PacePoint(0, 0), PacePoint(2, 1)), 2), rows)
    for event in (BatchEvent.PREPARED, BatchEvent.STARTED):
        batch.move(event)
    before = batch.copied()
    assert before == batch
    batch.end_row(0, None, "c1", Decimal(1))
    batch.move(BatchEvent.BROKE_DOWN)
    assert (before.status, before.done, before.standing(0).status) == (BatchState.IN_PROGRESS, 0, before.status)
    broken = batch.standing(1)
    assert (batch.success, batch.failure, broken.status) == (1, 1, BatchState.FAILED)
    assert broken.failure is not None
    assert broken.failure.is_retryable
    batch.settle_rows(0)
    assert batch.rows == [batch.standing(0), broken]
