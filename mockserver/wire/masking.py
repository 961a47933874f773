"""Request bodies as they may be shown: no full card number and no ccv, wherever a caller put them.

Source: control document, Security.
"""

from __future__ import annotations

from mockserver.domain.masking import mask_json, star_digits
from mockserver.wire.jsonio import MalformedJson, loads

_LONGEST_TEXT = 20_000


def mask_body(raw: bytes) -> object:
    """A request body as it may be shown. One that is not JSON is shown as text with every digit starred."""
    if not raw.strip():
        return None
    try:
        return mask_json(loads(raw))
    except MalformedJson:
        return star_digits(raw[:_LONGEST_TEXT].decode("utf-8", "replace"))
