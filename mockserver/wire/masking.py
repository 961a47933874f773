"""Requests and answers as they may be shown: no full card number and no ccv, wherever a caller put them.

Source: control document, Security; published facts, 1.2 (field names in any letter case).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from urllib.parse import parse_qsl

from mockserver.domain.masking import mask_text, star_digits
from mockserver.domain.money import number_text
from mockserver.wire.jsonio import MalformedJson, loads

_CARD_FIELDS = frozenset({"cardnumber", "pan", "accountnumberpan"})
_CCV_FIELDS = frozenset({"ccv", "cvv", "cvc", "ccv2", "cvv2", "cvc2", "securitycode", "cardsecuritycode"})
_KEY_FIELDS = frozenset({"authorization", "x-secretkey", "x-admin-token", "cookie", "proxy-authorization"})
_NOT_WORD = re.compile(r"[^a-z0-9]")
_LONGEST_PREFIX = 8
_LONGEST_TEXT = 20_000


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
            text = number_text(value) if isinstance(value, Decimal) else str(value)
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


def mask_body(raw: bytes) -> object:
    """A request body as it may be shown. One that is not JSON is shown as text with every digit starred."""
    if not raw.strip():
        return None
    try:
        return mask_json(loads(raw))
    except MalformedJson:
        return star_digits(raw[:_LONGEST_TEXT].decode("utf-8", "replace"))


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
