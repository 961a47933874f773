"""How the sandbox behaves where the document does not say: what is required, refused, kept, sorted and tried again."""

from __future__ import annotations

from mockserver.assumptions.row import choice, row, whole

CURRENCY_ALLOWED = row(
    "currency.allowed",
    "currencies, in any letter case; else 400 code 29",
    choice("iso_4217"),
    "iso_4217",
    "not shown; client suites use ISO codes",
)
AMOUNT_DIGITS = row(
    "amount.digits",
    "an amount with more digits than its currency has: 400 code 2",
    choice("refuse"),
    "refuse",
    "not shown; rounding would lose money",
)
AMOUNT_LENGTH = row(
    "amount.length",
    "digits that an amount may have before the point; more: 400 code 2",
    choice("15"),
    "15",
    "not shown; more than a payment meets, and safe for exact arithmetic",
)
ORDER_QUANTITY = row(
    "order.quantity",
    "whether quantity of an order item may have digits after the point",
    choice("taken"),
    "taken",
    "service document: integer; published shop plugins send quantities with decimals",
)
CARD_LENGTH = row(
    "card.length",
    "digits of a card number, the last a right check digit (Luhn); else code 5",
    choice("12-19"),
    "12-19",
    "ISO/IEC 7812; a client suite: a wrong check digit is code 5",
)
BANK_REQUIRED = row(
    "bank_account.required",
    "which fields a bank account must have",
    choice("bankCode accountNumber accountName"),
    "bankCode accountNumber accountName",
    "client libraries send all three",
)
CARD_REQUIRED = row(
    "card.required",
    "which fields a card must have (without a card at all: code 81)",
    choice("number_and_expiry", "number"),
    "number_and_expiry",
    "client libraries charge without a ccv; a card has a date",
)
CARD_CCV = row(
    "card.ccv",
    "when a ccv is looked at: 3 or 4 digits, 4 for Amex, else code 6",
    choice("checked_when_given", "required"),
    "checked_when_given",
    "a client suite charges without a ccv and expects success",
)
CARD_EXPIRED = row(
    "card.expired",
    "a charge of a stored card or of a token whose card has expired by then: 400 code 14, or charged all the same",
    choice("refuse", "charge"),
    "refuse",
    "not shown; published code Expired Card, as for a card that is sent with the charge",
)
PENDING_TYPES = row(
    "charge.pending_types",
    "payments whose provider answers later when no scenario says otherwise",
    choice("bank_account_and_payto", "none"),
    "bank_account_and_payto",
    "a client suite: a charge of a bank account is PENDING",
)
CAPTURE_AMOUNT = row(
    "charge.capture_amount",
    "a capture without amount takes all, of less releases the rest; more: 77, not positive: 74",
    choice("whole_or_less"),
    "whole_or_less",
    "published codes",
)
REFUND_AMOUNT = row(
    "charge.refund_amount",
    "a refund without amount gives all that is left; more: 76, not positive: 74",
    choice("rest_or_less"),
    "rest_or_less",
    "client suites; published codes",
)
THREE_DS = row(
    "charge.three_ds",
    "a 3-D Secure result sent with the card marks the charge threeDsVerified (malformed id: 59)",
    choice("trusted", "ignored"),
    "trusted",
    "not shown",
)
SEARCH_CARD = row(
    "charge.search_card_number",
    "how CardNumber finds charges: no number is kept for it",
    choice("4_6_8_leading_digits_or_all"),
    "4_6_8_leading_digits_or_all",
    "a client suite searches by six digits",
)
FAILOVER = row(
    "failover",
    "whether a retryable failure moves on to a fallback; each failed try is a row of failedAttempts",
    choice("retryable_failures", "never"),
    "retryable_failures",
    "service document: failedAttempts, fallbackPaymentMethodId",
)
FAILOVER_METHOD = row(
    "failover.method",
    "whose payment method fallbackPaymentMethodId may name: the customer's own, or one of no customer; else code 56",
    choice("own_or_nobodys"),
    "own_or_nobodys",
    "not shown; nobody pays for another customer",
)
LEAST_COST = row(
    "least_cost",
    "provider of a charge that names none: of those that take card and currency",
    choice("cheapest_by_cost_data"),
    "cheapest_by_cost_data",
    "published path least_cost and costData",
)
PROVIDER_FOREIGN = row(
    "provider.other_currency",
    "who takes a payment that names no provider, in a currency that no provider has: any of them, or none (code 63)",
    choice("any", "none"),
    "any",
    "not shown; a charge that names its provider is taken in every currency",
)
PROVIDER_UNKNOWN = row(
    "provider.unknown",
    "code 39 of an unknown provider; 32, 71, 78 or 103 of one that lacks the feature",
    choice("published_codes"),
    "published_codes",
    "published codes",
)
VAULT_GONE = row("vault.gone", "an expired or deleted item", choice("not_found"), "not_found", "not shown")
VAULT_EXPIRIES = row(
    "vault.both_expiries",
    "both expiries: 82 or 85; one that is not to come: 83 or 86",
    choice("refused"),
    "refused",
    "service document, Errors, 3; published codes",
)
REMOVED = row(
    "removed.customer_or_method",
    "removed objects: dateRemoved set, email and phone deleted, out of searches unless IncludeRemoved",
    choice("readable"),
    "readable",
    "client suites read them after removal",
)
REMOVAL_TAKES_METHODS = row(
    "removed.customer_methods",
    "whether removing a customer removes the payment methods too",
    choice("yes", "no"),
    "yes",
    "service document, What the service does, 5: a customer owns payment methods",
)
DEFAULT_REMOVED = row(
    "removed.default_method",
    "default payment method of a customer whose default was removed (without one: code 64)",
    choice("none", "newest"),
    "none",
    "not shown; code 64 is published",
)
REMOVED_IN_LIST = row(
    "removed.in_customer_list",
    "whether the list of a customer's payment methods shows those that were removed",
    choice("hidden", "shown"),
    "hidden",
    "not shown; published plugins offer every listed card to the payer",
)
VERIFY = row(
    "verify",
    "verify true asks the provider as a payment does; when it refuses (400), nothing is stored",
    choice("asks_provider"),
    "asks_provider",
    "not shown; a flag of the document",
)
GATEWAY_DELETE = row(
    "gateway_delete",
    "GatewayDelete true asks the provider too; when it refuses, nothing is removed",
    choice("asks_provider"),
    "asks_provider",
    "not shown",
)
CUSTOMER_SEARCH = row(
    "customer.search",
    "where Search looks: reference, names, email, phone, in any letter case",
    choice("anywhere"),
    "anywhere",
    "not shown",
)
METHOD_SEARCH = row(
    "payment_method.search",
    "where Search looks: id, email, cardholder, masked number, account, and the customer's names, email and phone",
    choice("anywhere"),
    "anywhere",
    "not shown",
)
PAGE_ORDER = row(
    "paging.order",
    "order of a list that names no field",
    choice("newest_first", "oldest_first"),
    "newest_first",
    "client suites expect a new object on the first page",
)
SEARCH_BOUNDS = row(
    "search.bounds",
    "whether AddedAfter, AddedBefore, AmountGreaterThan and AmountLessThan hold for the bound itself",
    choice("exclusive", "inclusive"),
    "exclusive",
    "the words of the names",
)
SORT_UNKNOWN = row(
    "sort",
    "SortBy or SortOrder that the list does not know",
    choice("refuse", "ignore"),
    "refuse",
    "not shown; a silent default hides a mistake",
)
KEYS = row(
    "keys",
    "secret keys that open a sandbox: all but those that look live or begin with invalid; --keys closes the list",
    choice("any"),
    "any",
    "not shown; 401 code 40 is published",
)
KEYS_BOTH = row(
    "keys.both",
    "what counts of both keys where a public key will do: the public key alone, or else the last secret key too",
    choice("public_key", "either"),
    "public_key",
    "a published plugin checks a public key beside two secret keys, and takes an answer for a sign that it is right",
)
PUBLIC_KEY = row(
    "public_key", "public key of a secret key: pk_X of sk_X, else derived", choice("paired"), "paired", "not shown"
)
RATE_LIMIT = row(
    "rate_limit",
    "requests in a time; a scenario can script 429 with Retry-After and code 35, and --rate-limit sets a limit",
    choice("none"),
    "none",
    "service document, Limits: not shown",
)
IDEMPOTENCY = row(
    "idempotency",
    "what two equal requests make",
    choice("two_objects"),
    "two_objects",
    "none is documented, none is added",
)
BATCH_FAULTY = row(
    "batch.count_mismatch",
    "a count that is not that of the rows, or bad CSV: 400 code 102, naming the line",
    choice("refused"),
    "refused",
    "not shown; published code: Invalid Batch Data",
)
BATCH_MAXIMUM = row(
    "batch.maximum",
    "most transactions of a batch: 400 code 102 beyond",
    whole(1, 1_000_000),
    200_000,
    "service document, Limits: not shown; 10 MB hold about as many",
)
BATCH_UNKNOWN_METHOD = row(
    "batch.unknown_method",
    "a row whose payment method is unknown",
    choice("row_fails"),
    "row_fails",
    "client suites hand in such a row and expect the batch to be taken",
)
BATCH_THREE_DS = row(
    "batch.three_ds",
    "a row whose payment asks for 3-D Secure, and no payer is there: it fails (code 113), or is charged without",
    choice("row_fails", "charged"),
    "row_fails",
    "service document: a row ends SUCCESS or FAILED, and tells its transaction only then; published code 113",
)
BATCH_RETURNED = row(
    "batch.returned_row",
    "a row whose payment was pending and is returned later: it fails, and the counts with it, or stays SUCCESS",
    choice("row_fails", "stays"),
    "row_fails",
    "not shown; service document: a row's Status and the counts tell what became of its transaction",
)
BATCH_FAILURE_REASON = row(
    "batch.failure_reason",
    "FailureReason of a row: the message of the error, and its details in brackets",
    choice("message_and_details"),
    "message_and_details",
    "not shown; client suites do not look at it",
)
NETWORK_TOKEN_MISSING = row(
    "network_token.missing",
    "a network-token charge that names no network token: 400 code 90",
    choice("refused"),
    "refused",
    "service document: networkTokenId may be null; what would be charged is not shown",
)
SETTLEMENT_DAY = row(
    "settlement.day",
    "when the charges and refunds of a day (UTC) are settled",
    choice("next_midnight"),
    "next_midnight",
    "not shown by any source",
)
