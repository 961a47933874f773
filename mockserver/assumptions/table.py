"""Every gap of the service document settled in one place: ``table.csv`` says in words what is asked and what each
profile answers, and on what that rests; here is how those answers can be overridden, and the name by which code asks.

Rows that have no name here, and those with one answer only, are settled for good: they are listed so that nothing is
silent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Any, Generic, TypeVar

from mockserver.domain.clock import Micros, duration_text, parse_duration, parse_instant
from mockserver.domain.errors import Invalid, nearest
from mockserver.domain.money import currency
from mockserver.domain.reading import number_of, whole_of
from mockserver.domain.record import record
from mockserver.domain.reference_data import read_table

T = TypeVar("T")


class Profile(StrEnum):
    """Which voice the sandbox speaks in."""

    DOCUMENTED = "documented"
    SDK = "sdk"


@record
class ValueKind(Generic[T]):
    """How a value of a row is read from a file or a call, shown again, and described."""

    allowed: str
    read: Callable[[object], T]
    show: Callable[[T], object]


@record
class Assumption(Generic[T]):
    """One settled question. ``evidence`` names the fact that the value rests on."""

    key: str
    question: str
    kind: ValueKind[T]
    documented: T
    sdk: T
    evidence: str

    def value(self, profile: Profile) -> T:
        """The value in a profile."""
        return self.sdk if profile is Profile.SDK else self.documented


def choice(*words: str) -> ValueKind[str]:
    """One of some words, in any letter case; of one word: a behaviour that is settled and cannot be changed."""
    by_fold = {word.lower(): word for word in words}

    def read(value: object) -> str:
        found = by_fold.get(value.lower()) if isinstance(value, str) else None
        if found is None:
            raise ValueError(f"got '{value}', allowed: {', '.join(words)}{nearest(str(value), words)}")
        return found

    return ValueKind(" | ".join(words), read, str)


def _read_duration(value: object) -> Micros:
    if isinstance(value, int) and not isinstance(value, bool) and value == 0:
        return 0
    return parse_duration(str(value))


def _read_span(value: object) -> tuple[Micros, Micros]:
    low, _, high = str(value).partition("..")
    first = _read_duration(0 if low.strip() == "0" else low)
    last = _read_duration(high) if high else first
    if last < first:
        raise ValueError(f"got '{value}', wanted the shorter time first, such as 30ms..80ms")
    return first, last


def _read_number(value: object) -> Decimal:
    number = number_of(str(value))
    if number is None or number < 0:
        raise ValueError(f"got '{value}', wanted a number of 0 or more")
    return number


def whole(low: int, high: int) -> ValueKind[int]:
    """A whole number within bounds."""

    def read(value: object) -> int:
        number = whole_of(value, low, high)
        if number is None:
            raise ValueError(f"got '{value}', wanted a whole number from {low} to {high}")
        return number

    return ValueKind(f"{low} to {high}", read, int)


def _read_flow(value: object) -> tuple[Micros, Micros, Micros]:
    parts = [_read_duration(0 if part == "0" else part) for part in str(value).split()]
    if len(parts) != 3 or parts[0] > parts[1]:
        raise ValueError(f"got '{value}', wanted three durations, the second no shorter than the first")
    return parts[0], parts[1], parts[2]


def _read_pauses(value: object) -> tuple[Micros, ...]:
    if str(value).lower() == "never":
        return ()
    pauses = tuple(_read_duration(0 if part == "0" else part) for part in str(value).split())
    if not 1 <= len(pauses) <= 20:
        raise ValueError(f"got '{value}', wanted never, or 1 to 20 durations such as 10s 1m 10m")
    return pauses


def _read_text(value: object) -> str:
    if not isinstance(value, str) or not value or not value.isprintable():
        raise ValueError(f"got '{value}', wanted a text of printable characters")
    return value


def _read_currency(value: object) -> str:
    try:
        return currency(str(value)).code
    except Invalid as refused:
        raise ValueError((refused.details or {})["Currency"]) from None


def _read_date(value: object) -> str:
    parse_instant(str(value))
    return str(value)


DURATION: ValueKind[Micros] = ValueKind("a duration, such as 5m", _read_duration, duration_text)
DATE: ValueKind[str] = ValueKind("an ISO 8601 date-time", _read_date, str)
SPAN: ValueKind[tuple[Micros, Micros]] = ValueKind(
    "a duration or a range, such as 30ms..80ms",
    _read_span,
    lambda span: "..".join(dict.fromkeys(map(duration_text, span))),
)
AMOUNT: ValueKind[Decimal] = ValueKind("a number of 0 or more", _read_number, lambda number: format(number, "f"))
AMOUNT_OR_UNIT: ValueKind[Decimal | None] = ValueKind(
    "smallest_unit, or a number of 0 or more",
    lambda given: None if str(given).lower() == "smallest_unit" else _read_number(given),
    lambda number: "smallest_unit" if number is None else format(number, "f"),
)
CURRENCY: ValueKind[str] = ValueKind("an ISO 4217 code", _read_currency, str)
CURRENCY_OR_PROVIDER: ValueKind[str] = ValueKind(
    "provider, or an ISO 4217 code",
    lambda given: "provider" if str(given).lower() == "provider" else _read_currency(given),
    str,
)
FLOW: ValueKind[tuple[Micros, Micros, Micros]] = ValueKind(
    "three durations: until CREATED, until IN_PROGRESS, and for each row, such as 50ms 100ms 2ms",
    _read_flow,
    lambda flow: " ".join(duration_text(part) for part in flow),
)
PAUSES: ValueKind[tuple[Micros, ...]] = ValueKind(
    "never, or durations such as 10s 1m 10m",
    _read_pauses,
    lambda pauses: " ".join(duration_text(pause) for pause in pauses) or "never",
)
TEXT: ValueKind[str] = ValueKind("a text", _read_text, str)


@record
class _Words:
    key: str
    documented: str
    sdk: str
    question: str
    evidence: str


_WORDS = {words.key: words for words in read_table("table", _Words, folder=Path(__file__).parent)}

_NAMED: dict[str, Assumption[Any]] = {}
"""Rows that code asks by name, by their keys."""


def _row(key: str, kind: ValueKind[T]) -> Assumption[T]:
    words = _WORDS[key]
    documented = kind.read(words.documented)
    row = _NAMED[key] = Assumption(
        key=key,
        question=words.question,
        kind=kind,
        documented=documented,
        sdk=kind.read(words.sdk) if words.sdk else documented,
        evidence=words.evidence,
    )
    return row


CARD_REQUIRED = _row("card.required", choice("number_and_expiry", "number"))
CARD_CCV = _row("card.ccv", choice("checked_when_given", "required"))
CARD_EXPIRED = _row("card.expired", choice("refuse", "charge"))
PENDING_TYPES = _row("charge.pending_types", choice("bank_account_and_payto", "none"))
CAPTURE_AMOUNT = _row("charge.capture_amount", choice("whole_or_less"))
REFUND_AMOUNT = _row("charge.refund_amount", choice("rest_or_less"))
THREE_DS = _row("charge.three_ds", choice("trusted", "ignored"))
SEARCH_CARD = _row("charge.search_card_number", choice("4_6_8_leading_digits_or_all"))
FAILOVER = _row("failover", choice("retryable_failures", "never"))
LEAST_COST = _row("least_cost", choice("cheapest_by_cost_data"))
LEAST_COST_NEXT = _row("least_cost.next", choice("next_cheapest", "none"))
PROVIDER_FOREIGN = _row("provider.other_currency", choice("any", "none"))
VAULT_GONE = _row("vault.gone", choice("not_found"))
REMOVED = _row("removed.customer_or_method", choice("readable"))
REMOVAL_TAKES_METHODS = _row("removed.customer_methods", choice("yes", "no"))
DEFAULT_REMOVED = _row("removed.default_method", choice("none", "newest"))
REMOVED_IN_LIST = _row("removed.in_customer_list", choice("hidden", "shown"))
PAGE_ORDER = _row("paging.order", choice("newest_first", "oldest_first"))
SEARCH_BOUNDS = _row("search.bounds", choice("exclusive", "inclusive"))
SORT_UNKNOWN = _row("sort", choice("refuse", "ignore"))
KEYS_BOTH = _row("keys.both", choice("public_key", "either"))
BATCH_MAXIMUM = _row("batch.maximum", whole(1, 1_000_000))
BATCH_THREE_DS = _row("batch.three_ds", choice("row_fails", "charged"))
BATCH_RETURNED = _row("batch.returned_row", choice("row_fails", "stays"))
JSON_DEPTH = _row("request.json_depth", whole(8, 200))
UNKNOWN_FIELDS = _row("request.unknown_fields", choice("ignore", "refuse"))
DECIMAL_COMMA = _row("request.decimal_comma", choice("refuse", "read"))
IDEMPOTENCY = _row("request.idempotency", choice("none", "by_header"))
CARD_MASKING = _row("card.masking", choice("first4_last4", "first6_last4", "last4"))
BANK_MASKING = _row("bank_account.masking", choice("none", "last4"))
CUSTOMER_SUMMARY = _row("charge.customer_summary", choice("shown", "stored_customers_only"))
WALLET_WORD = _row("payment_method.wallet_type", choice("WALLET", "APPLEPAY"))
CHECKOUT_WORD = _row("payment_method.checkout_type", choice("by_kind", "wallet_type"))
VAULT_SECRETS = _row("vault.get_shows", choice("number_and_ccv", "nothing"))
NETWORK_TOKEN_DATE = _row("network_token.date_added", choice("shown", "null"))
LINK_URL = _row("link.url", choice("<public url>/pay/<paymentLinkId>"))
CREATED_STATUS = _row("response.created_status", whole(200, 201))
CURRENCY_DEFAULT = _row("currency.default", CURRENCY_OR_PROVIDER)
AMOUNT_MINIMUM = _row("amount.minimum", AMOUNT_OR_UNIT)
AMOUNT_MAXIMUM = _row("amount.maximum", AMOUNT)
CARD_IIN_DIGITS = _row("card.iin_digits", whole(3, 6))
AUTHORISED_WORD = _row("charge.status.authorised", choice("Authorised", "AUTHORISE"))
PENDING_REFUND = _row("charge.pending_refund", choice("at_once", "when_settled"))
PENDING_SETTLES_AFTER = _row("charge.pending_settles_after", DURATION)
AUTHORISATION_EXPIRES_AFTER = _row("charge.authorisation_expires_after", DURATION)
CHALLENGE_EXPIRES_AFTER = _row("charge.challenge_expires_after", DURATION)
DECLINED_REPLY = _row("charge.declined_reply", choice("error", "charge"))
DELETE_CHARGE_PATH = _row("charge.on_delete_path", choice("refund_or_void", "refund", "void"))
PROVIDER_CURRENCY = _row("provider.currency", CURRENCY)
PROVIDER_LATENCY = _row("provider.latency", SPAN)
VAULT_CCV_DELAY = _row("vault.ccv_delay", DURATION)
VAULT_CCV_SPENT_BY = _row("vault.ccv_spent_by", choice("same_card", "linked_method"))
NOT_FOUND_STATUS = _row("error.not_found", whole(400, 404))
WRONG_STATE_STATUS = _row("error.wrong_state", whole(400, 409))
PAGE_DEFAULT = _row("paging.default", whole(1, 1000))
PAGE_MAXIMUM = _row("paging.maximum", whole(1, 100_000))
TOKEN_LIFETIME = _row("token.lifetime", DURATION)
TOKEN_USES = _row("token.uses", whole(1, 1000))
PAYTO_ACTIVE_AFTER = _row("payto.active_after", DURATION)
CARD_DATA_ALIAS = _row("charge.card_data", choice("no", "yes"))
BATCH_FLOW = _row("batch.flow", FLOW)
WEBHOOK_RETRY = _row("webhook.retry", PAUSES)
WEBHOOK_TIMEOUT = _row("webhook.timeout", DURATION)
WEBHOOK_VERSION = _row("webhook.version", TEXT)
LINK_IMAGE_MAXIMUM = _row("link.image_maximum", whole(1, 10_000_000))
LINK_REFUSAL = _row("link.limit_code", whole(1, 117))
SUBSCRIPTION_PAST_START = _row("subscription.past_start", choice("now", "refuse"))
SUBSCRIPTION_PAST_START_DATES = _row("subscription.past_start_dates", choice("from_now", "from_start"))
SUBSCRIPTION_RETRIES_EXHAUSTED = _row("subscription.retries_exhausted", choice("suspend", "cancel", "next_payment"))
SUBSCRIPTION_HARD_DECLINES = _row("subscription.hard_declines", choice("retry", "final"))
SUBSCRIPTION_END_AMOUNT = _row("subscription.end_amount", choice("whole", "rest", "before"))
SUBSCRIPTION_OWED_PAYMENT = _row("subscription.owed_payment", choice("as_missed", "collect"))
SUBSCRIPTION_MISSED = _row("subscription.missed_payments", choice("skip", "make_up"))
SUBSCRIPTION_METHOD_REMOVED = _row("subscription.method_removed", choice("next_payment", "at_once"))
SUBSCRIPTION_THREE_DS = _row("subscription.three_ds", choice("payment_fails", "charged"))
SUBSCRIPTION_MONTH_END = _row("subscription.month_end", choice("clamp", "walk"))
TRANSFER_SETTLES_AFTER = _row("transfer.settles_after", DURATION)
VERSION_NUMBER = _row("version.number", TEXT)
VERSION_RELEASED = _row("version.released", DATE)
VERSION_REGION = _row("version.region", choice("au", "jp", "us"))

ROWS: Mapping[str, Assumption[Any]] = {
    key: _NAMED.get(key) or _row(key, choice(words.documented)) for key, words in _WORDS.items()
}
"""Every row by its key, in the order of the document."""
