"""Finding card numbers in any text, so that none reaches a log, a journal, an export, an error or a page.

Sources: service document, What the service does, 6-8; assumption ``card.masking``; control document, Security.
"""

from __future__ import annotations

import re

from mockserver.domain.cards import MAX_LENGTH, MIN_LENGTH, mask, passes_luhn

_CANDIDATE = re.compile(
    # An identifier of our own form is left alone: its hex digits pass the check one time in ten.
    r"(?<![0-9A-Za-z])(?P<id>(?=[0-9]*[a-f])(?:[0-9a-f]{32}|[0-9a-f]{24})"
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![0-9A-Za-z])"
    r"|[0-9](?:[ -]?[0-9]){11,}"
)
_QUICK = re.compile(r"[0-9](?:[ -]?[0-9]){11}")
_GROUP = re.compile(r"[0-9]+")
_DIGIT = re.compile(r"[0-9]")


def mask_text(text: str) -> str:
    """The text with every card number in it as first four, stars, last four; blanks and hyphens may part its digits.

    A run of more digits than a card number has is starred throughout, because one could hide in it.
    """
    return _CANDIDATE.sub(_masked, text) if _QUICK.search(text) else text


def star_digits(text: str) -> str:
    """The text with every digit starred: for what cannot be read, where a card number may stand in any disguise."""
    return _DIGIT.sub("*", text)


def _masked(found: re.Match[str]) -> str:
    run = found[0]
    if found["id"] is not None:
        return run
    groups = [(group.start(), group.end()) for group in _GROUP.finditer(run)]
    parts: list[str] = []
    done = first = 0
    while first < len(groups):
        last, shown = _card_from(run, groups, first)
        if shown is not None:
            parts += [run[done : groups[first][0]], shown]
            done = groups[last][1]
        first = last + 1
    return "".join(parts) + run[done:]


def _card_from(run: str, groups: list[tuple[int, int]], first: int) -> tuple[int, str | None]:
    """The last group of the card number that begins with group ``first``, masked; the group itself when none does."""
    start, end = groups[first]
    if end - start > MAX_LENGTH:
        return first, star_digits(run[start:end])
    digits = ""
    found: tuple[int, str | None] = first, None
    for place in range(first, min(first + MAX_LENGTH, len(groups))):
        digits += run[groups[place][0] : groups[place][1]]
        if len(digits) > MAX_LENGTH:
            break
        if len(digits) >= MIN_LENGTH and passes_luhn(digits):
            found = place, mask(digits)
    return found
