"""``mockserver books``: the money of a sandbox by order, and what the shop's books say of it
(docs/books.md).

The server keeps the books and compares them; this command reads the shop's file, asks, and prints.
A server knows a row by its place alone, so what it refuses is told here with the line of the file.
"""

import csv
import io
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import click

from mockserver.adapters.exit_codes import Exit
from mockserver.books.shop_rows import KEYS, BadRow
from mockserver.books.shop_text import LONGEST, NumberedRow, checked_rows
from mockserver.commands.ending import stop
from mockserver.commands.options import options
from mockserver.commands.printed_tables import show
from mockserver.commands.reports import REPORTS
from mockserver.commands.servers import check_reached, served
from mockserver.domain.figures import NAMES, money_text
from mockserver.domain.masking import printable
from mockserver.remote import ControlRefused, JsonObject, RemoteSandbox

_TABLE_FIGURES = ("held", "captured", "refunded", "net", "pending")
_CSV_COLUMNS = (*KEYS, "currency", *NAMES, "net", "exposure")
_REFUSED_ROW = re.compile(r"Rows\[([0-9]+)\]\.(\w+): ([^;]+)")
"""How a server's refusal names a row: its place, its field and what is wrong."""

_CUSTOMERS, _EXPECTED = "Income:Customers", "Liabilities:Expected"
_RECEIVABLE = "Assets:Receivable"
"""What providers owe the merchant, of each provider in an account of its own: payouts come from
each by itself, and are checked so."""


class _Posting(NamedTuple):
    """A figure of a charge is debited to one account and credited to another."""

    figure: str
    debit: str
    credit: str


_DOUBLE_ENTRY = (
    # No income yet: a hold may be voided, and what is pending may fail.
    _Posting("held", debit="Assets:Held", credit=_EXPECTED),
    _Posting("pending", debit="Assets:Pending", credit=_EXPECTED),
    _Posting("captured", debit=_RECEIVABLE, credit=_CUSTOMERS),
    _Posting("refunded", debit=_CUSTOMERS, credit=_RECEIVABLE),
    # What is returned was paid, and is paid no more.
    _Posting("returned", debit=_RECEIVABLE, credit=_CUSTOMERS),
    _Posting("returned", debit=_CUSTOMERS, credit=_RECEIVABLE),
    _Posting("transferred", debit="Assets:Transferred", credit=_RECEIVABLE),
)


@click.command()
@options("books")
def books(
    *,
    url: str,
    admin_token: str | None,
    key: str,
    since: str | None,
    compare: str | None,
    books_state: Mapping[str, str],
    form: str,
) -> None:
    """Print the money of a sandbox, order by order; with --compare, what the shop's books say
    differently.

    Exit code 1 when they differ, 2 when the books cannot be read, no request has reached the
    sandbox or the server refuses the call, 5 when none answers.
    """
    if compare is not None and form not in ("text", "json"):
        stop(Exit.USAGE, f"--format {form}: differences are printed as text or json")
    rows: Sequence[NumberedRow] = ()
    if compare is not None:
        # Now: a bad file is refused whether or not a server answers.
        rows = _shop_rows(compare, books_state)
    with served(url, key, Exit.USAGE, admin_token) as sandbox:
        check_reached(sandbox)
        if compare is None:
            answer = sandbox.money(since)
        else:
            answer = _compare(sandbox, compare, rows, since, books_state)
    for warning in answer.get("warnings", ()):
        click.echo(f"warning: {warning}", err=True)
    if form == "json":
        click.echo(json.dumps(answer, indent=2))
    elif compare is not None:
        click.echo(REPORTS["text"](answer["findings"]))
    elif form == "text":
        _print_table(answer)
    else:
        click.echo("\n".join(FORMS[form](answer)))
    if compare is not None and answer["count"]:
        sys.exit(Exit.FOUND)


def _shop_rows(name: str, states: Mapping[str, str]) -> list[NumberedRow]:
    """The shop's rows in a file, or with ``-`` in standard input, each with its line. Ends the
    command when they cannot be read."""
    try:
        # One byte more than is allowed, by which a longer file is known.
        if name == "-":
            content = sys.stdin.buffer.read(LONGEST + 1)
        else:
            with Path(name).open("rb") as file:
                content = file.read(LONGEST + 1)
        return checked_rows(content, states)
    except OSError as problem:
        stop(Exit.USAGE, f"cannot read {name}: {problem.strerror}")
    except BadRow as bad:
        stop(Exit.USAGE, f"{name}: {bad}")


