"""Charges that the client left alone, whose state it had wrong, or that it wanted to cancel, could
not, and took.

A payment may stop half-way: authorised and never captured, waiting for a payer whom nobody has sent
to the page of the challenge, approved for a part of the price. Each is right as long as the client
goes on with it, so it is remembered as open, and judged when its time has run out or the story has
ended.

A rule may let days pass before a capture or a void is carried out. What lapses then is not
forgotten: its client was just about to act, and could not know that there was no time left.

The charges of a load test are paid at once and leave nothing open: they are passed over first.
"""

from collections.abc import Callable
from decimal import Decimal

from mockserver.domain.bounded_cache import Recent, memory
from mockserver.domain.charge import Charge
from mockserver.domain.clock import Micros
from mockserver.domain.codes import Code
from mockserver.domain.facts import MOVES, Call
from mockserver.domain.reading import number_of
from mockserver.domain.record import mutable, record, replace
from mockserver.domain.states import ChargeEvent, ChargeState, Event, Subject
from mockserver.findings.doubts import HOLDING, Doubts, has_acted
from mockserver.findings.intents import evidence_of
from mockserver.findings.ledger import Evidence, Ledger

_MOST = 10_000
"""Charges that are remembered of those that are held, or wait for their payer."""

_MOST_SHORT = 256
"""Charges that are remembered of the rare kinds."""

_OF_AUTHORISATIONS = ("charge.capture", "charge.void")
"""What a client does with an authorisation in time."""

_UNDONE = frozenset({ChargeEvent.VOIDED, ChargeEvent.PARTLY_REFUNDED, ChargeEvent.FULLY_REFUNDED})
"""What a client does that has noticed a partial approval, and does not want it."""


@record
class _Short:
    """A charge that was approved for less: what is missing, and in whose order."""

    missing: Decimal
    currency: str
    reference: str | None
    evidence: Evidence

    def may_want(self, charge: Charge, wanted: Decimal) -> bool:
        """Whether a charge of so much is for what is missing: the whole of it, or a part of it for
        the same order. Without a reference the amount alone tells what it is for."""
        if charge.currency != self.currency:
            return False
        if wanted == self.missing:
            return True
        is_same_order = self.reference is not None and self.reference == charge.reference
        return is_same_order and wanted < self.missing


