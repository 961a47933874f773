"""Data that looks like a lookup and is none: card issuers, places of addresses, banks. All of it is invented or public.

Every answer follows from its arguments, so a run repeats. Banks and networks are made up: hosts end in ``.example``,
system numbers come from the range kept for documentation (RFC 5398). Cities and their places are geography.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from mockserver.domain.cards import Brand, Funding
from mockserver.domain.ids import digest

REMEMBERED = 4096
"""Answers that each lookup keeps: one charge asks again for what the charge before it asked."""

_LONGEST_ADDRESS = 64


@dataclass(frozen=True, slots=True)
class IinData:
    """What a lookup of a card's leading digits tells (service document, Card: ``iinData``)."""

    scheme: str
    country: str
    country_code: str
    issuer: str
    card_type: str


@dataclass(frozen=True, slots=True)
class IpInfo:
    """What a lookup of an address tells (service document, Charge: ``ipInfo``); only ``ip`` when it tells nothing."""

    ip: str
    hostname: str | None = None
    city: str | None = None
    region: str | None = None
    country: str | None = None
    loc: str | None = None
    org: str | None = None
    postal: str | None = None
    timezone: str | None = None


@dataclass(frozen=True, slots=True)
class _City:
    name: str
    region: str
    country: str
    place: str
    postal: str
    timezone: str


_ISSUERS: tuple[tuple[str, str, str], ...] = (
    ("AU", "Australia", "Gumleaf Mutual"),
    ("AU", "Australia", "Bank of Saltmere"),
    ("AU", "Australia", "Copper Quay Bank"),
    ("NZ", "New Zealand", "Silver Fernery Bank"),
    ("US", "United States", "Larkmoor National Bank"),
    ("US", "United States", "Bluffside Credit Union"),
    ("CA", "Canada", "Tamarack Trust"),
    ("GB", "United Kingdom", "Thistledown Bank"),
    ("GB", "United Kingdom", "Ninebridges Building Society"),
    ("IE", "Ireland", "Bank of Kilrowan"),
    ("DE", "Germany", "Lindenthaler Landbank"),
    ("FR", "France", "Banque du Vieux Moulin"),
    ("ES", "Spain", "Banco de la Encina"),
    ("IT", "Italy", "Banca del Cipresso"),
    ("NL", "Netherlands", "Zeedijk Bank"),
    ("SE", "Sweden", "Granskogen Bank"),
    ("SG", "Singapore", "Orchid Straits Bank"),
    ("HK", "Hong Kong", "Nine Junks Bank"),
    ("JP", "Japan", "Yamabuki Bank"),
    ("IN", "India", "Neelkamal Bank"),
    ("BR", "Brazil", "Banco Jacarandá"),
    ("ZA", "South Africa", "Protea Ridge Bank"),
    ("AE", "United Arab Emirates", "Bank of the Dunes"),
    ("MX", "Mexico", "Banco del Agave"),
)

# Leading digits of the published test cards (test values), so that demonstrations read the same everywhere.
_TEST_ISSUERS: dict[str, tuple[str, str, str]] = {
    "411111": ("AU", "Australia", "Gumleaf Mutual"),
    "424242": ("US", "United States", "Larkmoor National Bank"),
    "555555": ("AU", "Australia", "Copper Quay Bank"),
    "378282": ("US", "United States", "Bluffside Credit Union"),
    "601111": ("US", "United States", "Larkmoor National Bank"),
    "353011": ("JP", "Japan", "Yamabuki Bank"),
    "305693": ("GB", "United Kingdom", "Thistledown Bank"),
    "400000": ("AU", "Australia", "Bank of Saltmere"),
    "410000": ("GB", "United Kingdom", "Ninebridges Building Society"),
}

