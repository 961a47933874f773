"""What came of a run, when all had ended, and what it is compared with.

Three things are known of a run at its end: the money, which the sandbox knows to the cent; what the
findings say of the client; and what the shop's books claim of its orders, where they are given.
Claims are read here order by order, since a shop may have several rows about one order, and may
know it by its reference or by the ids of its charges.

The verdicts (``verdicts``) and the second look at the findings (``review``) rest on both. Source:
docs/explore.md, Verdicts by money.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from mockserver.books import shop_rows
from mockserver.books.comparison import COMPARED
from mockserver.books.shop_rows import Claim, ShopRow
from mockserver.domain.figures import Figures, OrderKey
from mockserver.domain.record import record, replace
from mockserver.explore.run_answers import CallRow, FindingRow, OrderRow
from mockserver.explore.run_money import RunMoney, ShopsRow, first_difference, keys_of, shown_key
from mockserver.explore.telling import Ending
from mockserver.scenario.operations import MONEY


@record
class RunEnd:
    """What came of a run, when all had ended. ``findings`` hold the differences of the books too.

    Of the books: ``rows`` are the shop's at the end and ``states`` what its own states mean;
    ``differed`` are the differences when the command ended; ``unread`` says why the books could not
    be had, ``failed`` why they could not be compared, or what else of the shop has failed.

    ``ending`` is what the end of the command told, ``untold`` are the orders of which the books
    know nothing, and that somebody may have been told of. ``broken`` are the invariants that do not
    hold, ``fired`` the rules of the scenario that have, ``operations`` how often each operation
    that moves money was asked for. ``is_due``: a settlement, or a webhook, is still to come;
    ``is_settled``: time was moved on for that (``--settle``)."""

    money: RunMoney
    findings: Sequence[FindingRow]
    differed: Sequence[FindingRow] = ()
    rows: Sequence[ShopsRow] = ()
    states: Mapping[str, str] | None = None
    failed: str = ""
    broken: Sequence[str] = ()
    operations: Mapping[str, int] = field(default_factory=dict)
    unread: str = ""
    ending: Ending = Ending()
    untold: Sequence[str] = ()
    fired: frozenset[str] = frozenset()
    is_due: bool = False
    is_settled: bool = False

    @property
    def differing(self) -> list[FindingRow]:
        """The differences of the books at the end."""
        return [row for row in self.findings if row["finding"] in COMPARED]

    def claims(self, order: OrderRow) -> set[Claim | None]:
        """What the shop's rows call an order, whatever amounts they give; None where they only give
        amounts. Empty where no row is about it."""
        keys = set(keys_of(order))
        return {row.claim for row in self._read_rows() if row.key in keys}

    def concluded(self) -> Iterator[tuple[OrderRow, set[Claim | None]]]:
        """The orders that the shop's rows call paid, refunded or held, and no more, with what they
        claim: to the shop these are done, so it will not look at what is left over of them. A row
        that gives ``held``, or calls its order pending, unknown or by a state of the shop's own,
        says that the shop knows of more."""
        for order, claims in self._claimed():
            if claims <= {Claim.TAKEN, Claim.REFUNDED, Claim.HELD}:
                yield order, claims

    def left_pending(self) -> list[OrderRow]:
        """The orders whose money has come, that the shop's books call pending, and for which
        nothing is left that could settle them: pending is a claim that ends."""
        if self.is_due:
            return []
        left = []
        for order, claims in self._claimed():
            figures = Figures.of(order)
            # A hold waits for its dispatch, as of a pre-order; a balance waits for its payer, when
            # the deposit is paid. Such an order is pending by right.
            waits_for_more = figures.held or figures.waiting
            if claims == {Claim.PENDING} and figures.net > 0 and not waits_for_more:
                left.append(order)
        return left

    def _claimed(self) -> Iterator[tuple[OrderRow, set[Claim | None]]]:
        """The orders of which the shop's rows claim something, with that; None stands for a claim
        that concludes nothing."""
        claims_by_key = defaultdict[OrderKey, set[Claim | None]](set)
        for row in self._read_rows():
            claims_by_key[row.key].add(_conclusion_of(row))
        for order in self.money.orders:
            claims = set[Claim | None]()
            for key in keys_of(order):
                claims |= claims_by_key.get(key, set())
            if claims:
                yield order, claims

    def _read_rows(self) -> Iterator[ShopRow]:
        """The shop's rows at the end, with the shop's own states in known words, and orders named
        as the sandbox shows them."""
        for row in self.rows:
            read = shop_rows.read_row(row, self.states)
            yield replace(read, key=shown_key(read.key))


def _conclusion_of(row: ShopRow) -> Claim | None:
    """What a row of the shop's books claims of its order for good; None where it leaves something
    open."""
    if row.held is not None:
        # Who keeps what is held knows that a hold is left.
        return None
    if row.paid and not row.state:
        # Books that keep amounts alone call an order paid by what was paid.
        return Claim.TAKEN
    return row.claim


@record
class Reference:
    """What runs are compared with: the money of the run without a fault, None where two of them
    moved different money (``unlike`` says which); ``shared`` are the orders that come again in each
    run. ``of_two``: the command is run twice at once. ``operations`` is how often it asked for each
    operation that moves money; ``leaves_pending``: its books call paid orders pending without any
    fault too, as those of a shop do that leaves them to a person."""

    money: RunMoney | None = None
    shared: Collection[str] = ()
    of_two: bool = False
    operations: Mapping[str, int] = field(default_factory=dict)
    leaves_pending: bool = False
    unlike: str = ""

    @classmethod
    def of(cls, first: RunMoney, second: RunMoney) -> Reference:
        """What two runs without a fault give. Two, since one alone does not show which references
        come again, nor whether the command always moves the same money."""
        shared = first.names() & second.names()
        # Renewals beyond the time that both runs took are no difference.
        length = min(first.length, second.length)
        unlike = first_difference(first, second, shared, length)
        if unlike:
            return cls(unlike=unlike)
        return cls(first, shared)


def operations_of(calls: Iterable[CallRow]) -> Mapping[str, int]:
    """How often the calls of a run asked for each operation that moves money."""
    return Counter(call["op"] for call in calls if call["call"] is not None and call["op"] in MONEY)
