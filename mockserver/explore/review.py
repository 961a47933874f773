"""What the findings of a run come to, beside runs that are known to be right and beside what the
shop says itself.

The sandbox raises findings without knowing what a client means. It cannot tell whether a second
payment of an order was meant, whether a webhook that was answered 2xx was believed, or whether a
payer was sent to the page of a challenge. An exploration knows more: what the command does without
a fault, what it does under the same fault without a forgery, what it prints, which of its calls
its nightly job has made, and what its books say. So it looks at each finding again: what that
shows to be right is left out, what it shows to be wrong is an error.

Source: docs/explore.md, Verdicts by money; docs/findings.md, Each finding.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from decimal import Decimal
from enum import Enum, auto
from typing import NamedTuple

from mockserver.books.comparison import COMPARED
from mockserver.books.shop_rows import Claim
from mockserver.domain.figures import Figures, OrderKey
from mockserver.domain.record import replace
from mockserver.explore.run_answers import CallRow, FindingRow
from mockserver.explore.run_end import Reference, RunEnd
from mockserver.explore.run_money import (
    PlaceMoney,
    RunMoney,
    exposure_kept,
    given_back,
    keys_of,
    net_kept,
    place_of,
)
from mockserver.scenario.operations import MONEY, OPERATIONS

FORGED = "forged-webhook-accepted"
_PAID_AGAIN = ("double-charge", "batch-sent-twice")


class _Review(Enum):
    """What a run that is known to be right shows of a finding."""

    RIGHT = auto()
    WRONG = auto()
    NOTHING = auto()


def moves_of(charges: Collection[str], calls: Iterable[CallRow]) -> Counter[str]:
    """The operations that moved the money of some charges, each with how often it came: by what
    their requests name. Their order and time do not count, nor do reads: a client that looks again
    before it acts has believed nothing."""
    moves = Counter[str]()
    for call in calls:
        moves_money = call["call"] is not None and call["op"] in MONEY
        if moves_money and not set(charges).isdisjoint(call["charges"]):
            moves[call["op"]] += 1
    return moves


def beside_unforged(end: RunEnd, control: RunEnd, *, has_moved: bool, has_books: bool) -> RunEnd:
    """The end of a run in which a forged webhook was answered 2xx, beside the same run without the
    forgery (``control``). It was believed where other money of its object moves (``has_moved``), or
    the books or an invariant differ that do not without it. An answer alone is no belief: shops
    that store a webhook and verify it later, or take it as a hint to read the charge, answer 2xx
    too. Books that agree prove that; without books it stays a warning."""
    usual = {row["finding"] for row in control.differing}
    books_differ = any(row["finding"] not in usual for row in end.differing)
    is_broken = bool({*end.broken} - {*control.broken})
    is_believed = has_moved or books_differ or is_broken
    rows: list[FindingRow] = []
    for row in end.findings:
        if row["finding"] != FORGED:
            rows.append(row)
        elif is_believed:
            rows.append({**row, "severity": "error"})
        elif not has_books:
            rows.append({**row, "severity": "warning"})
    return replace(end, findings=rows)


def beside_usual(end: RunEnd, reference: Reference, *, fault_moves_money: bool) -> RunEnd:
    """The end of a run with its findings as the run without a fault has them.

    That run says what was meant: a client that knew of its first payment, and ends with no more
    money than that run, has paid a deposit and a balance; one that hears of an event twice and does
    no more than that run has remembered the first. Where there is more, and the fault moves money
    itself, it may be the fault's: then the finding stays as it is.
    """
    rows: list[FindingRow] = []
    for row in end.findings:
        match _shown_by_usual(row, end, reference):
            case _Review.WRONG if not fault_moves_money:
                rows.append({**row, "severity": "error"})
            case _Review.WRONG | _Review.NOTHING:
                rows.append(row)
            case _Review.RIGHT:
                pass
    return replace(end, findings=rows)


def _shown_by_usual(row: FindingRow, end: RunEnd, reference: Reference) -> _Review:
    """What the run without a fault shows of a finding."""
    name = row["finding"]
    if name == "webhook-not-deduplicated":
        # Equal parcels of one order are captured alike, each upon its own event.
        if end.differing or _has_more_operations(row, end, reference):
            return _Review.WRONG
        return _Review.RIGHT
    if reference.money is None:
        return _Review.NOTHING
    orders = list(_orders_about(row["about"], reference.money, end.money, reference.shared))
    if name in _PAID_AGAIN and row.get("informed"):
        # A client that knew of its first payment may have meant the second.
        if any(order.has_more_money for order in orders):
            return _Review.WRONG
        return _Review.RIGHT
    if name == "double-refund" and not any(order.has_given_back_more for order in orders):
        # Two items of one price are refunded alike, and the answer of the first may be lost.
        return _Review.RIGHT
    if name == "paid-beside-pending" and not any(order.may_have_more for order in orders):
        # Otherwise it keeps its severity: as long as the first payment may fail nothing is lost.
        return _Review.RIGHT
    return _Review.NOTHING


class _OrderBeside(NamedTuple):
    """The money of an order in the run without a fault (``usual``), and in the run that is looked
    at (``now``)."""

    usual: PlaceMoney
    now: PlaceMoney

    @property
    def has_more_money(self) -> bool:
        """Whether it has more money, or had more at once."""
        usual, now = self.usual, self.now
        return net_kept(now.figures) > net_kept(usual.figures) or now.peak > usual.peak

    @property
    def has_given_back_more(self) -> bool:
        """Whether more of it was given back, or is on its way back."""
        return given_back(self.now.figures) > given_back(self.usual.figures)

    @property
    def may_have_more(self) -> bool:
        """Whether it has more money, or will have it when all comes that may still come."""
        return _all_told(self.now.figures) > _all_told(self.usual.figures)


def _all_told(figures: Figures) -> Decimal:
    """What an order has, and what may still come."""
    return exposure_kept(figures) + figures.waiting


def _orders_about(
    about: Mapping[str, str], usual: RunMoney, run: RunMoney, shared: Collection[str]
) -> Iterator[_OrderBeside]:
    """The orders that a finding may be about: that of its charge or subscription, or any where
    neither is known. An order that comes again under no known name is the total of its currency."""
    before, after = usual.by_place(shared, usual.length), run.by_place(shared, usual.length)
    subject = {value for kind, value in about.items() if kind in ("charge", "subscription")}
    for order in run.orders:
        if subject and subject.isdisjoint(value for _, value in keys_of(order)):
            continue
        place = place_of(order, shared)
        yield _OrderBeside(before.get(place, PlaceMoney()), after[place])


def _has_more_operations(row: FindingRow, end: RunEnd, reference: Reference) -> bool:
    """Whether an operation of which a finding tells was asked for more often than without a
    fault."""
    # A line of evidence begins with the operation of its request.
    words = {line["line"].partition(" ")[0] for line in row["evidence"]}
    for op in words & OPERATIONS.keys():
        if end.operations.get(op, 0) > reference.operations.get(op, 0):
            return True
    return False


def beside_shop(end: RunEnd, printed: bytes, last_entry: int) -> RunEnd:
    """The end of a run without the warnings that the shop answers itself: by its books, by what its
    command has ``printed``, and because what came after the ``last_entry`` of the command was asked
    by another one, such as its nightly job. Nor is it warned of what nobody was there to hear."""
    left = [row for row in end.findings if not _is_answered(row, end, printed, last_entry)]
    return replace(end, findings=left)


_OF_THE_FAULT = {"sent_twice": ("wrong-state",)}
"""The warnings that a fault brings on any client: the copy of a call that a proxy has sent twice is
refused."""


def beside_fault(end: RunEnd, faults: Iterable[str], *, of_two: bool) -> RunEnd:
    """The end of a run without the warnings that these ``faults`` bring on any client. Where two
    runs were under way at once (``of_two``) only the books warn: all else judges one client, and
    takes the second run for a retry of the first."""
    brought = {name for fault in faults for name in _OF_THE_FAULT.get(fault, ())}
    left = []
    for row in end.findings:
        name = row["finding"]
        judges_one_client = name not in COMPARED
        is_left_out = name in brought or (of_two and judges_one_client)
        if row["severity"] == "warning" and is_left_out:
            continue
        left.append(row)
    return replace(end, findings=left)


def _is_answered(row: FindingRow, end: RunEnd, printed: bytes, last_entry: int) -> bool:
    """Whether the shop itself answers a warning."""
    match row["finding"]:
        case "authorisation-forgotten":
            # Who does not know leaves it to a person, who will look.
            return not _claims_about(row, end).isdisjoint({Claim.HELD, Claim.UNKNOWN})
        case "doubt-left-open":
            # It may have asked, and got no answer: a person will.
            return Claim.UNKNOWN in _claims_about(row, end)
        case "partial-approval-ignored":
            return _leaves_open(_claims_about(row, end))
        case "challenge-ignored":
            return _knows_challenge(row, end, printed)
        case "retry-after-ignored":
            return _is_of_two_commands(row, last_entry)
        case "webhook-lost":
            return _had_nobody_to_hear(row) and bool(end.rows) and not end.differing
        case _:
            return False


def _claims_about(row: FindingRow, end: RunEnd) -> set[Claim | None]:
    """What the shop's books call the order of the charge that a finding is about."""
    charge = OrderKey("charge", row["about"].get("charge", ""))
    claims = [end.claims(order) for order in end.money.orders if charge in keys_of(order)]
    return set().union(*claims)


