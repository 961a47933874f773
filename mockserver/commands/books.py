"""``mockserver books``: the money of a sandbox by order, and what the shop's books say of it (docs/books.md)."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import click
import httpx

from mockserver.adapters.exit_codes import Exit
from mockserver.books.comparison import money_text
from mockserver.books.figures import NAMES
from mockserver.books.shop_rows import KEYS, LONGEST, BadRow, checked_rows
from mockserver.commands.explore import stop
from mockserver.commands.findings import check_reached
from mockserver.commands.options import options
from mockserver.commands.printed_tables import show
from mockserver.commands.reports import REPORTS
from mockserver.remote import ControlRefused, RemoteSandbox

_SHOWN = ("held", "captured", "refunded", "net", "pending")
_LISTED = (*KEYS, "currency", *NAMES, "net", "exposure")
_NOT_IN_ACCOUNTS = re.compile(r"[^A-Za-z0-9-]+")


@click.command()
@options("books")
def books(
    url: str, key: str, since: str | None, compare: str | None, books_state: Mapping[str, str], form: str
) -> None:
    """Print the money of a sandbox, order by order; with --compare, what the shop's books say differently.

    Exit code 1 when they differ, 2 when the books cannot be read, no request has reached the sandbox or the server
    refuses the call, 5 when none answers.
    """
    if compare is not None and form not in ("text", "json"):
        stop(Exit.USAGE, f"--format {form}: differences are printed as text or json")
    rows = None if compare is None else _shop_rows(compare, books_state)
    sandbox = RemoteSandbox(url, key)
    try:
        check_reached(sandbox)
        found = sandbox.money(since) if rows is None else sandbox.compare_books(rows, since, books_state)
    except ControlRefused as refused:
        stop(Exit.USAGE, str(refused))
    except (httpx.HTTPError, httpx.InvalidURL) as problem:
        stop(Exit.NOT_READY, f"no server at {url}: {problem}; `mockserver` starts one")
    finally:
        sandbox.close()
    if rows is None:
        FORMS[form](found)
        return
    for warning in found["warnings"]:
        click.echo(f"warning: {warning}", err=True)
    click.echo(json.dumps(found, indent=2) if form == "json" else REPORTS["text"](found["findings"]))
    if found["count"]:
        sys.exit(Exit.FOUND)


def _shop_rows(name: str, states: Mapping[str, str]) -> list[Any]:
    """The shop's rows in a file, or with ``-`` in standard input. Ends the command when they cannot be read."""
    try:
        raw = sys.stdin.buffer.read(LONGEST + 1) if name == "-" else Path(name).read_bytes()
    except OSError as problem:
        stop(Exit.USAGE, f"cannot read {name}: {problem.strerror}")
    if len(raw) > LONGEST:
        stop(Exit.USAGE, f"{name}: got more than {LONGEST} bytes, allowed are {LONGEST}")
    try:
        return checked_rows(raw, states)
    except BadRow as bad:
        stop(Exit.USAGE, f"{name}: {bad}")


def name_of(order: Mapping[str, Any]) -> str:
    """What an order is called: its subscription, its reference or its charge."""
    kind = next(kind for kind in KEYS if order[kind] is not None)
    return str(order[kind]) if kind == "reference" else f"{kind} {order[kind]}"


def _text(found: Mapping[str, Any]) -> None:
    if not found["orders"]:
        click.echo("no orders")
        return
    rows = [{"order": name_of(order), **_amounts(order, order["currency"])} for order in found["orders"]]
    rows += [{"order": "total", **_amounts(sums, currency)} for currency, sums in found["totals"].items()]
    show(rows)
    for doubt in found["in_doubt"]:
        click.echo(f"in doubt: journal {doubt['entry']}  {doubt['line']}")


def _amounts(figures: Mapping[str, Any], currency: str) -> dict[str, str]:
    amounts = {name: money_text(Decimal(str(figures[name])), currency).partition(" ")[0] for name in _SHOWN}
    return {**amounts, "currency": currency}


def _csv(found: Mapping[str, Any]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_LISTED)
    writer.writerows([order[name] for name in _LISTED] for order in found["orders"])
    click.echo(text.getvalue(), nl=False)


def _beancount(found: Mapping[str, Any]) -> None:
    click.echo("\n".join(_ledger(found["orders"])))


def _ledger(orders: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A ledger for beancount: every account is opened on the first day, every posting is a balanced transaction."""
    entries = sorted(
        ((posting, order, charge) for order in orders for charge in order["charges"] for posting in charge["postings"]),
        key=lambda entry: str(entry[0]["at"]),
    )
    yield 'option "title" "mockserver"'
    accounts = dict.fromkeys(_account(posting[side]) for posting, _, _ in entries for side in ("debit", "credit"))
    for account in sorted(accounts):
        yield f"{entries[0][0]['at'][:10]} open {account}"
    for posting, order, charge in entries:
        amount = money_text(Decimal(str(posting["amount"])), order["currency"])
        yield ""
        yield f'{posting["at"][:10]} * "{_quoted(name_of(order))}" "{posting["what"]} {charge["chargeId"]}"'
        yield f"  {_account(posting['debit'])}  {amount}"
        yield f"  {_account(posting['credit'])}  -{amount}"


def _account(name: str) -> str:
    """The name of an account as beancount takes it: letters, digits and hyphens, each part with a capital or digit."""
    parts = (_NOT_IN_ACCOUNTS.sub("-", part).strip("-") or "X" for part in name.split(":"))
    return ":".join(part[:1].upper() + part[1:] for part in parts)


def _quoted(text: str) -> str:
    return text.replace("\\", "/").replace('"', "'").replace("\n", " ")


FORMS: Mapping[str, Callable[[Mapping[str, Any]], None]] = {
    "text": _text,
    "json": lambda found: click.echo(json.dumps(found, indent=2)),
    "csv": _csv,
    "beancount": _beancount,
}
"""The forms in which books are printed."""
