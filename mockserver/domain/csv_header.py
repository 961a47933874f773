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
    # The reader has taken away the first mark, so that one that is still there is a second.
    first = cells[0] if cells else ""
    line = ",".join(cells)
    advice = []
    if first.startswith(BYTE_ORDER_MARK):
        advice.append("a second byte order mark stands before it: write one or none")
    if line.removeprefix(BYTE_ORDER_MARK).lower().startswith("sep="):
        advice.append("this line is for spreadsheet programs alone: leave it out")
    separator = next((name for sign, name in _SEPARATORS.items() if sign in line), None)
    if separator is not None:
        advice.append(f"{separator} part its columns: write commas, and amounts with a point")
    if not advice:
        return _hint_of_misspelt(cells, known)
    return f" - {'; '.join(advice)}"


def _hint_of_misspelt(cells: Sequence[str], known: Sequence[str]) -> str:
    """What the first unknown name may mean that is like a known one; empty when none is."""
    folded = {name.lower() for name in known}
    for cell in cells:
        name = cell.strip()
        if name.lower() not in folded:
            hint = nearest(name, known)
            if hint:
                return hint
    return ""
