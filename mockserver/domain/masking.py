"""Card numbers and ccv, starred wherever a caller put them: none reaches a log, a journal, an export, an error or a
page.

Sources: service document, What the service does, 6-8; assumption ``card.masking``; control document, Security;
published facts, 1.2 (field names in any letter case).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from urllib.parse import parse_qsl

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
_CARD_FIELDS = frozenset({"cardnumber", "pan", "accountnumberpan"})
_CCV_FIELDS = frozenset({"ccv", "cvv", "cvc", "ccv2", "cvv2", "cvc2", "securitycode", "cardsecuritycode"})
_KEY_FIELDS = frozenset({"authorization", "x-secretkey", "x-admin-token", "cookie", "proxy-authorization"})
_NOT_WORD = re.compile(r"[^a-z0-9]")
_LONGEST_PREFIX = 8


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


def mask_json(value: object, name: str = "") -> object:
    """A JSON value with card numbers and ccv starred, by the name of their field and by their form."""
    folded = _NOT_WORD.sub("", name.lower())
    if folded in _CCV_FIELDS:
        return _starred(value)
    if folded in _CARD_FIELDS:
        return _card(value, name)
    match value:
        case str():
            return mask_text(value)
        case bool() | None:
            return value
        case int() | Decimal():
            text = format(value, "f") if isinstance(value, Decimal) else str(value)
            masked = mask_text(text)
            return value if masked == text else masked
        case Mapping():
            return {mask_text(str(key)): mask_json(item, str(key)) for key, item in value.items()}
        case list() | tuple():
            return [mask_json(item, name) for item in value]
        case _:
            return mask_text(str(value))


def _starred(value: object) -> object:
    match value:
        case None | bool():
            return value
        case Mapping():
            return {mask_text(str(key)): _starred(item) for key, item in value.items()}
        case list():
            return [_starred(item) for item in value]
        case _:
            return "***"


def _card(value: object, name: str) -> object:
    match value:
        case None | bool():
            return value
        case Mapping():
            return {mask_text(str(key)): _card(item, name) for key, item in value.items()}
        case list():
            return [_card(item, name) for item in value]
        case _:
            text = mask_text(str(value))
            digits = sum(char.isdigit() for char in text)
            # Few digits are a search by leading digits, or a number that was masked before.
            return text if digits <= _LONGEST_PREFIX else text[:4] + star_digits(text[4:])


def mask_query(query: bytes) -> dict[str, object]:
    """A query by name, as it may be shown."""
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True, errors="replace")
    return {mask_text(name): mask_json(value, name) for name, value in pairs}


def mask_headers(headers: Mapping[str, str]) -> dict[str, object]:
    """Request headers as they may be shown: keys and credentials as stars."""
    return {
        mask_text(name): "***" if name.lower() in _KEY_FIELDS else mask_json(value, name)
        for name, value in headers.items()
    }
