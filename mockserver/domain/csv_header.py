"""The first line of a CSV text, which names its columns: how a refusal shows one that is wrong, and
what it advises.

Spreadsheet programs write all of these and show none: other separators, a line for themselves, byte
order marks.
"""

from collections.abc import Sequence

from mockserver.domain.errors import nearest
from mockserver.domain.masking import mask_start, printable

BYTE_ORDER_MARK = "\ufeff"

_LONGEST = 80
_UNSEEN = {"\t": "\\t", BYTE_ORDER_MARK: "\\ufeff"}
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}


def shown_header(cells: Sequence[str]) -> str:
    """The line for a refusal: short, and with the characters that nobody sees spelt out."""
    text = ",".join(cells)
    for sign, words in _UNSEEN.items():
        text = text.replace(sign, words)
    return f"'{printable(mask_start(text, _LONGEST))}'"


def header_advice(cells: Sequence[str], known: Sequence[str]) -> str:
    """`` - what to do`` about a line without the right names, the tail of a refusal; empty where
    nothing is known to help."""
    first = cells[0] if cells else ""
    line = ",".join(cells)
    found = []
    if first.startswith(BYTE_ORDER_MARK):
        found.append("a second byte order mark stands before it: write one or none")
    if line.removeprefix(BYTE_ORDER_MARK).lower().startswith("sep="):
        found.append("this line is for spreadsheet programs alone: leave it out")
    separator = next((name for sign, name in _SEPARATORS.items() if sign in line), None)
    if separator is not None:
        found.append(f"{separator} part its columns: write commas, and amounts with a point")
    return f" - {'; '.join(found)}" if found else _nearest_name(cells, known)


def _nearest_name(cells: Sequence[str], known: Sequence[str]) -> str:
    """What the first name that is unknown may mean."""
    folded = {name.lower() for name in known}
    unknown = (cell.strip() for cell in cells if cell.strip().lower() not in folded)
    return next(filter(None, (nearest(name, known) for name in unknown)), "")
