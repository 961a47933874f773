"""Invented lookups: they repeat, they vary, they never fail."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockserver.domain.cards import TEST_CARDS, Brand, Funding
from mockserver.domain.fake_lookups import IinData, IpInfo, bank_name, iin_data, ip_info
from mockserver.wire.resources import info_reply
from tests.depth import tries

PUBLIC = [f"{first}.{second}.3.4" for first in (8, 81, 203) for second in range(1, 100)]
FRIENDLY = {row["twoLetterCode"]: row["friendlyName"] for row in info_reply()["countries"]}
IINS = [f"{number:06d}" for number in range(450000, 450300)]


@pytest.mark.parametrize(
    ("iin", "brand", "funding", "row"),
    [
        (
            "411111",
            Brand.VISA,
            Funding.CREDIT,
            IinData("VISA", "Australia", "AU", "Gumleaf Mutual", "CREDIT"),
        ),
        (
            "353011",
            Brand.JCB,
            Funding.DEBIT,
            IinData("JCB", "Japan", "JP", "Yamabuki Bank", "DEBIT"),
        ),
    ],
)
def test_published_test_cards_have_fixed_issuers(
    iin: str, brand: Brand, funding: Funding, row: IinData
) -> None:
    assert iin_data(iin, brand, funding) == row


def test_every_issuer_country_is_in_the_table_of_countries() -> None:
    numbers = [number[:6] for number in TEST_CARDS.values()]
    for row in (iin_data(iin, Brand.VISA, Funding.CREDIT) for iin in IINS + numbers):
        assert FRIENDLY[row.country_code] == row.country


def test_issuers_vary_and_repeat() -> None:
    issuers = [iin_data(iin, Brand.VISA, Funding.CREDIT).issuer for iin in IINS]
    assert len(set(issuers)) > 15
    iin_data.cache_clear()
    assert [iin_data(iin, Brand.VISA, Funding.CREDIT).issuer for iin in IINS] == issuers


def test_places_vary_with_address_and_seed() -> None:
    cities = [ip_info(ip, 1).city for ip in PUBLIC]
    assert len(set(cities)) > 30
    assert [ip_info(ip, 1).city for ip in PUBLIC] == cities
    assert [ip_info(ip, 2).city for ip in PUBLIC] != cities


def test_every_place_is_whole() -> None:
    for info in (ip_info(ip, 1) for ip in PUBLIC):
        assert info.country in FRIENDLY
        assert info.timezone in info_reply()["timezones"]
        latitude, longitude = map(float, str(info.loc).split(","))
        assert -90 <= latitude <= 90
        assert -180 <= longitude <= 180
        assert info.city
        assert info.region
        assert info.postal
        assert str(info.org).startswith("AS64")
        assert str(info.hostname).endswith(".example")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("203.0.113.7", "203.0.113.250"),
        ("2001:db8:1::1", "2001:db8:1:ffff::2"),
        ("8.8.8.8", "::ffff:8.8.8.8"),
    ],
)
def test_addresses_of_one_network_are_in_one_place(one: str, other: str) -> None:
    assert ip_info(one, 1).city == ip_info(other, 1).city is not None


@pytest.mark.parametrize(
    ("ip", "host"),
    [
        ("203.0.113.7", "203-0-113-7."),
        ("2001:db8::1", "2001-0db8-0000-0000-0000-0000-0000-0001."),
        ("2606:4700::1%eth0", "2606-4700-0000-0000-0000-0000-0000-0001."),
    ],
)
def test_the_host_name_is_made_of_the_address(ip: str, host: str) -> None:
    assert str(ip_info(ip, 1).hostname).startswith(host)


@pytest.mark.parametrize(
    "ip",
    [
        "10.0.0.1",
        "192.168.1.1",
        "127.0.0.1",
        "::1",
        "fe80::1%eth0",
        "0.0.0.0",
        "224.0.0.1",
        "240.0.0.1",
        "nope",
        "",
        "٨.8.8.8",
    ],
)
def test_nothing_is_known_of_other_addresses(ip: str) -> None:
    assert ip_info(ip, 1) == IpInfo(ip)


def test_a_long_text_is_cut() -> None:
    assert ip_info("x" * 100_000, 1) == IpInfo("x" * 64)


@settings(max_examples=tries(30, 300))
@given(st.text() | st.ip_addresses().map(str), st.integers())
def test_no_text_makes_a_lookup_fail(ip: str, seed: int) -> None:
    assert ip_info(ip, seed).ip == ip.strip()[:64]


def test_branches_of_one_bank_share_its_name() -> None:
    assert bank_name("123-456") == bank_name(" 129-999 ")
    assert len({bank_name(f"{number}3-456") for number in range(10, 100)}) > 12
    assert bank_name("")
