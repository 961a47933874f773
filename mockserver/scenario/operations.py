"""Every operation that a rule can name, in one table; the routes and the engine use the same names.

``asks_provider`` tells whether a provider is asked to act in it, and so whether provider-level outcomes (approve,
decline, latency ...) can strike there. Source: service document, Endpoints; published facts, 1.1.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from mockserver.scenario import foreign_words
from mockserver.scenario.foreign_words import hint

_LONGEST_GLOB = 60


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: its name, what a person would call it, and whether a provider takes part."""

    name: str
    meaning: str
    asks_provider: bool = False


_ROWS = (
    Operation("charge.create", "take or authorise a payment, from any source", asks_provider=True),
    Operation("charge.challenge", "the payer answers a 3-D Secure challenge", asks_provider=True),
    Operation("charge.capture", "complete an authorised charge", asks_provider=True),
    Operation("charge.void", "cancel an authorised charge", asks_provider=True),
    Operation("charge.refund", "give money back", asks_provider=True),
    Operation("charge.get", "read one charge"),
    Operation("charge.search", "list charges"),
    Operation("vault.create", "vault a card number"),
    Operation("vault.get", "read a vault item"),
    Operation("vault.delete", "delete a vault item"),
    Operation("customer.create", "create a customer with a payment method", asks_provider=True),
    Operation("customer.get", "read a customer"),
    Operation("customer.search", "list customers"),
    Operation("customer.update", "change a customer"),
    Operation("customer.delete", "remove a customer", asks_provider=True),
    Operation("customer.payment_methods", "list the payment methods of a customer"),
    Operation("payment_method.create", "store a payment method, alone or on a customer", asks_provider=True),
    Operation("payment_method.get", "read a payment method"),
    Operation("payment_method.search", "list payment methods"),
    Operation("payment_method.update", "change the card of a payment method"),
    Operation("payment_method.delete", "remove a payment method", asks_provider=True),
    Operation("token.create", "make a payment token", asks_provider=True),
    Operation("token.challenge", "the payer answers a 3-D Secure challenge before a token is used"),
    Operation("token.get", "read a payment token"),
    Operation("token.search", "list payment tokens"),
    Operation("batch.create", "hand in a batch of transactions"),
    Operation("batch.status", "read the progress of a batch"),
    Operation("batch.get", "read a batch with its results"),
    Operation("batch.search", "list batches"),
    Operation("batch.row", "one row of a batch: a charge.create by second name", asks_provider=True),
    Operation("payment_link.create", "create a payment link"),
    Operation("payment_link.get", "read a payment link"),
    Operation("payment_link.search", "list payment links"),
    Operation("payment_link.pay", "a payment on the hosted page: a charge.create by second name", asks_provider=True),
    Operation("subscription.create", "create a subscription"),
    Operation("subscription.get", "read a subscription"),
    Operation("subscription.search", "list subscriptions"),
    Operation("subscription.update", "change a subscription"),
    Operation("subscription.status", "suspend, resume or complete a subscription"),
    Operation("subscription.cancel", "cancel a subscription"),
    Operation("subscription.renew", "one due payment: a charge.create by second name", asks_provider=True),
    Operation("provider.create", "configure a provider"),
    Operation("provider.update", "change a provider"),
    Operation("provider.delete", "remove a provider"),
    Operation("webhook.deliver", "one delivery of a webhook to its receiver"),
    Operation("webhook_subscription.create", "subscribe to webhooks"),
    Operation("webhook_subscription.get", "read a webhook subscription"),
    Operation("webhook_subscription.search", "list webhook subscriptions"),
    Operation("webhook_subscription.delete", "end a webhook subscription"),
    Operation("transfer.create", "move money between accounts"),
    Operation("transfer.get", "read a transfer"),
    Operation("transfer.search", "list transfers"),
    Operation("settlement.search", "list settlements"),
    Operation("info.get", "read what the account can do"),
)

OPERATIONS: Mapping[str, Operation] = {row.name: row for row in _ROWS}
"""Every operation by its name."""

SOURCES = (
    "card",
    "token",
    "customer",
    "payment_method",
    "bank_account",
    "network_token",
    "wallet",
    "checkout",
    "payment_link",
    "batch",
    "subscription",
)
"""Where the money of a charge can come from (service document, What the service does, 3; scenario key ``source``)."""

ALL_OPERATIONS = frozenset(OPERATIONS)
PROVIDER_OPERATIONS = frozenset(row.name for row in _ROWS if row.asks_provider)
CONNECTION = "connection"
"""What rules for ``at: connect`` are asked about: a connection, which is no operation."""

READS = frozenset(
    {"batch.status", "customer.payment_methods", *(name for name in OPERATIONS if name.endswith((".get", ".search")))}
)
"""Operations that change nothing."""

BODIES = frozenset(
    {"charge.capture", "subscription.status", *(name for name in OPERATIONS if name.endswith((".create", ".update")))}
)
"""Operations whose requests have a body."""

PAGES = frozenset({"charge.challenge", "token.challenge", "payment_link.pay"})
"""Operations that are answered by a page, which has no members."""

UNREQUESTED = frozenset({"batch.row", "subscription.renew", "webhook.deliver"})
"""What happens without a request of its own: there are no headers, and no answer that could be spoilt."""


ABOUT_ONE = frozenset(
    {
        *("charge.get", "charge.capture", "charge.void", "charge.refund", "vault.get", "vault.delete"),
        *("customer.get", "customer.update", "customer.delete", "customer.payment_methods"),
        *("payment_method.get", "payment_method.update", "payment_method.delete", "token.get"),
        *("batch.status", "batch.get", "payment_link.get", "subscription.get", "subscription.update"),
        *("subscription.status", "subscription.cancel", "provider.update", "provider.delete"),
        *("webhook_subscription.get", "webhook_subscription.delete", "transfer.get", "webhook.deliver"),
    }
)
"""Operations that are about one object, which a path names or a webhook tells of: calls are counted by it."""


def operations_like(pattern: str, known: Collection[str] = ALL_OPERATIONS) -> frozenset[str]:
    """The operations, of some that are known, that a name or a glob (``charge.*``) means. Raises ``ValueError`` when it
    means none."""
    if pattern in known:
        return frozenset((pattern,))
    found = frozenset(name for name in known if len(pattern) <= _LONGEST_GLOB and fnmatchcase(name, pattern))
    if not found:
        meant = hint(pattern[:_LONGEST_GLOB], foreign_words.OPERATIONS, sorted(known))
        raise ValueError(f"got '{pattern[:_LONGEST_GLOB]}', wanted the name of an operation or a glob{meant}")
    return found
