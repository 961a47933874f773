"""Every gap of the service document, settled in one place: a typed row per question, with its value in each profile.

Profile ``documented`` keeps to the words of the service document; ``sdk`` speaks as the published client libraries
expect.
A value can be overridden per server, per sandbox and per scenario. Code asks ``assumed[ROW]`` and is told a typed
value. A row with one allowed word names a behaviour that is settled for good: it is listed so that nothing is silent.

This module holds the rows of time, numbers and codes; ``conduct`` how the sandbox behaves, ``speech`` how it speaks.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TypeVar

from mockserver.assumptions import conduct as conduct
from mockserver.assumptions import speech as speech
from mockserver.assumptions.row import AMOUNT as _AMOUNT
from mockserver.assumptions.row import AMOUNT_OR_UNIT as _AMOUNT_OR_UNIT
from mockserver.assumptions.row import CURRENCY as _CURRENCY
from mockserver.assumptions.row import CURRENCY_OR_PROVIDER as _CURRENCY_OR_PROVIDER
from mockserver.assumptions.row import DATE as _DATE
from mockserver.assumptions.row import DURATION as _DURATION
from mockserver.assumptions.row import FLOW as _FLOW
from mockserver.assumptions.row import PAUSES as _PAUSES
from mockserver.assumptions.row import ROWS as ROWS
from mockserver.assumptions.row import SPAN as _SPAN
from mockserver.assumptions.row import TEXT as _TEXT
from mockserver.assumptions.row import Assumption as Assumption
from mockserver.assumptions.row import Kind as Kind
from mockserver.assumptions.row import Profile as Profile
from mockserver.assumptions.row import choice as _choice
from mockserver.assumptions.row import row as _row
from mockserver.assumptions.row import whole as _whole
from mockserver.domain.clock import DAY, HOUR, MINUTE, SECOND
from mockserver.domain.codes import Code
from mockserver.domain.errors import Invalid, nearest

T = TypeVar("T")


CREATED_STATUS = _row(
    "response.created_status",
    "HTTP status of a POST that creates an object",
    _whole(200, 201),
    201,
    "published documentation: 201 for a POST that creates; client libraries: 200 is always safe",
    sdk=200,
)
CURRENCY_DEFAULT = _row(
    "currency.default",
    "currency of a charge that names none; provider = that of the provider",
    _CURRENCY_OR_PROVIDER,
    "provider",
    "client suites charge without a currency; a provider has one",
)
AMOUNT_MINIMUM = _row(
    "amount.minimum",
    "smallest amount of a charge: one unit of the last digit that its currency has (0.01 AUD, 1 JPY), or a number",
    _AMOUNT_OR_UNIT,
    None,
    "published sample: 0.01 .. 10000, of a currency with two digits",
)
AMOUNT_MAXIMUM = _row(
    "amount.maximum", "largest amount of a charge, 0 = none", _AMOUNT, Decimal(0), "not shown; a merchant setting"
)
CARD_IIN_DIGITS = _row(
    "card.iin_digits",
    "leading digits shown as cardIin",
    _whole(3, 6),
    6,
    "ISO/IEC 7812: 6; published webhook samples: 3",
    sdk=3,
)
AUTHORISED_WORD = _row(
    "charge.status.authorised",
    "how an authorised charge is spelt",
    _choice("Authorised", "AUTHORISE"),
    "Authorised",
    "service document: Authorised; client libraries parse AUTHORISE only",
    sdk="AUTHORISE",
)
PENDING_SETTLES_AFTER = _row(
    "charge.pending_settles_after", "when a pending charge settles", _DURATION, 24 * HOUR, "usual for bank debits"
)
AUTHORISATION_EXPIRES_AFTER = _row(
    "charge.authorisation_expires_after",
    "when an authorisation that nobody captures lapses",
    _DURATION,
    7 * DAY,
    "usual for card schemes",
)
CHALLENGE_EXPIRES_AFTER = _row(
    "charge.challenge_expires_after",
    "when a 3-D Secure challenge that nobody answers is abandoned",
    _DURATION,
    15 * MINUTE,
    "not shown; usual for a challenge window",
)
DECLINED_REPLY = _row(
    "charge.declined_reply",
    "answer to a charge that every provider declined; stored as FAILED either way",
    _choice("error", "charge"),
    "error",
    "published provider failure sample; client libraries: absence of an error is success",
)
DELETE_CHARGE_PATH = _row(
    "charge.on_delete_path",
    "meaning of DELETE /charge/<id>",
    _choice("refund_or_void", "refund", "void"),
    "refund_or_void",
    "client libraries refund and void on this path; an authorised charge without query is voided",
)
PROVIDER_CURRENCY = _row(
    "provider.currency",
    "currency of a provider that is configured without one",
    _CURRENCY,
    "AUD",
    "published samples: the service is at home in Australia",
)
PROVIDER_LATENCY = _row(
    "provider.latency",
    "time a provider takes over a charge when neither it nor a scenario says so",
    _SPAN,
    (0, 0),
    "client suites demand that a charge takes longer than 10 ms",
    sdk=(30_000, 80_000),
)
VAULT_CCV_DELAY = _row(
    "vault.ccv_delay", "length of the short delay after which a ccv is removed", _DURATION, 5 * MINUTE, "not shown"
)
VAULT_CCV_SPENT_BY = _row(
    "vault.ccv_spent_by",
    "which payments remove the ccv of a vault item",
    _choice("same_card", "linked_method"),
    "same_card",
    "service document, What the service does, 8: the first payment for the vaulted card",
)
NOT_FOUND_STATUS = _row(
    "error.not_found", "HTTP status when an id names nothing", _whole(400, 404), 404, "plain HTTP", sdk=400
)
WRONG_STATE_STATUS = _row(
    "error.wrong_state",
    "HTTP status of an operation that the state forbids",
    _whole(400, 409),
    409,
    "published documentation: 409 for a conflict with existing data",
    sdk=400,
)
PAGE_DEFAULT = _row("paging.default", "limit of a list when none is given", _whole(1, 1000), 100, "not shown")
PAGE_MAXIMUM = _row("paging.maximum", "largest limit of a list", _whole(1, 100_000), 1000, "not shown")
TOKEN_LIFETIME = _row("token.lifetime", "how long a payment token can be used", _DURATION, HOUR, "not shown")
TOKEN_USES = _row("token.uses", "how often a payment token can be used", _whole(1, 1000), 1, "published: works once")
PAYTO_ACTIVE_AFTER = _row(
    "payto.active_after",
    "how long a PayTo agreement stays PENDING",
    _DURATION,
    0,
    "not shown; a scenario can stretch it",
)
CARD_DATA_ALIAS = _row(
    "charge.card_data",
    "whether a charge repeats card as cardData",
    _choice("no", "yes"),
    "no",
    "one client library reads cardData only",
    sdk="yes",
)
BATCH_FLOW = _row(
    "batch.flow",
    "how a batch gets on: RECEIVED, then CREATED and IN_PROGRESS so long after, then so long for each row",
    _FLOW,
    (50_000, 100_000, 2_000),
    "service document: the states; how long they take is not shown",
)
WEBHOOK_RETRY = _row(
    "webhook.retry",
    "pauses between the tries of a webhook; any 2xx ends them",
    _PAUSES,
    (10 * SECOND, MINUTE, 10 * MINUTE, HOUR, 6 * HOUR),
    "not shown",
)
WEBHOOK_TIMEOUT = _row(
    "webhook.timeout", "how long a receiver of webhooks may take", _DURATION, 10 * SECOND, "not shown"
)
WEBHOOK_VERSION = _row(
    "webhook.version", "X-Payfurl-Version of a webhook", _TEXT, "1.17.1.0", "published documentation: header sample"
)
LINK_IMAGE_MAXIMUM = _row(
    "link.image_maximum",
    "largest image of a payment link, in bytes",
    _whole(1, 10_000_000),
    1_000_000,
    "not shown; a request must stay below 10 MB",
)
LINK_REFUSAL = _row(
    "link.limit_code",
    "code of a payment that a link's limitPayments forbids (HTTP status: error.wrong_state)",
    _whole(1, 117),
    46,
    "published codes: 46 Unable To Charge; the link itself stays valid, so not 116",
)
SUBSCRIPTION_PAST_START = _row(
    "subscription.past_start",
    "a start date that has passed: the first payment is due now, or the subscription is refused",
    _choice("now", "refuse"),
    "now",
    "not shown; published: start date default today",
)
SUBSCRIPTION_MISSED = _row(
    "subscription.missed_payments",
    "payments that fell due while a subscription was suspended: left out, or made up for at once",
    _choice("skip", "make_up"),
    "skip",
    "not shown",
)
SUBSCRIPTION_METHOD_REMOVED = _row(
    "subscription.method_removed",
    "when a subscription whose payment method was removed is suspended: when its next payment is due, or at once",
    _choice("next_payment", "at_once"),
    "next_payment",
    "not shown; until a payment is due nothing has failed",
)
TRANSFER_SETTLES_AFTER = _row(
    "transfer.settles_after", "when a transfer goes from PENDING to SUCCESS", _DURATION, 0, "not shown"
)
VERSION_NUMBER = _row(
    "version.number", "release that /version tells", _TEXT, "1.17.1.0", "published: the version header of webhooks"
)
VERSION_RELEASED = _row(
    "version.released", "when that release was made", _DATE, "2025-08-05T00:00:00Z", "date of a published library"
)
VERSION_REGION = _row(
    "version.region",
    "region of a key that names none after its first hyphen",
    _choice("au", "jp", "us"),
    "au",
    "published regions; the text after the first hyphen of a key names one",
)


class Assumed:
    """The values in force for one sandbox: a profile and the overrides on top of it; ``values`` by key."""

    __slots__ = ("overrides", "profile", "values")

    def __init__(self, profile: Profile, overrides: Mapping[str, object] | None = None) -> None:
        self.profile = profile
        self.overrides: dict[str, object] = dict(overrides or {})
        self.values: dict[str, Any] = {key: row.value(profile) for key, row in ROWS.items()}
        for key, given in self.overrides.items():
            self.values[key] = read(key, given)

    def __getitem__(self, row: Assumption[T]) -> T:
        value: T = self.values[row.key]
        return value

    def with_overrides(self, overrides: Mapping[str, object]) -> Assumed:
        """These values with more overrides on top. Raises ``Invalid`` (90) naming every bad row."""
        return Assumed(self.profile, {**self.overrides, **overrides})


def read(key: str, given: object) -> Any:
    """The typed value of an override. Raises ``Invalid`` (90) with what is allowed and the nearest known key."""
    row = ROWS.get(key)
    if row is None:
        raise Invalid(Code.VALIDATION_ERROR, {key: f"no such assumption{nearest(key, ROWS)}"})
    try:
        return row.kind.read(given)
    except ValueError as problem:
        raise Invalid(Code.VALIDATION_ERROR, {key: str(problem)}) from None
