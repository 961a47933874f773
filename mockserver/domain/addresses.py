"""Addresses that callers give: where a payer goes next, where a webhook is told, and where none ever is.

Source: control document, Security (outbound calls); published facts, 6.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

FORBIDDEN_WORDS = "link-local, metadata and multicast addresses are never called"
USER_WORDS = "an address with a user name is never called"

_FORBIDDEN = (
    ip_network("169.254.0.0/16"),
    ip_network("fe80::/10"),
    ip_network("0.0.0.0/8"),
    ip_network("224.0.0.0/4"),
    ip_network("ff00::/8"),
    # The metadata services of clouds that do not use a link-local address.
    ip_network("fd00:ec2::254/128"),
    ip_network("100.100.100.200/32"),
)


def is_web_address(text: str) -> bool:
    """Whether a text is an absolute http or https address with a host; the host need have no dot (published
    facts, 6)."""
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and text.isprintable() and " " not in text
    except ValueError:
        return False


def never_called(url: str) -> str | None:
    """What was got and why a webhook is never sent there, None when it may be; of a name, only sending finds out."""
    try:
        parts = urlsplit(url)
        name = parts.hostname or ""
        user = parts.username
    except ValueError:
        return None
    if user is not None:
        return f"got a user name; {USER_WORDS}"
    try:
        allowed = may_be_called(name)
    except ValueError:
        return None
    return None if allowed else f"got {name}; {FORBIDDEN_WORDS}, all others are allowed"


def may_be_called(address: str) -> bool:
    """Whether a numeric address may be called: loopback and private ones may. Raises ``ValueError`` for a name."""
    parsed: IPv4Address | IPv6Address = ip_address(address.partition("%")[0])
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    return not any(parsed in network for network in _FORBIDDEN)