_CITIES = tuple(
    _City(*row.split("|"))
    for row in (
        "Sydney|New South Wales|AU|-33.8688,151.2093|2000|Australia/Sydney",
        "Melbourne|Victoria|AU|-37.8136,144.9631|3000|Australia/Melbourne",
        "Brisbane|Queensland|AU|-27.4698,153.0251|4000|Australia/Brisbane",
        "Perth|Western Australia|AU|-31.9523,115.8613|6000|Australia/Perth",
        "Adelaide|South Australia|AU|-34.9285,138.6007|5000|Australia/Adelaide",
        "Hobart|Tasmania|AU|-42.8821,147.3272|7000|Australia/Hobart",
        "Auckland|Auckland|NZ|-36.8509,174.7645|1010|Pacific/Auckland",
        "Wellington|Wellington|NZ|-41.2866,174.7756|6011|Pacific/Auckland",
        "New York|New York|US|40.7128,-74.0060|10001|America/New_York",
        "Boston|Massachusetts|US|42.3601,-71.0589|02108|America/New_York",
        "Chicago|Illinois|US|41.8781,-87.6298|60601|America/Chicago",
        "Denver|Colorado|US|39.7392,-104.9903|80202|America/Denver",
        "San Francisco|California|US|37.7749,-122.4194|94102|America/Los_Angeles",
        "Seattle|Washington|US|47.6062,-122.3321|98101|America/Los_Angeles",
        "Toronto|Ontario|CA|43.6532,-79.3832|M5H|America/Toronto",
        "Vancouver|British Columbia|CA|49.2827,-123.1207|V6B|America/Vancouver",
        "Mexico City|Mexico City|MX|19.4326,-99.1332|06000|America/Mexico_City",
        "São Paulo|São Paulo|BR|-23.5505,-46.6333|01000|America/Sao_Paulo",
        "Buenos Aires|Buenos Aires F.D.|AR|-34.6037,-58.3816|1000|America/Argentina/Buenos_Aires",
        "London|England|GB|51.5072,-0.1276|EC1A|Europe/London",
        "Manchester|England|GB|53.4808,-2.2426|M1|Europe/London",
        "Edinburgh|Scotland|GB|55.9533,-3.1883|EH1|Europe/London",
        "Dublin|Leinster|IE|53.3498,-6.2603|D01|Europe/Dublin",
        "Paris|Île-de-France|FR|48.8566,2.3522|75001|Europe/Paris",
        "Berlin|Land Berlin|DE|52.5200,13.4050|10115|Europe/Berlin",
        "Munich|Bavaria|DE|48.1351,11.5820|80331|Europe/Berlin",
        "Amsterdam|North Holland|NL|52.3676,4.9041|1012|Europe/Amsterdam",
        "Brussels|Brussels Capital|BE|50.8503,4.3517|1000|Europe/Brussels",
        "Madrid|Madrid|ES|40.4168,-3.7038|28001|Europe/Madrid",
        "Lisbon|Lisbon|PT|38.7223,-9.1393|1100|Europe/Lisbon",
        "Rome|Lazio|IT|41.9028,12.4964|00184|Europe/Rome",
        "Zurich|Zurich|CH|47.3769,8.5417|8001|Europe/Zurich",
        "Vienna|Vienna|AT|48.2082,16.3738|1010|Europe/Vienna",
        "Stockholm|Stockholm|SE|59.3293,18.0686|111 20|Europe/Stockholm",
        "Warsaw|Mazovia|PL|52.2297,21.0122|00-001|Europe/Warsaw",
        "Dubai|Dubai|AE|25.2048,55.2708|00000|Asia/Dubai",
        "Mumbai|Maharashtra|IN|19.0760,72.8777|400001|Asia/Kolkata",
        "Singapore|Singapore|SG|1.3521,103.8198|018989|Asia/Singapore",
        "Hong Kong|Central and Western|HK|22.3193,114.1694|999077|Asia/Hong_Kong",
        "Tokyo|Tokyo|JP|35.6762,139.6503|100-0001|Asia/Tokyo",
        "Seoul|Seoul|KR|37.5665,126.9780|04524|Asia/Seoul",
        "Cape Town|Western Cape|ZA|-33.9249,18.4241|8001|Africa/Johannesburg",
    )
)

_NETWORKS: tuple[tuple[str, str], ...] = (
    ("AS64496 Wombat Broadband", "wombat-broadband.example"),
    ("AS64497 Kestrel Fibre", "kestrel-fibre.example"),
    ("AS64498 Lighthouse Mobile", "lighthouse-mobile.example"),
    ("AS64499 Paper Plane Networks", "paper-plane.example"),
    ("AS64500 Old Mill Internet", "old-mill.example"),
    ("AS64501 Cloudberry Hosting", "cloudberry-hosting.example"),
)

# The ranges kept for documentation (RFC 5737, RFC 3849) stand for public addresses in everybody's tests.
_DOCUMENTATION = tuple(map(ip_network, ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32")))


@lru_cache(maxsize=REMEMBERED)
def iin_data(iin: str, brand: Brand, funding: Funding) -> IinData:
    """Issuer and country of a card by its first six digits; one fixed row for each published test card."""
    row = _TEST_ISSUERS.get(iin) or _ISSUERS[_draw(len(_ISSUERS), "issuer", iin)]
    country_code, country, issuer = row
    return IinData(brand.value, country, country_code, issuer, funding.value)


def ip_info(ip: str, seed: int) -> IpInfo:
    """City and network of an address; those of one IPv4 /24 or IPv6 /48 share them.

    Only ``ip`` is given for addresses that are private, local or reserved, and for a text that is no address at all.
    """
    bare = ip.strip()
    return _ip_info(bare, seed) if len(bare) <= _LONGEST_ADDRESS else IpInfo(bare[:_LONGEST_ADDRESS])


def bank_name(bank_code: str) -> str:
    """The bank of a bank code: the first two signs name it, as in Australia's BSB numbers."""
    return _bank_name(bank_code.strip()[:2].upper())


@lru_cache(maxsize=REMEMBERED)
def _bank_name(bank: str) -> str:
    return _ISSUERS[_draw(len(_ISSUERS), "bank", bank)][2]


@lru_cache(maxsize=REMEMBERED)
def _ip_info(ip: str, seed: int) -> IpInfo:
    try:
        address = ip_address(ip)
    except ValueError:
        return IpInfo(ip)
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    if not _is_public(address):
        return IpInfo(ip)
    network = address.packed[: 3 if address.version == 4 else 6]
    city = _CITIES[_draw(len(_CITIES), "city", seed, network)]
    org, domain = _NETWORKS[_draw(len(_NETWORKS), "network", seed, network)]
    return IpInfo(
        ip=ip,
        hostname=f"{_host(address.packed)}.{domain}",
        city=city.name,
        region=city.region,
        country=city.country,
        loc=city.place,
        org=org,
        postal=city.postal,
        timezone=city.timezone,
    )


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if any(address in network for network in _DOCUMENTATION):
        return True
    return address.is_global and not address.is_multicast


def _host(packed: bytes) -> str:
    # From the bytes: the text of an IPv6 address may carry a zone, which no host name can.
    return "-".join(map(str, packed)) if len(packed) == 4 else packed.hex("-", 2)


def _draw(count: int, *parts: object) -> int:
    return int.from_bytes(digest(*parts, size=4), "big") % count
