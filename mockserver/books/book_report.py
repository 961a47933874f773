"""The differences between books and sandbox, reported as findings.

A difference is only half of what a shop needs; the other half is when it arose. So each is reported
with its way there: the journal entries in which its charges changed, the entry with which books and
sandbox parted (``where_parted``), and the webhooks that told the shop of it.

Source: docs/books.md, What a comparison finds.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from mockserver.books.compared_books import (
    LONGEST_NAME,
    BookDifference,
    ComparedBooks,
    ending_of,
    json_members,
)
from mockserver.books.comparison import COMPARED, Belief, agrees
from mockserver.books.orders import charge_events, entries_about
from mockserver.domain.delivery import Delivery
from mockserver.domain.figures import Figures, OrderMoney, figures_of
from mockserver.domain.masking import mask_start, mask_text
from mockserver.domain.states import Event
from mockserver.engine.journal import JournalEntry
from mockserver.engine.sandbox import Sandbox
from mockserver.findings.ledger import Evidence, Ledger

_MOST_ENTRIES, _MOST_WEBHOOKS = 4, 2
"""Lines of evidence of an order: its newest entries of the journal, and its newest webhooks. With
the four lines of words these are as many as a finding keeps."""


class Report:
    """What a comparison found, with the journal entries and webhooks of each order. What an earlier
    one reported is forgotten: the books were read anew."""

    def __init__(
        self,
        sandbox: Sandbox,
        ledger: Ledger,
        books: ComparedBooks,
        differences: Sequence[BookDifference],
    ) -> None:
        self._now, self._ledger, self._books = sandbox.now, ledger, books
        self._entries = entries_about(sandbox, (item.order for item in differences))
        self._webhooks = defaultdict[str, list[Delivery]](list)
        for delivery in sandbox.deliveries:
            subject_id = delivery.message.subject_id
            if subject_id is not None and subject_id in self._entries:
                self._webhooks[subject_id].append(delivery)
        ledger.retract(COMPARED)

    def add(self, item: BookDifference) -> None:
        """Raise one finding."""
        order, currency = item.order, item.order.currency
        deliveries: list[Delivery] = []
        for charge in order.charges:
            deliveries += self._webhooks[charge.charge_id]
        what = item.words
        if item.name == "paid-without-money":
            what += _credited_by_another(order, deliveries)
        words = (
            what,
            f"the shop's books: {item.belief.in_words(currency)}",
            f"the sandbox: {order.figures.in_words(currency)}",
        )
        # Names of orders and states are the shop's own, and may have a card number in them.
        lines = [Evidence(mask_text(line)) for line in words]
        entries = self._entries_of(order)
        parting = where_parted(item.belief, order, entries, is_settled=self._books.is_settled)
        if parting is not None:
            how = f"{parting.op}: {ending_of(parting)}"
            lines.append(Evidence(f"they agreed until journal {parting.number} ({how})"))
        for entry in entries[-_MOST_ENTRIES:]:
            lines.append(Evidence(f"{entry.op}: {ending_of(entry)}", entry.number))
        for delivery in deliveries[-_MOST_WEBHOOKS:]:
            lines.append(Evidence(_sending(delivery), delivery.entry, delivery.delivery_id))
        about = {order.key.kind: item.belief.order, "currency": currency or None}
        self._ledger.add(item.name, self._now, lines, **about)

    def _entries_of(self, order: OrderMoney) -> list[JournalEntry]:
        """The journal entries of all charges of an order, each once, from the oldest on."""
        by_number: dict[int, JournalEntry] = {}
        for charge in order.charges:
            by_number |= {entry.number: entry for entry in self._entries[charge.charge_id]}
        return [by_number[number] for number in sorted(by_number)]


def _credited_by_another(order: OrderMoney, deliveries: Iterable[Delivery]) -> str:
    """Which of the webhooks about the charges of an order has spoken of another order and was
    taken; empty when none has. A scenario can make them (``foreign``), and a shop that credits what
    the address names, instead of what the webhook says, books money that nobody paid for it."""
    own_charges = {charge.charge_id for charge in order.charges}
    for delivery in deliveries:
        data = json_members(delivery.content.body).get("data")
        if not isinstance(data, dict):
            continue
        reference, charge_id = data.get("reference"), data.get("chargeId")
        is_own = charge_id in own_charges or order.key == ("reference", reference)
        is_taken = any(attempt.is_accepted for attempt in delivery.tries)
        if charge_id is None or is_own or not is_taken:
            continue
        name = mask_start(str(reference or charge_id), LONGEST_NAME)
        return f"; a webhook of {name} came to its address, and was taken to be about it"
    return ""


def where_parted(
    belief: Belief, order: OrderMoney, entries: Sequence[JournalEntry], *, is_settled: bool
) -> JournalEntry | None:
    """The journal entry with which an order and what the shop believes of it parted for good; None
    when they never agreed, or the journal does not hold the whole story of the order."""
    charges = {charge.charge_id: charge for charge in order.charges}
    # The last move of each charge so far. The shop's books are those of the end throughout: asked
    # is with which entry the money went another way than they say.
    last_moves: dict[str, Event] = {}
    parting: JournalEntry | None = None
    agreed = agrees(belief, Figures(), is_settled=is_settled)
    for entry in entries:
        for event in charge_events(entry):
            # One with data has moved nothing: it is there for webhooks alone.
            if event.subject_id in charges and event.data is None:
                last_moves[event.subject_id] = event
        money_then = Figures()
        for charge_id, move in last_moves.items():
            money_then += figures_of(charges[charge_id], entry.at, move)
        agrees_now = agrees(belief, money_then, is_settled=is_settled)
        if agreed and not agrees_now:
            parting = entry
        agreed = agrees_now
    # The journal may have lost how some of the charges began.
    is_whole_story = last_moves.keys() == charges.keys()
    if agreed or not is_whole_story:
        return None
    return parting


def _sending(delivery: Delivery) -> str:
    """A webhook, and what its receiver answered."""
    line = f"webhook {delivery.message.event_type}: {delivery.state.value}"
    if not delivery.tries:
        return line
    newest = delivery.tries[-1]
    return f"{line}, answered {newest.status or newest.error}"
