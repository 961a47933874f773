"""Addresses that callers give: where a payer goes next, where webhooks go, and where they never go.

A webhook makes this server call an address that a client has chosen. On a shared machine or in a
cloud that could reach what the client itself cannot: the metadata service that hands out the
machine's credentials, or a control API. Such addresses are refused as they are given, and again
when a name has been resolved; loopback and private ones are where shops under test listen.

Source: docs/security.md (outbound calls); docs/spec/published-facts.md, 6.
"""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import unquote, urlsplit

FORBIDDEN_WORDS = (
    "link-local, metadata, multicast, reserved and tunnelled addresses are never called"
)
CONTROL_WORDS = "a control API is never called by a webhook"

LONGEST_ADDRESS = 2_048
"""Characters of an address that a webhook may be sent to. Each is looked at several times."""

_CONTROL = "__admin"
_MOST_DECODED = 3
_AUTHORITY = r"(?:[^@]*@)?(?:\w(?:[\w.-]*\w)?\.?|\[[0-9A-Fa-f:.]+(?:%\w+)?\])(?::[0-9]{0,5})?"

_FORBIDDEN = (
    # This host and link-local, where most clouds have their metadata service; multicast, reserved,
    # broadcast.
    *("0.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4"),
    *("::/128", "fe80::/10", "ff00::/8"),
    # Metadata services elsewhere: Azure, Oracle (in a range of the IETF's own), Alibaba; Amazon,
    # Google, Scaleway and Akamai over IPv6.
    *("168.63.129.16/32", "192.0.0.0/24", "100.100.100.200/32"),
    *("fd00:ec2::/32", "fd20:ce::/32", "fd00:42::42/128", "fd00:a9fe:a9fe::1/128"),
    # IPv4 in disguise, which a gateway turns back: NAT64 (RFC 6052, RFC 8215), 6to4, Teredo.
    *("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32"),
)
_NEVER = tuple(ip_network(network) for network in _FORBIDDEN)
_ISATAP = (0x00005EFE, 0x02005EFE)
"""What stands before the IPv4 address in the second half of an address of RFC 5214."""


def is_web_address(text: str) -> bool:
    """Whether a text is an absolute http or https address with a host; the host need not have a dot
    (published facts, 6)."""
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return False
    if " " in text or not text.isprintable():
        return False
    return parts.scheme in ("http", "https") and bool(re.fullmatch(_AUTHORITY, parts.netloc))


def never_called(url: str) -> str | None:
    """Why a webhook is never sent there, with the value; None when it may be. A name is only
    resolved on sending.

    A body with a longer address is refused. One out of a scenario, or out of a state document or a
    store of an earlier version, is read, and is never called.
    """
    if len(url) > LONGEST_ADDRESS:
        words = f"one of more than {LONGEST_ADDRESS} is never called"
        return f"got an address of {len(url)} characters; {words}"
    try:
        parts = urlsplit(url)
        name = parts.hostname or ""
        user, port = parts.username, parts.port
    except ValueError:
        # It is no address at all, which ``is_web_address`` refuses in words of its own.
        return None
    if user is not None:
        return "got a user name; an address with a user name is never called"
    if port == 0:
        return (
            "got port 0, on which nothing listens; wanted a port from 1 to 65535, or none for "
            "that of the scheme"
        )
    if _leads_to_control(parts.path):
        return f"got a path with {_CONTROL}; {CONTROL_WORDS}"
    try:
        allowed = may_be_called(name)
    except ValueError:
        # A name: where it leads is known when it is resolved.
        return None
    return None if allowed else f"got {name}; {FORBIDDEN_WORDS}, all others are allowed"


def _leads_to_control(path: str) -> bool:
    """Whether a path belongs to a control API, whatever the name and port: no receiver of a shop
    has such a path, and through it a webhook could do what its sender has no key for."""
    # Servers decode once, and some decode a part of it again.
    for _ in range(_MOST_DECODED):
        path = unquote(path)
    return _CONTROL in re.split(r"[/\\]", path.casefold())


def may_be_called(address: str) -> bool:
    """Whether a numeric address may be called: loopback and private ones may. Raises ``ValueError``
    for a name."""
    without_zone = address.partition("%")[0]
    parsed = _plain(ip_address(without_zone))
    return not any(parsed in network for network in _NEVER)


def _plain(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The IPv4 address that an IPv6 address stands for on this machine or its network, else the
    address itself."""
    if isinstance(address, IPv4Address) or address.is_loopback:
        return address
    high, low = divmod(int(address), 1 << 32)
    # ::ffff:a.b.c.d, ::ffff:0:a.b.c.d, ::a.b.c.d
    stands_for = high in (0xFFFF, 0xFFFF0000, 0) or high & 0xFFFFFFFF in _ISATAP
    return IPv4Address(low) if stands_for else address
