"""The text of the shop's books, in whatever form a shop can print, read row by row.

A JSON array, JSON lines, or CSV whose first line has the names. Each row comes with its line, so
that a fault is named where its author finds it.

Source: docs/books.md, The shop's books.
"""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import NamedTuple, NoReturn

from mockserver.books.shop_rows import KEYS, NAMES, BadRow, check_claims, read_row
from mockserver.domain.csv_header import BYTE_ORDER_MARK, header_advice, shown_header
from mockserver.domain.reading import number_of

LONGEST = 10_000_000
"""Bytes of the shop's books."""

_SHOWN = 40

_BETWEEN = re.compile(r"[ \t\r\n,]*")
"""What stands between two rows of JSON. Commas count as blanks: within an array they part rows, and
lines may end with one."""


class NumberedRow(NamedTuple):
    """The members of a row as the shop has printed them, and the line of the text, from 1."""

    line: int
    members: Mapping[str, object]


def checked_rows(raw: bytes, states: Mapping[str, str] | None = None) -> list[NumberedRow]:
    """The rows of the shop's books, a JSON array, JSON lines, or CSV whose first line has the
    names, each with its line and fit to be compared.

    Raises ``BadRow`` with the line of what cannot be read, also for a text without rows, and for
    one that claims nothing (``check_claims``).
    """
    if len(raw) > LONGEST:
        raise BadRow("books", f"got more than {LONGEST} bytes")
    try:
        text = raw.decode("utf-8").removeprefix(BYTE_ORDER_MARK)
    except UnicodeDecodeError as fault:
        line = raw.count(b"\n", 0, fault.start) + 1
        raise BadRow("books", "got a text that is not UTF-8", line) from None
    rows = list(_rows(text))
    for row in rows:
        try:
            read_row(row.members, states)
        except BadRow as bad:
            raise BadRow(bad.field, bad.words, row.line) from None
    check_claims(name for row in rows for name in row.members)
    return rows


def _rows(text: str) -> Iterator[NumberedRow]:
    """The rows of a text with the line of each."""
    match text.lstrip()[:1]:
        case "":
            # More likely an export that failed than a shop without orders.
            raise BadRow(
                "books",
                "got nothing, wanted a JSON array, JSON lines or CSV; [] means no orders",
                1,
            )
        case "[" | "{":
            return _json(text)
        case _:
            return _csv(text)


def _json(text: str) -> Iterator[NumberedRow]:
    """The rows of an array, or of lines, read one at a time for their lines."""
    decoder = json.JSONDecoder(parse_float=_number, parse_constant=_no_constant)
    # The line of the position up to which lines were counted.
    line, counted = 1, 0
    begin, end = 0, len(text)
    try:
        if text.lstrip().startswith("["):
            # As a whole first: what stands between its rows is not looked at below.
            decoder.decode(text)
            begin, end = text.index("[") + 1, text.rindex("]")
        position = _after_blanks(text, begin)
        while position < end:
            line += text.count("\n", counted, position)
            counted = position
            row, after_row = decoder.raw_decode(text, position)
            yield NumberedRow(line, row)
            position = _after_blanks(text, after_row)
    except json.JSONDecodeError as fault:
        raise BadRow("books", f"got JSON that cannot be read: {fault.msg}", fault.lineno) from None
    except RecursionError:
        raise BadRow("books", "got JSON that is nested too deep", line) from None
    except ValueError as fault:
        raise BadRow("books", str(fault), line) from None


def _after_blanks(text: str, position: int) -> int:
    """The position of the next row."""
    blanks = _BETWEEN.match(text, position)
    return position if blanks is None else blanks.end()


def _csv(text: str) -> Iterator[NumberedRow]:
    """The rows below a line of names; each has as many values as there are names."""
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        names = [name.strip().lower() for name in reader.fieldnames or ()]
        # One such mark was taken off already; a second one would be part of the first name.
        has_mark = "".join(names).startswith(BYTE_ORDER_MARK)
        if has_mark or set(KEYS).isdisjoint(names):
            got = f"got {shown_header(names)}, which is not JSON, nor CSV whose first line has "
            advice = header_advice(names, NAMES)
            raise BadRow("books", f"{got}reference{advice}", reader.line_num)
        for row in reader:
            # Python's reader puts values beyond the names under None, and None for a value that is
            # missing.
            if None in row or None in row.values():
                words = f"got another number of values than the {len(names)} of the first line"
                raise BadRow("books", words, reader.line_num)
            members = {name.strip().lower(): value.strip() for name, value in row.items()}
            yield NumberedRow(reader.line_num, members)
    except csv.Error as fault:
        raise BadRow(
            "books", f"got CSV that cannot be read: {fault}", reader.line_num + 1
        ) from None


def _number(digits: str) -> Decimal:
    """A number of JSON with a fraction, exactly. Raises ``ValueError``."""
    number = number_of(digits)
    if number is None:
        raise ValueError(f"got {digits[:_SHOWN]}, which is too long a number")
    return number


def _no_constant(word: str) -> NoReturn:
    """Refuse what Python's reader would take though JSON has none: NaN and the infinities."""
    raise ValueError(f"got {word}, which is not a number of JSON")
