"""Addresses that callers give: where a payer goes next, where a webhook is told."""

from __future__ import annotations

from urllib.parse import urlsplit


def is_web_address(text: str) -> bool:
    """Whether a text is an absolute http or https address with a host; the host need have no dot (published
    facts, 6)."""
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and text.isprintable() and " " not in text
    except ValueError:
        return False
