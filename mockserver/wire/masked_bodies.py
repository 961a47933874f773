"""Request bodies as they may be shown: no full card number and no ccv, wherever a caller put them.

Journal, findings and the log of webhooks show bodies to people and to files that are sent around. A
card number may stand in any field, under a misspelt name, in a text among others, as a number, in
groups of digits in a list. So a body is gone through value by value (``_Shown``), and each is
masked by the name of its field and by its form.

That takes time, and a body may be large: there is a budget of characters (``left``), which every
value uses up. What lies beyond it is left out, and said to be, so it is never shown unmasked.

Source: docs/security.md.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any

from mockserver.domain.cards import MIN_LENGTH
from mockserver.domain.masking import (
    KEY,
    LONGEST_CARD_TEXT,
    LONGEST_TEXT,
    is_masked_by_name,
    mask_digits,
    mask_field,
    mask_text,
)
from mockserver.domain.record import mutable
from mockserver.wire.jsonio import MalformedJson, loads

ShownField = Callable[[str, str], str]
"""The text of a field as it is shown, by the name of the field."""

_LONGEST = 1_000_000
"""Bytes of a body that is looked at value by value."""

_LONGEST_GROUP = 6
_MOST_SPELT = 700
"""Items of the lists of a body that may spell a card number, digit by digit or in groups as they
are printed."""

_MOST_SHOWN = 100_000
"""The budget: characters of a body that are shown."""

_LEAST_SHOWN = 5
"""What any value takes of it, be it as short as ``1``."""

_LIKE_A_CARD = 60
"""What a value takes besides, for each time that it has as many digits as a card number: it is
looked at far longer."""


def mask_body(raw: bytes, field: ShownField = mask_field) -> object:
    """A body as it may be shown, ``field`` as of ``mask_json``. One that is not JSON or is very
    long is shown as the beginning of its text with every digit and key masked."""
    if not raw or raw.isspace():
        return None
    if len(raw) <= _LONGEST:
        with suppress(MalformedJson):
            return mask_json(loads(raw), field)
    # Nobody knows where a value begins, so no digit is shown.
    text = mask_digits(KEY.sub("sk_***", raw[:LONGEST_TEXT].decode("utf-8", "replace")))
    return text if len(raw) <= LONGEST_TEXT else f"{text}... ({len(raw)} bytes)"


def mask_json(value: object, field: ShownField = mask_field) -> object:
    """A JSON value with card numbers, ccv and keys masked, by the names of fields and by their
    form; with ``sendable_field`` fit to be sent again.

    Of a long text the beginning is shown, and of a value that holds very much its first parts.
    """
    return _Shown(_MOST_SHOWN, field).value(value, "")


@mutable
class _Shown:
    """Shows a value until ``left`` characters are used up, each text as ``field`` shows it in a
    field of its name."""

    left: int
    field: ShownField
    spelt: int = _MOST_SPELT

    def value(self, value: object, name: str) -> object:
        """A value in a field of a name; what is in lists and objects inherits a name that stars."""
        self.left -= _LEAST_SHOWN
        match value:
            case None | bool():
                return value
            case int() | Decimal():
                return self._number(value, name)
            case Mapping():
                return self._mapping(value, name)
            case list() | tuple():
                return self._list(value, name)
            case _:
                return self._text(str(value), name)

    def _number(self, number: int | Decimal, name: str) -> object:
        """A number, still a number where that can be: readers of the journal compute with it."""
        text = format(number, "f") if isinstance(number, Decimal) else str(number)
        shown = self._masked(text, name)
        if shown == text:
            return number
        return int(shown) if shown.isdecimal() else shown

    def _mapping(self, value: Mapping[Any, object], name: str) -> dict[str, object]:
        """An object, until the budget is used up. A key may be a card number too. In an object
        under a name that stars, such as ``ccv``, every field is starred whatever its own name."""
        shown: dict[str, object] = {}
        inherits = is_masked_by_name(name)
        for number, (key, item) in enumerate(value.items()):
            if self.left <= 0:
                shown["..."] = f"{len(value) - number} more"
                break
            words = self._text(str(key), "")
            shown[words] = self.value(item, name if inherits else str(key))
        return shown

    def _list(self, value: Sequence[object], name: str) -> list[object]:
        """A list. Its items may spell a card number together: ``["4111", "1111", ...]``. Then every
        one of them is masked."""
        shown: list[object] = []
        for number, item in enumerate(value):
            if self.left <= 0:
                shown.append(f"... {len(value) - number} more")
                break
            shown.append(self.value(item, name))
        looked_at = shown[: self.spelt]
        self.spelt -= len(looked_at)
        # Anything else in the list parts the digits no more than a comma does.
        joined = ",".join(str(item) for item in looked_at if _is_group(item))
        if mask_text(joined) == joined:
            return shown
        return [mask_digits(str(item)) if _is_group(item) else item for item in shown]

    def _text(self, text: str, name: str) -> str:
        """A text, or as much of its beginning as may be shown. What is masked reaches a little
        further than that: the cut must not leave the first half of a card number, which nobody
        would know for one."""
        most = max(min(len(text), LONGEST_TEXT, self.left), 0)
        self.left -= most
        if most == len(text):
            return self._masked(text, name)
        beginning = self._masked(text[: most + LONGEST_CARD_TEXT], name)[:most]
        return f"{beginning}... ({len(text)} characters)"

    def _masked(self, text: str, name: str) -> str:
        """A text as ``field`` shows it, at the price of its digits."""
        self.left -= _LIKE_A_CARD * (sum(map(str.isdecimal, text)) // MIN_LENGTH)
        return self.field(name, text)


def _is_group(value: object) -> bool:
    """Whether an item of a list may be some digits of a card number."""
    text = str(value) if isinstance(value, str | int) else ""
    return len(text) <= _LONGEST_GROUP and text.isdecimal()