def _compare(
    sandbox: RemoteSandbox,
    name: str,
    rows: Sequence[NumberedRow],
    since: str | None,
    states: Mapping[str, str],
) -> JsonObject:
    """What the rows and the sandbox say differently. Ends the command where the sandbox refuses a
    row, and says on which line of the file this stands: the sandbox knows only the row's place."""
    try:
        return sandbox.compare_books([row.members for row in rows], since, states)
    except ControlRefused as refused:
        bad_row = _REFUSED_ROW.search(str(refused))
        if bad_row is None:
            # What it refuses is no row, but such as the mark of --since.
            raise
        place, field, words = bad_row.groups()
        line = rows[int(place)].line
        stop(Exit.USAGE, f"{name}: line {line}: {field.lower()}: {words}")


def name_of(order: JsonObject) -> str:
    """What an order is called: its reference alone, as the shop has chosen that; before the id of a
    subscription or charge it says which of the two this is."""
    # The first of them: a charge of a subscription with a reference is known by the reference.
    kind = next(kind for kind in KEYS if order[kind] is not None)
    if kind == "reference":
        return str(order[kind])
    return f"{kind} {order[kind]}"


def table_of(answer: JsonObject) -> list[dict[str, str]]:
    """The money of a sandbox as rows of a table: order by order, then the totals."""
    rows = [_table_row(name_of(order), order["currency"], order) for order in answer["orders"]]
    rows += [_table_row("total", currency, sums) for currency, sums in answer["totals"].items()]
    return rows


def _table_row(name: str, currency: str, figures: JsonObject) -> dict[str, str]:
    """A row of the table: an order or a total, with the figures that fit in 80 columns."""
    amounts = {}
    for figure in _TABLE_FIGURES:
        amount = Decimal(str(figures[figure]))
        # The currency has a column of its own.
        amounts[figure], _, _ = money_text(amount, currency).partition(" ")
    return {"order": printable(name), **amounts, "currency": currency}


def _print_table(answer: JsonObject) -> None:
    """Print the money of each order, then the calls of which the client does not know how they
    ended: its books may be right to say something else of what these have moved."""
    rows = table_of(answer)
    if rows:
        show(rows)
    else:
        click.echo("no orders")
    # They count without an order too: a request that was lost has made none, and the shop cannot
    # know that.
    for doubt in answer["in_doubt"]:
        click.echo(f"in doubt: journal {doubt['entry']}  {doubt['line']}")


def _csv(answer: JsonObject) -> Iterator[str]:
    """A row for each order, without totals: a sheet adds up itself, and would count them twice."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _CSV_COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(answer["orders"])
    yield text.getvalue().rstrip("\n")


class _Entry(NamedTuple):
    """What an account is debited with, or with a minus credited."""

    account: str
    amount: str


class _Transaction(NamedTuple):
    """A charge as beancount takes it: on a day, with an order, and entries that add up to
    nothing."""

    added: str
    order: str
    title: str
    entries: Sequence[_Entry]

    @property
    def day(self) -> str:
        """Of the date-time, the date."""
        return self.added[:10]


def _ledger(answer: JsonObject) -> Iterator[str]:
    """A ledger for beancount: every charge is a balanced transaction. beancount refuses an account
    that is used before it is opened, so all are opened on the day of the first charge."""
    transactions = []
    for order in answer["orders"]:
        for charge in order["charges"]:
            title = f"{charge['status']} {charge['chargeId']}"
            entries = list(_entries(charge, order["currency"]))
            transactions.append(_Transaction(charge["added"], name_of(order), title, entries))
    transactions.sort(key=attrgetter("added"))
    all_entries = chain.from_iterable(transaction.entries for transaction in transactions)
    accounts = {entry.account for entry in all_entries}
    yield 'option "title" "mockserver"'
    for account in sorted(accounts):
        yield f"{transactions[0].day} open {account}"
    for transaction in transactions:
        # Nothing of a shop's text may end the quoted text that it stands in.
        name = transaction.order.replace("\\", "/").replace('"', "'").replace("\n", " ")
        yield f'\n{transaction.day} * "{name}" "{transaction.title}"'
        for account, amount in transaction.entries:
            yield f"  {account}  {amount}"


def _entries(charge: JsonObject, currency: str) -> Iterator[_Entry]:
    """What the figures of a charge do to accounts: one is debited with each, and another
    credited."""
    # beancount wants letters, digits and hyphens, and a capital or digit first.
    provider = re.sub(r"[^A-Za-z0-9-]+", "-", charge["providerId"]).strip("-")
    of_provider = {_RECEIVABLE: f"{_RECEIVABLE}:{provider[:1].upper()}{provider[1:]}"}
    for posting in _DOUBLE_ENTRY:
        amount = Decimal(str(charge[posting.figure]))
        if amount:
            debit = of_provider.get(posting.debit, posting.debit)
            credit = of_provider.get(posting.credit, posting.credit)
            yield _Entry(debit, money_text(amount, currency))
            yield _Entry(credit, money_text(-amount, currency))


FORMS: Mapping[str, Callable[[JsonObject], Iterator[str]]] = {
    "csv": _csv,
    "beancount": _ledger,
}
"""The lines of the forms in which programs read books."""
