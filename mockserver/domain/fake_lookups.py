"""Invented data in the form of lookups: card issuers, places of addresses, banks. All of it is
invented or public.

Every answer follows from its arguments, so a run repeats. Banks and networks are made up: hosts end
in ``.example``, system numbers come from the range kept for documentation (RFC 5398). Cities and
their places are geography.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TypeAlias

from mockserver.domain.cards import Brand, Funding
from mockserver.domain.ids import digest
from mockserver.domain.record import read_table, record

REMEMBERED = 4096
"""Answers that each lookup keeps: one charge asks again for what the charge before it asked."""

_LONGEST_ADDRESS = 64


@record
class IinData:
    """What a lookup of a card's leading digits gives (service document, Card: ``iinData``)."""

    scheme: str
    country: str
    country_code: str
    issuer: str
    card_type: str


@record
class IpInfo:
    """What a lookup of an address gives (service document, Charge: ``ipInfo``); only ``ip`` when
    nothing is known."""

    ip: str
    hostname: str | None = None
    city: str | None = None
    region: str | None = None
    country: str | None = None
    loc: str | None = None
    org: str | None = None
    postal: str | None = None
    timezone: str | None = None


_Row: TypeAlias = dict[str, str]


@cache
def _rows(table: str) -> Sequence[_Row]:
    """A table of invented data, read when it is first asked: most runs ask for none."""
    return read_table(table, dict)


@cache
def _test_issuers() -> dict[str, _Row]:
    """The issuers of the published test cards (test values), so that demonstrations read the same
    everywhere."""
    return {iin: issuer for issuer in _rows("issuers") for iin in issuer["test_iins"].split()}


# The ranges kept for documentation (RFC 5737, RFC 3849) stand for public addresses in everybody's
# tests.
_DOCUMENTATION = tuple(
    map(ip_network, ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32"))
)


@lru_cache(maxsize=REMEMBERED)
def iin_data(iin: str, brand: Brand, funding: Funding) -> IinData:
    """Issuer and country of a card by its first six digits; one fixed row for each published test
    card."""
    issuer = _test_issuers().get(iin) or _drawn("issuers", "issuer", iin)
    return IinData(
        brand.value, issuer["country"], issuer["country_code"], issuer["name"], funding.value
    )


def ip_info(ip: str, seed: int) -> IpInfo:
    """City and network of an address; those of one IPv4 /24 or IPv6 /48 share them.

    Only ``ip`` is given for addresses that are private, local or reserved, and for a text that is
    not an address.
    """
    bare = ip.strip()
    if len(bare) > _LONGEST_ADDRESS:
        return IpInfo(bare[:_LONGEST_ADDRESS])
    return _ip_info(bare, seed)


def bank_name(bank_code: str) -> str:
    """The bank of a bank code: the first two characters name it, as in Australia's BSB numbers."""
    return _drawn("issuers", "bank", bank_code.strip()[:2].upper())["name"]


@lru_cache(maxsize=REMEMBERED)
def _ip_info(ip: str, seed: int) -> IpInfo:
    """``ip_info`` of a text that may be an address."""
    try:
        address = ip_address(ip)
    except ValueError:
        return IpInfo(ip)
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    if not _is_public(address):
        return IpInfo(ip)
    # Neighbours are in one place, with one provider: a /24, or a /48.
    network = address.packed[: 3 if address.version == 4 else 6]
    provider = _drawn("networks", "network", seed, network)
    # From the bytes: the text of an IPv6 address may carry a zone, which no host name can.
    packed = address.packed
    host = "-".join(map(str, packed)) if len(packed) == 4 else packed.hex("-", 2)
    place = _drawn("cities", "city", seed, network)
    return IpInfo(
        ip=ip, hostname=f"{host}.{provider['domain']}", org=provider["organisation"], **place
    )


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether a lookup knows an address: one of the internet, or of those that stand for it in
    tests."""
    is_documented = any(address in network for network in _DOCUMENTATION)
    return is_documented or (address.is_global and not address.is_multicast)


def _drawn(table: str, *parts: object) -> _Row:
    """The row of a table that the parts lead to, always the same for the same parts."""
    rows = _rows(table)
    return rows[int.from_bytes(digest(*parts, size=4), "big") % len(rows)]
