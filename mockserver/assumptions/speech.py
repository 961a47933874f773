"""How the sandbox speaks: letter case, numbers, masks, words, errors, and the paths that the document does not show."""

from __future__ import annotations

from mockserver.assumptions.row import choice, row, whole

LETTER_CASE = row(
    "request.letter_case",
    "spelling of the keys of bodies and queries",
    choice("any"),
    "any",
    "service document, Conventions: both spellings in its examples; client libraries send both",
)
JSON_DEPTH = row(
    "request.json_depth",
    "objects and arrays inside one another that a body may have; deeper: 400 code 90",
    whole(8, 200),
    64,
    "not shown; no documented body is deeper than five",
)
UNKNOWN_FIELDS = row(
    "request.unknown_fields",
    "what becomes of fields that no operation knows (--strict always refuses them, code 90)",
    choice("ignore", "refuse"),
    "ignore",
    "client libraries send fields that the document does not list",
)
NUMBERS_IN = row(
    "request.numbers",
    "how numbers are taken",
    choice("numbers_and_numeric_texts"),
    "numbers_and_numeric_texts",
    "service document, Conventions: examples send amounts as texts",
)
DECIMAL_COMMA = row(
    "request.decimal_comma",
    "numeric texts with a comma before the fraction, such as 1,5: 400 code 90, or read as 1.5",
    choice("refuse", "read"),
    "refuse",
    "not shown; one client library writes amount filters in the culture of its machine",
)
DATES_IN = row(
    "request.dates",
    "forms of date-times that are taken; without a zone: UTC",
    choice("iso_epoch_ms_and_client_forms"),
    "iso_epoch_ms_and_client_forms",
    "published client libraries send four forms",
)
REPLY_CASE = row(
    "response.letter_case",
    "spelling of the keys of answers",
    choice("camelCase"),
    "camelCase",
    "service document: schema field names; client libraries parse these",
)
REPLY_NULLS = row(
    "response.nulls",
    "what stands for an unknown value",
    choice("explicit"),
    "explicit",
    "a client suite fails on a missing key",
)
REPLY_NUMBERS = row(
    "response.numbers",
    "how integral numbers are written",
    choice("without_fraction"),
    "without_fraction",
    "client libraries compare 5 with 5 exactly",
)
REPLY_DATES = row(
    "response.dates",
    "how date-times are written: ISO 8601, UTC, Z",
    choice("seven_fraction_digits"),
    "seven_fraction_digits",
    "published samples",
)
CARD_MASKING = row(
    "card.masking",
    "which digits of a card number are shown",
    choice("first4_last4", "first6_last4", "last4"),
    "first4_last4",
    "published samples: 4111********1111",
)
BANK_MASKING = row(
    "bank_account.masking",
    "which digits of a bank account number are shown",
    choice("none", "last4"),
    "none",
    "service document: data is returned in the form it is stored",
)
INSTALLMENTS_NAME = row(
    "charge.installments_name",
    "wire name of the installments object, null unless a scenario gives one",
    choice("visaInstallments"),
    "visaInstallments",
    "service document: a card network followed by Installments; client libraries: visaInstallments",
)
STATUS_WORDS = row(
    "charge.status",
    "other states: SUCCESS PARTIAL_REFUND REFUND AUTHORISE_CANCELLED PENDING FAILED PENDING_CHECKOUT",
    choice("published"),
    "published",
    "published status values of the client libraries",
)
STATUS_FILTER = row(
    "charge.status_filter",
    "spellings of Status that the search takes, in any letter case",
    choice("both"),
    "both",
    "the document says Authorised, client libraries AUTHORISE",
)
CUSTOMER_SUMMARY = row(
    "charge.customer_summary",
    "whether names, email and phone sent with a charge are shown in customer without a stored customer",
    choice("shown", "stored_customers_only"),
    "shown",
    "not shown",
)
METHOD_TYPES = row(
    "payment_method.types",
    "type of payment methods besides the wallet",
    choice("CARD BANK_ACCOUNT PAYTO NETWORK_TOKEN"),
    "CARD BANK_ACCOUNT PAYTO NETWORK_TOKEN",
    "published: CARD, PAYTO; the others are ours",
)
WALLET_WORD = row(
    "payment_method.wallet_type",
    "type of a wallet payment",
    choice("WALLET", "APPLEPAY"),
    "WALLET",
    "published plugins: APPLEPAY",
    sdk="APPLEPAY",
)
CHECKOUT_WORD = row(
    "payment_method.checkout_type",
    "type of a payment that says through which wallet or checkout it comes; by_kind: PAYPAL, GOOGLEPAY, PAYID, ZIP ...",
    choice("by_kind", "wallet_type"),
    "by_kind",
    "published plugins tell PAYPAL, PAYID, GOOGLEPAY, SHIFT, UPI, PAYBYACCOUNT apart; service document, Limits: zip",
)
DISPLAY_TYPE = row(
    "payment_method.display_type",
    "displayType of a payment: brand of the card, name of the bank (made up), wallet or checkout",
    choice("brand_or_bank"),
    "brand_or_bank",
    "not shown",
)
VAULT_RECORD = row(
    "vault.record",
    "fields of a vault item: vaultId, createdDate, expireDate, maskedCardNumber, hasCvv",
    choice("published"),
    "published",
    "published client models",
)
VAULT_SECRETS = row(
    "vault.get_shows",
    "what GET of a vault item adds",
    choice("number_and_ccv", "nothing"),
    "number_and_ccv",
    "published client models: with PCI data",
)
NETWORK_TOKEN_DATE = row(
    "network_token.date_added",
    "dateAdded of a network token",
    choice("shown", "null"),
    "shown",
    "one client library cannot read a value",
    sdk="null",
)
ERROR_BODY = row(
    "error.body",
    "fields of an error: message, code, isRetryable, type, resource, details, gatewayCode, gatewayMessage, httpStatus",
    choice("published"),
    "published",
    "published client models",
)
ERROR_VALIDATION = row(
    "error.validation",
    "how faulty fields are told: 400, code 90 or the one code that fits, details by PascalCase field",
    choice("all_at_once"),
    "all_at_once",
    "published documentation: Validation Error",
)
ERROR_ROUTE = row(
    "error.unknown_route",
    "unknown path and wrong verb",
    choice("404_and_405_with_allow"),
    "404_and_405_with_allow",
    "published documentation: 404 for a wrong URL; plain HTTP for 405",
)
ERROR_SIZE = row(
    "error.too_large",
    "a body over the limit (--max-body, 10 MB)",
    choice("413"),
    "413",
    "published documentation: below 10 MB; plain HTTP",
)
SECOND_METHODS_PATH = row(
    "customer.methods_second_path",
    "path of the second of two identical list operations",
    choice("/customer/<id>/payment_methods"),
    "/customer/<id>/payment_methods",
    "not shown; client libraries know the first only",
)
BANK_ALIAS = row(
    "customer.bank_alias",
    "second path of adding a bank account to a customer",
    choice("/customer/<id>/payment_method/bank_account"),
    "/customer/<id>/payment_method/bank_account",
    "the other kinds of method have this form",
)
LINK_URL = row(
    "link.url",
    "address of the hosted page of a payment link",
    choice("<public url>/pay/<paymentLinkId>"),
    "<public url>/pay/<paymentLinkId>",
    "not shown",
)
PAYTO_WORDS = row(
    "payto.status",
    "status of a PayTo agreement: PENDING, then ACTIVE; a charge while PENDING is code 33, over the maximum code 24",
    choice("PENDING ACTIVE"),
    "PENDING ACTIVE",
    "not shown; published codes",
)
NETWORK_TOKEN_WORD = row(
    "network_token.status", "status of a network token", choice("ACTIVE"), "ACTIVE", "not shown; a free text"
)
WEBHOOK_HEADERS = row(
    "webhook.headers",
    "X-Payfurl-Signature (base64 HMAC-SHA256 of the raw body), X-Payfurl-Version, Authorization as given",
    choice("published"),
    "published",
    "published documentation and client vectors",
)
WEBHOOK_EVENTS = row(
    "webhook.events",
    "kinds: transaction batch subscription customer paymentMethod; forms follow transaction.status.changed",
    choice("published"),
    "published",
    "published fixtures and types of webhook subscriptions",
)
TOKEN_WORDS = row(
    "token.status",
    "what Status of the token search can be, in any letter case",
    choice("ACTIVE USED EXPIRED"),
    "ACTIVE USED EXPIRED",
    "not shown by any source",
)
TRANSFER_WORDS = row(
    "transfer.status",
    "status of a transfer",
    choice("PENDING SUCCESS"),
    "PENDING SUCCESS",
    "not shown by any source; a free text",
)
