"""``mockserver books``: the money of a sandbox by order, and what the shop's books say of it
(docs/books.md)."""

import csv
import io
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from decimal import Decimal
from pathlib import Path
from typing import Any

import click

from mockserver.adapters.exit_codes import Exit
from mockserver.books.shop_rows import KEYS, LONGEST, BadRow, checked_rows
from mockserver.commands.ending import stop
from mockserver.commands.options import options
from mockserver.commands.printed_tables import show
from mockserver.commands.reports import REPORTS
from mockserver.commands.servers import check_reached, served
from mockserver.domain.figures import NAMES, money_text
from mockserver.domain.masking import printable
from mockserver.remote import ControlRefused, RemoteSandbox

_SHOWN = ("held", "captured", "refunded", "net", "pending")
_LISTED = (*KEYS, "currency", *NAMES, "net", "exposure")
_REFUSED_ROW = re.compile(r"Rows\[([0-9]+)\]\.(\w+): ([^;]+)")
_CUSTOMERS, _EXPECTED, _RECEIVABLE = "Income:Customers", "Liabilities:Expected", ""
_DOUBLE_ENTRY = (
    ("held", "Assets:Held", _EXPECTED),
    ("pending", "Assets:Pending", _EXPECTED),
    ("captured", _RECEIVABLE, _CUSTOMERS),
    ("refunded", _CUSTOMERS, _RECEIVABLE),
    ("returned", _RECEIVABLE, _CUSTOMERS),
    ("returned", _CUSTOMERS, _RECEIVABLE),
    ("transferred", "Assets:Transferred", _RECEIVABLE),
)
"""Which account each figure is debited to, and which it is credited to; the empty one is that of
the provider."""


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
    rows = None if compare is None else _shop_rows(compare, books_state)
    with served(url, key, Exit.USAGE, admin_token) as sandbox:
        check_reached(sandbox)
        found = (
            sandbox.money(since)
            if rows is None
            else _compared(sandbox, str(compare), rows, since, books_state)
        )
    for warning in found.get("warnings", ()):
        click.echo(f"warning: {warning}", err=True)
    if form == "json":
        click.echo(json.dumps(found, indent=2))
    elif rows is not None:
        click.echo(REPORTS["text"](found["findings"]))
    elif form == "text":
        _show(found)
    else:
        click.echo("\n".join(FORMS[form](found)))
    if rows is not None and found["count"]:
        sys.exit(Exit.FOUND)


def _shop_rows(name: str, states: Mapping[str, str]) -> list[tuple[int, Any]]:
    """The shop's rows in a file, or with ``-`` in standard input, each with its line. Ends the
    command when they cannot be read."""
    try:
        with nullcontext(sys.stdin.buffer) if name == "-" else Path(name).open("rb") as file:
            return checked_rows(file.read(LONGEST + 1), states)
    except OSError as problem:
        stop(Exit.USAGE, f"cannot read {name}: {problem.strerror}")
    except BadRow as bad:
        stop(Exit.USAGE, f"{name}: {bad}")


def _compared(
    sandbox: RemoteSandbox,
    name: str,
    rows: Sequence[tuple[int, Any]],
    since: str | None,
    states: Mapping[str, str],
) -> dict[str, Any]:
    """What the rows and the sandbox say differently. Ends the command, with the line, where the
    sandbox refuses a row, which it knows by its place."""
    try:
        return sandbox.compare_books([row for _, row in rows], since, states)
    except ControlRefused as refused:
        if (bad := _REFUSED_ROW.search(str(refused))) is None:
            raise
        stop(Exit.USAGE, f"{name}: line {rows[int(bad[1])][0]}: {bad[2].lower()}: {bad[3]}")


def name_of(order: Mapping[str, Any]) -> str:
    """What an order is called: its subscription, its reference or its charge."""
    kind = next(kind for kind in KEYS if order[kind] is not None)
    return str(order[kind]) if kind == "reference" else f"{kind} {order[kind]}"


def table_of(found: Mapping[str, Any]) -> list[dict[str, str]]:
    """The money of a sandbox as rows of a table: order by order, then the totals."""
    rows = [(name_of(order), order["currency"], order) for order in found["orders"]]
    rows += [("total", currency, sums) for currency, sums in found["totals"].items()]
    return [
        {
            "order": printable(name),
            **{one: _plain(figures[one], currency) for one in _SHOWN},
            "currency": currency,
        }
        for name, currency, figures in rows
    ]


def _show(found: Mapping[str, Any]) -> None:
    rows = table_of(found)
    if not rows:
        click.echo("no orders")
        return
    show(rows)
    for doubt in found["in_doubt"]:
        click.echo(f"in doubt: journal {doubt['entry']}  {doubt['line']}")


def _plain(amount: object, currency: str) -> str:
    return money_text(Decimal(str(amount)), currency).partition(" ")[0]


def _csv(found: Mapping[str, Any]) -> Iterator[str]:
    text = io.StringIO()
    writer = csv.DictWriter(text, _LISTED, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(found["orders"])
    yield text.getvalue().rstrip("\n")


def _ledger(found: Mapping[str, Any]) -> Iterator[str]:
    """A ledger for beancount: every account is opened on the first day, every charge is a balanced
    transaction."""
    charges = sorted(
        ((charge, order) for order in found["orders"] for charge in order["charges"]),
        key=lambda one: one[0]["added"],
    )
    entries = {
        charge["chargeId"]: list(_postings(charge, order["currency"])) for charge, order in charges
    }
    yield 'option "title" "mockserver"'
    for account in sorted({account for postings in entries.values() for account, _ in postings}):
        yield f"{charges[0][0]['added'][:10]} open {account}"
    for charge, order in charges:
        name = name_of(order).replace("\\", "/").replace('"', "'").replace("\n", " ")
        yield f'\n{charge["added"][:10]} * "{name}" "{charge["status"]} {charge["chargeId"]}"'
        yield from (f"  {account}  {amount}" for account, amount in entries[charge["chargeId"]])


def _postings(charge: Mapping[str, Any], currency: str) -> Iterator[tuple[str, str]]:
    """Each figure of a charge as an amount that one account is debited with, and another
    credited."""
    # beancount wants letters, digits and hyphens, and a capital or digit first.
    provider = re.sub(r"[^A-Za-z0-9-]+", "-", charge["providerId"]).strip("-")
    receivable = f"Assets:Receivable:{provider[:1].upper()}{provider[1:]}"
    for figure, *accounts in _DOUBLE_ENTRY:
        amount = Decimal(str(charge[figure]))
        for account, sign in zip(accounts, (1, -1), strict=True) if amount else ():
            yield account or receivable, money_text(sign * amount, currency)


FORMS: Mapping[str, Callable[[Mapping[str, Any]], Iterator[str]]] = {
    "csv": _csv,
    "beancount": _ledger,
}
"""The lines of the forms in which programs read books."""
