"""What makes sense in a state document, as tables: which field names a row of which table, and how large numbers are.

A test holds them against the classes of the rows, so that a field that is added to one is not forgotten here.
Source: control document, Control API (``/__admin/state``).
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from mockserver.domain.payto import LEAST_MAXIMUM, MOST_MAXIMUM
from mockserver.domain.provider import CAPABILITIES, ENVIRONMENTS, LONGEST_LATENCY, MOST_COST
from mockserver.engine.schedule import Due
from mockserver.engine.subscriptions import MOST_STEPS

_INSTRUMENT = {
    "instrument.payment_method_id": "payment_methods",
    "instrument.customer_id": "customers",
    "instrument.token_id": "tokens",
}

REFERENCES: Mapping[str, Mapping[str, str]] = {
    "charges": {
        "provider.provider_id": "providers",
        "failed_attempts.*.provider_id": "providers",
        "customer_id": "customers",
        "payer.customer_id": "customers",
        "subscription_id": "subscriptions",
        "batch_id": "batches",
        "payment_link_id": "payment_links",
        **_INSTRUMENT,
    },
    "payment_methods": {
        "provider.provider_id": "providers",
        "customer_id": "customers",
        "payer.customer_id": "customers",
        "vault_id": "vault",
        "network_token_id": "network_tokens",
        "payto_id": "payto",
        "fallback_payment_method_id": "payment_methods",
        **_INSTRUMENT,
    },
    "customers": {"default_payment_method_id": "payment_methods"},
    "tokens": {
        "provider.provider_id": "providers",
        "vault_id": "vault",
        "payto_id": "payto",
        **_INSTRUMENT,
    },
    "network_tokens": {
        "provider.provider_id": "providers",
        "payment_method_id": "payment_methods",
        "customer_id": "customers",
    },
    "payto": {"provider.provider_id": "providers"},
    "providers": {"summary.provider_id": "providers", "fallback_provider_id": "providers"},
    "subscriptions": {"payment_method_id": "payment_methods"},
    "transfers": {"provider_id": "providers", "charge_id": "charges"},
    "batches": {"rows.*.charge_id": "charges"},
    "payment_links": {"attempts.*": "charges"},
}
"""Fields that name a row of a table, by the table that they stand in."""

MONEY: Mapping[str, tuple[str, ...]] = {
    "charges": ("amount", "authorised", "refunded", "refunds.*.amount"),
    "subscriptions": ("amount",),
    "transfers": ("amount", "total"),
    "payment_links": ("amount",),
}
"""Amounts of the currency that their row names: none of them is negative or finer than that currency."""

CURRENCY: Mapping[str, str] = {**dict.fromkeys(MONEY, "currency"), "providers": "currency"}
"""Fields that hold the code of a currency."""

MOST = 10**11
"""More than anything is ever counted to, with room to go on counting."""

RANGES: Mapping[str, Mapping[str, tuple[int | Decimal, int | Decimal | None]]] = {
    "charges": {"estimated_cost": (0, None), "transfer.amount": (0, None)},
    "providers": {
        "latency.*": (0, LONGEST_LATENCY * 1_000),
        "costs.*.fixed": (0, MOST_COST),
        "costs.*.percent": (0, MOST_COST),
    },
    "tokens": {"uses": (0, MOST)},
    "payto": {"maximum_amount": (LEAST_MAXIMUM, MOST_MAXIMUM)},
    "subscriptions": {
        "frequency": (1, MOST_STEPS),
        "period": (0, MOST),
        "retries": (0, MOST),
        "awaited": (0, MOST),
        "paid": (0, None),
        "retry.maximum": (0, MOST_STEPS),
        "retry.frequency": (1, MOST_STEPS),
        "end_after.count": (0, MOST),
        "end_after.amount": (0, None),
    },
    "payment_links": {"limit": (1, MOST)},
    "batches": {
        "pace.last": (0, MOST),
        "pace.steps.*.after": (0, None),
        "results_fault.cut": (0, MOST),
    },
}
"""Numbers with bounds of their own; None has no upper one."""

WORDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "providers": {"environment": ENVIRONMENTS, "summary.type": tuple(CAPABILITIES)},
}
"""Texts that have to be one of some."""

COUNTED: Mapping[str, str] = {
    "charges": "charge",
    "customers": "customer",
    "payment_methods": "payment_method",
    "tokens": "token",
    "payto": "payto",
    "network_tokens": "network_token",
    "vault": "vault",
    "payment_links": "payment_link",
    "batches": "batch",
    "subscriptions": "subscription",
    "transfers": "transfer",
    "webhook_subscriptions": "webhook_subscription",
}
"""Tables whose ids are drawn from a counter: one that lags behind would give an id again."""

SUBJECTS: Mapping[Due, str | None] = {
    Due.VAULT_EXPIRY: "vault",
    Due.CCV_DELAY: "vault",
    Due.AUTHORISATION_LAPSE: "charges",
    Due.CHALLENGE_LAPSE: "charges",
    Due.SETTLEMENT: "charges",
    Due.BOUNCE: "charges",
    Due.TRANSFER_SETTLEMENT: "transfers",
    Due.SUBSCRIPTION_RENEWAL: "subscriptions",
    Due.TOKEN_EXPIRY: "tokens",
    Due.PAYTO: "payto",
    Due.LATER: None,
    Due.WEBHOOK: None,
    Due.WEBHOOK_HELD: None,
    Due.BATCH_PREPARED: "batches",
    Due.BATCH_STARTED: "batches",
    Due.BATCH_ROWS: "batches",
}
"""The table of the object that an entry of the schedule is about. That of a webhook may have been dropped since; that
of ``later`` is told by its detail."""

ID_NAMES: Mapping[str, str] = {
    "charges": "charge_id",
    "customers": "customer_id",
    "payment_methods": "payment_method_id",
    "tokens": "token_id",
    "payto": "payto_id",
    "network_tokens": "network_token_id",
    "vault": "vault_id",
    "providers": "provider_id",
    "payment_links": "payment_link_id",
    "webhook_subscriptions": "webhook_subscription_id",
    "subscriptions": "subscription_id",
    "batches": "batch_id",
    "transfers": "transfer_id",
}
"""The field that holds the id of a row."""