def _knows_challenge(row: FindingRow, end: RunEnd, printed: bytes) -> bool:
    """Whether the shop knows that a payment waits for its payer: its books have the order and do
    not call it paid, or the command has printed the address of the page, as a shop does that sends
    nobody there itself."""
    if len(row["evidence"]) > 1:
        # A second line is a capture or refund meanwhile, by a shop that took it for paid.
        return False
    claims = _claims_about(row, end)
    if claims:
        return _leaves_open(claims)
    return f"/3ds/{row['about'].get('charge')}".encode() in printed


def _leaves_open(claims: Collection[Claim | None]) -> bool:
    """Whether books have an order, and do not call it done."""
    return bool(claims) and {Claim.TAKEN, Claim.REFUNDED, None}.isdisjoint(claims)


def _is_of_two_commands(row: FindingRow, last_entry: int) -> bool:
    """Whether the call that came too early was made after the command had ended, by another one
    that nobody has asked to wait."""
    entries = [line["entry"] for line in row["evidence"] if line["entry"]]
    if not entries or row["count"] > 1:
        # Of several only one is told, and another may be of the command alone.
        return False
    first, last = entries[0], entries[-1]
    return first <= last_entry < last


def _had_nobody_to_hear(row: FindingRow) -> bool:
    """Whether nobody listened at the address of a webhook, at the last of its tries. The receiver
    has ended with its command, or was killed with it: what comes later the shop must ask for, and
    its books show whether it has. One that listens and fails is still told."""
    return all("ConnectError" in line["line"] for line in row["evidence"])
