"""Paths that ``when`` and ``key`` may name, and how each is read from an attempt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mockserver.domain.cards import TEST_CARDS, Brand
from mockserver.domain.errors import nearest
from mockserver.scenario.attempt import Attempt
from mockserver.scenario.matching import Reader

_SECRET = frozenset({"cardnumber", "ccv", "cvv", "paymentdata"})
_FIELD_TEXT = """
accountId accountName additionalParameters address addedAfter addedBefore agreement allowedPaymentTypes amount
amountGreaterThan amountLessThan authenticationParameters bankPaymentInformation batch batchId callToAction capture
card cardHolder cardType checkoutTransfer city comment confirmationMessage count country currency customerCode
customerId cardholder createNetworkToken defaultPaymentMethodId description descriptor email endAfter expireDate
expireSeconds expiryDate fallbackPaymentMethodId fallbackProviderId firstName frequency gatewayDelete geolocation
groupReference image includeRemoved initiator interval invoiceId invoiceNumber ip lastName limit limitPayments
maximumAmount metadata name networkTokenId order payToAgreement payerName payerPayIdDetails paymentInformation
paymentMethodId paymentType phone providerCountry providerId providerToken providerTokenData providerType recurring
redirectUrl reference retry search setDefault skip skipExpiryDateValidation sortBy sortOrder startDate status
subscriptionId threeDSEmail threeDSNotificationUrl title token transfer transfers type types url userAgent vaultCard
vaultExpireDate vaultExpireSeconds verify webhook
"""
_FIELDS = frozenset(_FIELD_TEXT.split())
"""Fields of request bodies and queries: only to find a misspelt one (service document, Endpoints; published facts,
1.2).
"""

CARD_FACTS: Mapping[str, str] = {
    "brand": "a card scheme: " + ", ".join(brand.value for brand in Brand),
    "bin": "up to 6 leading digits",
    "last4": "the last four digits",
    "test": "the name of a published test card: " + ", ".join(TEST_CARDS),
}
"""What may be asked of a card, and what is allowed there. A full number never."""

_PLAIN = (
    "op",
    "source",
    "provider",
    "attempt",
    *(f"card.{fact}" for fact in CARD_FACTS),
    "bank_account.accountNumber",
    "batch.row",
)


def reader(path: str) -> Reader:
    """How a path is read. Raises ``ValueError`` with what is allowed: an unknown, misspelt or secret path."""
    group, dot, rest = path.partition(".")
    match group:
        case "request" if dot:
            return _request_reader(path, rest)
        case "header" if rest:
            name = rest.lower()
            if name in {"x-secretkey", "x-publickey", "authorization"}:
                raise ValueError(f"header '{rest}' is a secret and cannot be tested or counted by")
            return lambda attempt: attempt.headers.get(name)
        case "state" if rest:
            _refuse_secret(path, rest.rsplit(".", 1)[-1])
            return lambda attempt: attempt.state(rest)
        case _:
            pass
    match path:
        case "op":
            return lambda attempt: attempt.op
        case "source":
            return lambda attempt: attempt.source
        case "provider":
            return lambda attempt: attempt.provider
        case "attempt":
            return lambda attempt: attempt.attempt
        case "card.brand":
            return lambda attempt: attempt.card.brand.value if attempt.card else None
        case "card.bin":
            return lambda attempt: attempt.card.iin if attempt.card else None
        case "card.last4":
            return lambda attempt: attempt.card.last4 if attempt.card else None
        case "card.test":
            return lambda attempt: attempt.card.test_name if attempt.card else None
        case "bank_account.accountNumber":
            return lambda attempt: attempt.bank_account
        case "batch.row":
            return lambda attempt: attempt.row
        case _:
            known = ["request.", "header.", "state.", *_PLAIN]
            raise ValueError(
                f"got '{path[:60]}', wanted request.<path>, header.<name>, state.<path>, {', '.join(_PLAIN[:4])} or "
                f"card.<{'|'.join(CARD_FACTS)}>{nearest(path, known)}"
            )


def _request_reader(path: str, rest: str) -> Reader:
    parts = rest.split(".")
    if not all(parts) or len(parts) > 12:
        raise ValueError(f"got '{path[:60]}', wanted names joined by single dots, such as request.metadata.tier")
    first = parts[0]
    _refuse_secret(path, "ccv" if rest.lower() == "paymentinformation" else parts[-1])
    if first not in _FIELDS:
        likely = nearest(first, _FIELDS)
        if likely and (first[:1].isupper() or first.lower() in {field.lower() for field in _FIELDS} or _near(first)):
            raise ValueError(f"got '{path[:60]}', which is no field of a request (names are camelCase){likely}")
    if first == "metadata" and len(parts) == 2:
        return _metadata_reader(parts[1])
    if len(parts) == 1:
        return lambda attempt: attempt.request.get(first)
    return lambda attempt: _walk(attempt.request, parts)


def _refuse_secret(path: str, name: str) -> None:
    if name.lower() in _SECRET:
        raise ValueError(
            f"got '{path[:60]}': a card number or ccv cannot be tested or counted by; "
            "use card.test, card.bin or card.last4"
        )


def _near(word: str) -> bool:
    from difflib import get_close_matches

    return bool(get_close_matches(word, _FIELDS, n=1, cutoff=0.85))


def _metadata_reader(name: str) -> Reader:
    """Metadata keys match in any letter case: a client library is known to change it (published facts, 1.2)."""
    folded = name.lower()

    def read(attempt: Attempt) -> object:
        metadata = attempt.request.get("metadata")
        if not metadata or not isinstance(metadata, Mapping):
            return None
        found = metadata.get(name)
        if found is not None:
            return found
        return next((value for key, value in metadata.items() if key.lower() == folded), None)

    return read


def _walk(value: object, parts: Sequence[str]) -> object:
    for part in parts:
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, (list, tuple)) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value