@mutable
class UnfinishedPayments:
    """Open authorisations, waiting challenges, partial approvals, and the voids and whole refunds
    that were asked for and did not happen, of one sandbox, each by the id of its charge.
    ``_visited`` are challenges whose payer has come to the page. ``charge_of`` gives a charge as it
    is now."""

    _ledger: Ledger
    _doubts: Doubts
    _charge_of: Callable[[str], Charge | None]
    _authorised: Recent[str, Evidence] = memory(_MOST)
    _challenged: Recent[str, Evidence] = memory(_MOST)
    _visited: Recent[str, Evidence] = memory(_MOST)
    _short: Recent[str, _Short] = memory(_MOST_SHORT)
    _to_cancel: Recent[str, Evidence] = memory(_MOST_SHORT)

    def called(self, call: Call) -> None:
        """A call was decided: judge what it did to charges that were left open, and note what it
        leaves open."""
        charge = call.charge
        is_paid = charge is not None and charge.status is ChargeState.SUCCESS
        leaves_nothing_open = call.op == "charge.create" and is_paid and not call.is_partial
        if leaves_nothing_open and not self._is_anything_open:
            return
        if charge is not None and (call.events or call.code is not None):
            self._changed(call, charge)
        if call.op in ("charge.void", "charge.refund"):
            # One that did not happen has moved no charge: the path alone names it.
            self._cancelled(call, call.path.get("charge_id", ""))
        elif self._to_cancel and charge is not None and call.events:
            self._judge_taken(call, charge)

    @property
    def _is_anything_open(self) -> bool:
        """Whether there is anything that a new charge may complete, or contradict."""
        return bool(
            self._authorised or self._challenged or self._visited or self._short or self._to_cancel
        )

    def _judge_taken(self, call: Call, charge: Charge) -> None:
        """Judge a call that may take money for an order that was to be cancelled: by a capture of
        the same charge, or by another charge."""
        if charge.status not in HOLDING:
            return
        if call.op == "charge.capture":
            self._taken(call, charge.charge_id)
        elif call.op == "charge.create":
            # Another charge does not name the one that was to be cancelled.
            for charge_id in list(self._to_cancel):
                if _is_same_order(charge, self._charge_of(charge_id)):
                    self._taken(call, charge_id)

    def _changed(self, call: Call, charge: Charge) -> None:
        """A call has changed a charge, or was refused."""
        if call.code == Code.INVALID_CHARGE_STATUS and call.op in MOVES:
            self._refused(call, charge.charge_id)
        for event in call.events:
            # Of a payment that the service took twice the client knows one charge.
            if event.subject is Subject.CHARGE and event.subject_id == charge.charge_id:
                self._moved(event, call)
        if call.op == "charge.create" and call.code is None:
            self._created(call, charge)

    def moved(self, event: Event) -> None:
        """Time, a provider or a payer has moved a charge: what was open may be done, or lapsed."""
        charge_id = event.subject_id
        if event.after == ChargeState.AUTHORISED:
            self._authorised_later(event)
            return
        if event.what == ChargeEvent.EXPIRED:
            self._expired(event)
        self._forget(charge_id)
        if event.after not in HOLDING:
            self._short.pop(charge_id, None)

    def _authorised_later(self, event: Event) -> None:
        """A charge was authorised after its call: by its provider, or by its payer. The line about
        a challenge says most of it; of others there is none yet."""
        charge_id = event.subject_id
        # Who has confirmed it has been to the page.
        self.visited(charge_id)
        evidence = self._visited.pop(charge_id, None)
        if evidence is None:
            who = "its provider" if event.before == ChargeState.PENDING else "the payer"
            evidence = Evidence(f"{charge_id}: authorised by {who}")
        self._authorised.put(charge_id, evidence)

    def _expired(self, event: Event) -> None:
        """An authorisation has lapsed: the client has forgotten it, unless it was about to act on
        one and a rule holds that call up."""
        charge_id = event.subject_id
        if self._doubts.is_held_up(_OF_AUTHORISATIONS):
            self._doubts.mislead(charge_id)
            return
        evidence = self._authorised.get(charge_id)
        if evidence is not None:
            expired = Evidence(f"{charge_id}: the authorisation expired")
            self._ledger.add(
                "authorisation-forgotten", event.at, (evidence, expired), charge=charge_id
            )

    def visited(self, charge_id: str) -> None:
        """The payer has come to the page of a challenge: the client has sent it there, and what
        comes of it is the payer's."""
        evidence = self._challenged.pop(charge_id, None)
        if evidence is not None:
            self._visited.put(charge_id, evidence)

    def finish(self, at: Micros) -> None:
        """The story has ended: what is still open stays open. A challenge whose payer has come to
        the page (``_visited``) is in the hands of that payer, and no mistake."""
        for charge_id, evidence in self._authorised.items():
            self._ledger.add("authorisation-forgotten", at, (evidence,), charge=charge_id)
        for charge_id, evidence in self._challenged.items():
            self._ledger.add("challenge-ignored", at, (evidence,), charge=charge_id)
        for charge_id, short in self._short.items():
            self._ledger.add("partial-approval-ignored", at, (short.evidence,), charge=charge_id)
        for still_open in (self._authorised, self._challenged, self._short, self._to_cancel):
            still_open.clear()
        # ``_visited`` stays: such a payer may still finish, and a finding then cites the call.

    def _refused(self, call: Call, charge_id: str) -> None:
        """A call was refused for the state of its charge: the client had that wrong, unless it is
        in doubt about the charge, and so could not know it."""
        if self._doubts.is_about(charge_id):
            return
        waiting = self._challenged.get(charge_id)
        # To void a payment that waits is how a client gives it up.
        if waiting is not None and call.op != "charge.void":
            self._ledger.add(
                "challenge-ignored", call.at, (waiting, evidence_of(call)), charge=charge_id
            )
        self._ledger.add(
            "wrong-state", call.at, (evidence_of(call),), charge=charge_id, operation=call.op
        )

    def _moved(self, event: Event, call: Call) -> None:
        """A call has moved its charge."""
        charge_id = event.subject_id
        if event.after == ChargeState.AUTHORISED:
            self._authorised.put(charge_id, evidence_of(call))
        elif event.after == ChargeState.PENDING_CHECKOUT:
            self._challenged.put(charge_id, evidence_of(call))
        else:
            self._forget(charge_id)
            if event.what in _UNDONE:
                self._short.pop(charge_id, None)

    def _forget(self, charge_id: str) -> None:
        """A charge is neither authorised nor waits any more."""
        self._authorised.pop(charge_id, None)
        self._challenged.pop(charge_id, None)
        self._visited.pop(charge_id, None)

    def _created(self, call: Call, charge: Charge) -> None:
        """A charge was made: it may complete one that was approved for less, or be such a one."""
        if charge.status is ChargeState.FAILED or not (self._short or call.is_partial):
            return
        wanted = number_of(call.request.get("amount"))
        if wanted is None:
            # Nothing says how much the client asked for.
            return
        if self._complete(charge, wanted):
            # What a partial approval of the rest still lacks is remembered with the first one.
            return
        if call.is_partial and charge.amount < wanted:
            line = evidence_of(call, f"approved for {charge.amount} {charge.currency} only")
            short = _Short(wanted - charge.amount, charge.currency, charge.reference, line)
            self._short.put(charge.charge_id, short)

    def _complete(self, charge: Charge, wanted: Decimal) -> bool:
        """Whether a charge was asked for what another one lacks: then less is missing of that."""
        for charge_id, short in self._short.items():
            if not short.may_want(charge, wanted):
                continue
            # It may itself have been approved for less than was wanted.
            missing = short.missing - charge.amount
            if missing > 0:
                self._short[charge_id] = replace(short, missing=missing)
            else:
                del self._short[charge_id]
            return True
        return False

    def _cancelled(self, call: Call, charge_id: str) -> None:
        """A void or refund was asked for: where it was of the whole and has not happened, the order
        was to be cancelled, and no money may be taken for it any more. One that the state of the
        charge forbade was no cancellation: the client had that wrong."""
        charge = self._charge_of(charge_id)
        # This call says anew whether the order is to be cancelled.
        self._to_cancel.pop(charge_id, None)
        if charge is None or charge.status not in HOLDING:
            # It holds nothing that could be given back.
            return
        amount = number_of(call.request.get("amount"))
        # A refund without an amount gives back all.
        is_whole = call.op == "charge.void" or amount is None or amount == charge.amount
        is_forbidden = call.code == Code.INVALID_CHARGE_STATUS
        if is_whole and not is_forbidden and not has_acted(call, charge):
            self._to_cancel.put(charge_id, evidence_of(call))

    def _taken(self, call: Call, charge_id: str) -> None:
        """Money is taken although the payment was to be cancelled, and has not been."""
        evidence = self._to_cancel.pop(charge_id, None)
        charge = self._charge_of(charge_id)
        if evidence is None or charge is None or charge.status not in HOLDING:
            # It was not to be cancelled, or it has failed, lapsed or been given back meanwhile.
            return
        lines = (evidence, evidence_of(call))
        self._ledger.add("charged-after-cancel", call.at, lines, charge=charge_id)


def _is_same_order(new: Charge, known: Charge | None) -> bool:
    """Whether two charges pay the same: one order, as far as its reference says, at one price."""
    if known is None or known.charge_id == new.charge_id:
        return False
    if new.reference is None or new.reference != known.reference:
        return False
    return new.currency == known.currency and new.amount == known.amount
