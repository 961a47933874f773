"""The facts of one client, told to the findings as they would come from a sandbox."""

from collections.abc import Callable
from typing import Any

from mockserver.domain.charge import Charge, FailedAttempt
from mockserver.domain.clock import SECOND
from mockserver.domain.delivery import Content, Delivery, Try, WebhookMessage
from mockserver.domain.facts import Call, WebhookTry
from mockserver.domain.sources import Instrument, PaymentType
from mockserver.domain.states import ChargeState, DeliveryState, Event, Subject
from mockserver.findings.policy import Policy
from mockserver.findings.watch import Watch
from tests.charges import charge_in

STORED = Instrument(PaymentType.CARD, payment_method_id="pm_1")


def declined(*codes: int, may_retry: bool = False, instrument: Instrument = STORED) -> Charge:
    """A charge that one provider after the other has declined."""
    attempts = tuple(FailedAttempt("p", 0, code, "No", "43", "No", may_retry) for code in codes)
    return charge_in(ChargeState.FAILED, failed_attempts=attempts, instrument=instrument)


class Story:
    """One sandbox's facts, a second apart; ``charges`` are those that it holds."""

    def __init__(self, policy: Policy | None = None) -> None:
        self.charges = {"ch_1": charge_in(ChargeState.AUTHORISED)}
        self.watch = Watch(self.charges.get, self.payments, policy or Policy())
        self.entry = 0

    def payments(self, subscription_id: str) -> list[Charge]:
        """The charges of a subscription."""
        return [
            charge for charge in self.charges.values() if charge.subscription_id == subscription_id
        ]

    def asked(self, op: str, subject: str | None, **facts: object) -> Call:
        """A call that nobody has judged yet."""
        self.entry += 1
        instant = self.entry * SECOND
        fields = {"entry": self.entry, "at": instant, "real": instant, "op": op, "request": {}}
        return Call(**{**fields, "path": {"charge_id": subject}, "subject": subject, **facts})  # type: ignore[arg-type]

    def call(
        self, op: str = "charge.capture", subject: str | None = "ch_1", **facts: object
    ) -> Call:
        call = self.asked(op, subject, **facts)
        self.watch.called(call)
        return call

    def pay(
        self,
        charge_id: str | None,
        state: ChargeState | None = ChargeState.SUCCESS,
        **facts: object,
    ) -> Call:
        """A charge of one and the same order; without a ``state`` none is made."""
        if charge_id is not None and state is not None:
            self.charges[charge_id] = charge_in(state, charge_id)
        charge = self.charges.get(charge_id or "")
        return self.call(
            "charge.create", charge_id, **{"request": {"token": "tok"}, "charge": charge, **facts}
        )

    def pay_in_part(self) -> None:
        """A charge of which its provider approves a part only."""
        paid = Event(Subject.CHARGE, "ch_2", "paid", None, ChargeState.SUCCESS, 0)
        self.pay("ch_2", request={"amount": 50}, is_partial=True, events=[paid])

    def end(self, call: Call, doubt: object = None) -> None:
        """The answer of an open call has ended."""
        self.watch.ended(call.entry, doubt, call.at, call.real)  # type: ignore[arg-type]

    def move(self, charge_id: str, what: str, after: ChargeState) -> None:
        """Time or a payer moves a charge."""
        before = self.charges[charge_id].status
        self.charges[charge_id] = charge_in(after, charge_id)
        self.watch.moved(
            Event(Subject.CHARGE, charge_id, what, before, after, self.entry * SECOND), self.entry
        )

    def webhook(self, meanwhile: Callable[[], object] | None = None, **facts: object) -> None:
        """A webhook that is sent and answered; the client acts ``meanwhile``."""
        told: Any = {
            "subject": "ch_1",
            "delivery_id": "wh_1",
            "event_id": "evt_1",
            "number": 1,
            "status": 200,
            **facts,
        }
        at, entry = self.entry * SECOND, self.entry
        delivery = Delivery(
            told["delivery_id"],
            told["event_id"],
            WebhookMessage("transaction", "transaction.status.changed", told["subject"]),
            url="http://shop.test/hook",
            authorization=None,
            content=Content(b"{}", "signature" if told.get("is_signed", True) else None),
            version="1",
            added=at,
            due=at,
            ordering_key="",
            state=DeliveryState.GIVEN_UP if told.get("gave_up") else DeliveryState.DELIVERED,
            tries=[Try(at, told["status"], latency=told.get("took", 0))] * told["number"],
            entry=told.get("caused_by", 1),
            reports=told.get("reported", "AUTHORISE"),
        )
        self.watch.webhooks.sent(delivery.delivery_id, entry)
        if meanwhile is not None:
            meanwhile()
        is_genuine, is_scripted = told.get("is_genuine", True), told.get("is_scripted", False)
        self.watch.webhook_tried(WebhookTry(at, delivery, is_genuine, is_scripted, entry))

    def finish(self) -> None:
        self.watch.finished(self.entry * SECOND, self.entry * SECOND)

    def found(self) -> list[str]:
        return [finding.kind.name for finding in self.watch.ledger.select()]

    def raised(self) -> dict[str, int]:
        """How often each kind was raised."""
        counts: dict[str, int] = {}
        for finding in self.watch.ledger:
            counts[finding.kind.name] = counts.get(finding.kind.name, 0) + finding.count
        return counts

    def lines(self) -> list[str]:
        return [line.line for finding in self.watch.ledger for line in finding.evidence]
