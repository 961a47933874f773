"""Money: the ISO 4217 currencies, and amounts as exact ``Decimal`` numbers of major units.

Amounts stay decimal for every currency, those without minor units included (published facts, 3): ``5`` is five yen.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache

from mockserver.domain.codes import Code
from mockserver.domain.errors import Invalid, nearest

ZERO = Decimal(0)

MAX_INTEGER_DIGITS = 15
"""Digits that an amount may have before the point (assumption ``amount.maximum``: no limit that a payment meets)."""

_SHOWN = 12
_COSTS = Context(prec=80, rounding=ROUND_HALF_UP)


@dataclass(frozen=True, slots=True)
class Currency:
    """A row of ISO 4217: alphabetic code, three-digit numeric code, English name, and digits after the point."""

    code: str
    number: str
    name: str
    digits: int


# Every active currency of ISO 4217. Funds, metals, accounting units and test codes are no means of payment: left out.
_ROWS = """
AED 784 2 UAE Dirham
AFN 971 2 Afghani
ALL 008 2 Lek
AMD 051 2 Armenian Dram
AOA 973 2 Kwanza
ARS 032 2 Argentine Peso
AUD 036 2 Australian Dollar
AWG 533 2 Aruban Florin
AZN 944 2 Azerbaijan Manat
BAM 977 2 Convertible Mark
BBD 052 2 Barbados Dollar
BDT 050 2 Taka
BGN 975 2 Bulgarian Lev
BHD 048 3 Bahraini Dinar
BIF 108 0 Burundi Franc
BMD 060 2 Bermudian Dollar
BND 096 2 Brunei Dollar
BOB 068 2 Boliviano
BRL 986 2 Brazilian Real
BSD 044 2 Bahamian Dollar
BTN 064 2 Ngultrum
BWP 072 2 Pula
BYN 933 2 Belarusian Ruble
BZD 084 2 Belize Dollar
CAD 124 2 Canadian Dollar
CDF 976 2 Congolese Franc
CHF 756 2 Swiss Franc
CLP 152 0 Chilean Peso
CNY 156 2 Yuan Renminbi
COP 170 2 Colombian Peso
CRC 188 2 Costa Rican Colon
CUP 192 2 Cuban Peso
CVE 132 2 Cabo Verde Escudo
CZK 203 2 Czech Koruna
DJF 262 0 Djibouti Franc
DKK 208 2 Danish Krone
DOP 214 2 Dominican Peso
DZD 012 2 Algerian Dinar
EGP 818 2 Egyptian Pound
ERN 232 2 Nakfa
ETB 230 2 Ethiopian Birr
EUR 978 2 Euro
FJD 242 2 Fiji Dollar
FKP 238 2 Falkland Islands Pound
GBP 826 2 Pound Sterling
GEL 981 2 Lari
GHS 936 2 Ghana Cedi
GIP 292 2 Gibraltar Pound
GMD 270 2 Dalasi
GNF 324 0 Guinean Franc
GTQ 320 2 Quetzal
GYD 328 2 Guyana Dollar
HKD 344 2 Hong Kong Dollar
HNL 340 2 Lempira
HTG 332 2 Gourde
HUF 348 2 Forint
IDR 360 2 Rupiah
ILS 376 2 New Israeli Sheqel
INR 356 2 Indian Rupee
IQD 368 3 Iraqi Dinar
IRR 364 2 Iranian Rial
ISK 352 0 Iceland Krona
JMD 388 2 Jamaican Dollar
JOD 400 3 Jordanian Dinar
JPY 392 0 Yen
KES 404 2 Kenyan Shilling
KGS 417 2 Som
KHR 116 2 Riel
KMF 174 0 Comorian Franc
KPW 408 2 North Korean Won
KRW 410 0 Won
KWD 414 3 Kuwaiti Dinar
KYD 136 2 Cayman Islands Dollar
KZT 398 2 Tenge
LAK 418 2 Lao Kip
LBP 422 2 Lebanese Pound
LKR 144 2 Sri Lanka Rupee
LRD 430 2 Liberian Dollar
LSL 426 2 Loti
LYD 434 3 Libyan Dinar
MAD 504 2 Moroccan Dirham
MDL 498 2 Moldovan Leu
MGA 969 2 Malagasy Ariary
MKD 807 2 Denar
MMK 104 2 Kyat
MNT 496 2 Tugrik
MOP 446 2 Pataca
MRU 929 2 Ouguiya
MUR 480 2 Mauritius Rupee
MVR 462 2 Rufiyaa
MWK 454 2 Malawi Kwacha
MXN 484 2 Mexican Peso
MYR 458 2 Malaysian Ringgit
MZN 943 2 Mozambique Metical
NAD 516 2 Namibia Dollar
NGN 566 2 Naira
NIO 558 2 Cordoba Oro
NOK 578 2 Norwegian Krone
NPR 524 2 Nepalese Rupee
NZD 554 2 New Zealand Dollar
OMR 512 3 Rial Omani
PAB 590 2 Balboa
PEN 604 2 Sol
PGK 598 2 Kina
PHP 608 2 Philippine Peso
PKR 586 2 Pakistan Rupee
PLN 985 2 Zloty
PYG 600 0 Guarani
QAR 634 2 Qatari Rial
RON 946 2 Romanian Leu
RSD 941 2 Serbian Dinar
RUB 643 2 Russian Ruble
RWF 646 0 Rwanda Franc
SAR 682 2 Saudi Riyal
SBD 090 2 Solomon Islands Dollar
SCR 690 2 Seychelles Rupee
SDG 938 2 Sudanese Pound
SEK 752 2 Swedish Krona
SGD 702 2 Singapore Dollar
SHP 654 2 Saint Helena Pound
SLE 925 2 Leone
SOS 706 2 Somali Shilling
SRD 968 2 Surinam Dollar
SSP 728 2 South Sudanese Pound
STN 930 2 Dobra
SVC 222 2 El Salvador Colon
SYP 760 2 Syrian Pound
SZL 748 2 Lilangeni
THB 764 2 Baht
TJS 972 2 Somoni
TMT 934 2 Turkmenistan New Manat
TND 788 3 Tunisian Dinar
TOP 776 2 Pa'anga
TRY 949 2 Turkish Lira
TTD 780 2 Trinidad and Tobago Dollar
TWD 901 2 New Taiwan Dollar
TZS 834 2 Tanzanian Shilling
UAH 980 2 Hryvnia
UGX 800 0 Uganda Shilling
USD 840 2 US Dollar
UYU 858 2 Peso Uruguayo
UZS 860 2 Uzbekistan Sum
VED 926 2 Bolivar Digital
VES 928 2 Bolivar Soberano
VND 704 0 Dong
VUV 548 0 Vatu
WST 882 2 Tala
XAF 950 0 CFA Franc BEAC
XCD 951 2 East Caribbean Dollar
XCG 532 2 Caribbean Guilder
XOF 952 0 CFA Franc BCEAO
XPF 953 0 CFP Franc
YER 886 2 Yemeni Rial
ZAR 710 2 Rand
ZMW 967 2 Zambian Kwacha
ZWG 924 2 Zimbabwe Gold
"""


def _row(line: str) -> Currency:
    code, number, digits, name = line.split(" ", 3)
    return Currency(code, number, name, int(digits))


CURRENCIES: dict[str, Currency] = {row.code: row for row in map(_row, _ROWS.strip().splitlines())}
"""Every currency by its alphabetic code, in alphabetical order."""

_BY_NAME: dict[str, str] = {row.name.lower(): row.code for row in CURRENCIES.values()}


def currency(text: str) -> Currency:
    """The currency of an alphabetic code in any letter case (assumption ``currency.allowed``).

    Raises ``Invalid`` (29) with what was got and the nearest code.
    """
    found = CURRENCIES.get(text) or CURRENCIES.get(text.strip().upper())
    if found is None:
        raise Invalid(Code.CURRENCY_NOT_SUPPORTED, {"Currency": _unknown(text)})
    return found


def exact(amount: Decimal, currency: Currency, *, field: str = "Amount") -> Decimal:
    """``amount`` without trailing zeros and never in exponent form; its sign is the caller's to judge.

    Raises ``Invalid`` (2, details under ``field``) when it is not finite, has more digits after the point than the
    currency has, or more than 15 before it (assumption ``amount.minimum / amount.maximum``).
    """
    # A text is cheaper than as_tuple(), is as long as what was sent (1E+999999 stays short), and no context rounds it.
    text = str(amount)
    whole, point, fraction = text.partition(".")
    if whole.isdecimal() and len(whole) <= MAX_INTEGER_DIGITS:
        if not point:
            return amount
        if fraction.isdecimal():
            kept = fraction.rstrip("0")
            if len(kept) <= currency.digits:
                if len(kept) == len(fraction):
                    return amount
                return Decimal(f"{whole}.{kept}") if kept else Decimal(whole)
    return _exact_of_any(amount, currency, field)


def number_text(number: Decimal) -> str:
    """JSON text of a finite number: ``5``, ``200``, ``12.5``; never ``5.0`` or ``2E+2`` (published facts, 0 rule 4).

    Raises ``ValueError`` when ``number`` is not finite.
    """
    text = str(number)
    if text.isdecimal():
        return text
    if not number.is_finite():
        raise ValueError(f"got {text[:4]}, wanted a finite number")
    if "E" in text:
        text = f"{number:f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text if number else "0"


def minor_units(amount: Decimal, currency: Currency) -> int:
    """An exact amount in the smallest unit of its currency: 12.34 AUD is 1234, 5 JPY is 5."""
    return int(amount.scaleb(currency.digits))


@lru_cache(maxsize=4096)
def share(amount: Decimal, percent: Decimal, digits: int = 2, *, plus: Decimal = ZERO) -> Decimal:
    """``percent`` per cent of ``amount`` and ``plus``, rounded half up to ``digits`` after the point, without trailing
    zeros."""
    part = _COSTS.add(_COSTS.multiply(amount, percent).scaleb(-2, _COSTS), plus)
    return Decimal(number_text(part.quantize(Decimal(1).scaleb(-digits), context=_COSTS)))


def _exact_of_any(amount: Decimal, currency: Currency, field: str) -> Decimal:
    """``exact`` for what it sees seldom: signs, exponents, zeros in odd clothes, and everything that is refused."""
    if not amount.is_finite():
        raise _refused(field, "got a value that is not a finite number")
    if not amount:
        return ZERO
    if amount.adjusted() >= MAX_INTEGER_DIGITS:
        before = amount.adjusted() + 1
        raise _refused(field, f"got {before} digits before the point, at most {MAX_INTEGER_DIGITS} are allowed")
    places = _places(amount)
    if places > currency.digits:
        # Counted, not quoted, when long: a card number may have slipped into the wrong field.
        short = places + max(0, amount.adjusted()) < _SHOWN
        got = number_text(amount) if short else f"{places} digits after the point"
        raise _refused(field, f"got {got}, {currency.code} has {currency.digits or 'no'} digits after the point")
    return Decimal(number_text(amount))


def _places(amount: Decimal) -> int:
    """Digits after the point that are left without trailing zeros, for a finite number other than zero."""
    _, digits, exponent = amount.as_tuple()
    zeros = 0
    while digits[-1 - zeros] == 0:
        zeros += 1
    return max(0, -int(exponent) - zeros)


def _refused(field: str, reason: str) -> Invalid:
    return Invalid(Code.INVALID_AMOUNT, {field: reason})


def _unknown(text: str) -> str:
    word = text.strip()
    allowed = "wanted an ISO 4217 code such as AUD"
    if not word:
        return f"got an empty text, {allowed}"
    if len(word) > _SHOWN * 2 or any(sign.isdigit() for sign in word):
        return f"got a text of {len(word)} characters, {allowed}"
    # A currency's name, then the first two letters, which name its country; only then what looks alike.
    country = word.upper()[:2]
    meant = _BY_NAME.get(word.lower()) or next((code for code in CURRENCIES if code[:2] == country), None)
    hint = f" - did you mean '{meant}'?" if meant else nearest(word, CURRENCIES)
    return f"got '{word}', {allowed}{hint}"
