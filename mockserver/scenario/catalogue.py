"""The catalogue of outcomes: one name for everything a provider can say, with the codes that say it.

Rows above the issuer family are test values under the names that payment developers know; the family holds every
issuer code of published facts, 3.1 that means a refusal (908, 910, 911, 916 and 932 are approvals of a kind), named
as published. Their ``gateway_code`` is the two-digit response code of ISO 8583, ``error_code`` 900 + that code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mockserver.domain.codes import Code
from mockserver.scenario import foreign_words
from mockserver.scenario.foreign_words import hint
from mockserver.scenario.provider_outcome import Approve, Challenge, Decline, Pending, ProviderOutcome, Settlement


@dataclass(frozen=True, slots=True)
class DeclineRow:
    """One named outcome. ``meaning`` is what the code tells, in plain words; codes are None where
    nothing is refused.
    """

    name: str
    meaning: str
    provider: ProviderOutcome
    error_code: int | None = None
    error_message: str | None = None
    gateway_code: str | None = None
    gateway_message: str | None = None
    is_retryable: bool | None = None


def _words(code: Code) -> str:
    short = code.name.removeprefix("ISSUER_")
    name = short if short in Code.__members__ else code.name
    return name.replace("_", " ").capitalize().replace("honor", "honour")


def _declined(
    name: str, code: Code, gateway: str | None, meaning: str, *, retry: bool, says: str | None = None
) -> DeclineRow:
    said = says or _words(code)
    decline = Decline(name, int(code), code.message, gateway, said if gateway else None, retry)
    return DeclineRow(name, meaning, decline, int(code), code.message, gateway, decline.gateway_message, retry)


_FAMILIAR = (
    DeclineRow("approved", "the provider takes the payment", Approve()),
    DeclineRow("pending", "the provider answers later, and the payment settles", Pending()),
    DeclineRow("pending_failed", "the provider answers later, and the payment bounces", Pending(Settlement.FAILED)),
    DeclineRow(
        "three_ds_challenge",
        "the payer must pass 3-D Secure first",
        Challenge(),
        error_code=int(Code.REQUIRE_THREE_D_SECURE),
        error_message=Code.REQUIRE_THREE_D_SECURE.message,
    ),
    _declined(
        "insufficient_funds",
        Code.INSUFFICIENT_FUNDS,
        "51",
        "not enough money on the account today",
        retry=True,
        says="Insufficient funds",
    ),
    _declined(
        "lost_card", Code.LOST_CARD_PICK_UP, "41", "the card was reported lost", retry=False, says="Lost card, pick up"
    ),
    _declined(
        "stolen_card",
        Code.STOLEN_CARD_PICK_UP,
        "43",
        "the card was reported stolen",
        retry=False,
        says="Stolen card, pick up",
    ),
    _declined("expired_card", Code.EXPIRED_CARD, "54", "the card is past its expiry", retry=False, says="Expired card"),
    _declined(
        "wrong_ccv",
        Code.INVALID_CCV,
        "N7",
        "the card verification value is not the card's",
        retry=False,
        says="CVV2 value supplied is invalid",
    ),
    _declined(
        "processing_error",
        Code.PROVIDER_SERVICE_ERROR,
        "96",
        "something broke at the issuer or on the way to it",
        retry=True,
        says="System malfunction",
    ),
    _declined(
        "over_frequency_limit",
        Code.EXCEEDS_WITHDRAWAL_FREQUENCY_LIMIT,
        "65",
        "the card was used too often in its period",
        retry=True,
    ),
    _declined(
        "blocked_by_fraud_rules",
        Code.BLOCKED_BY_FRAUD_RULES,
        "59",
        "the merchant's or provider's own fraud rules said no",
        retry=False,
        says="Suspected fraud",
    ),
    _declined(
        "provider_down",
        Code.PROVIDER_SERVICE_ERROR,
        "91",
        "the provider cannot be reached: nothing has happened",
        retry=True,
        says="Issuer or switch is inoperative",
    ),
    _declined(
        "provider_timeout",
        Code.GATEWAY_TIMEOUT,
        "68",
        "the provider did not answer in time",
        retry=True,
        says="Response received too late",
    ),
    _declined("provider_rate_limited", Code.RATE_LIMITING_APPLIED, None, "the provider wants fewer calls", retry=True),
    _declined("retry_later", Code.RETRY_LATER, None, "the provider wants the same call again later", retry=True),
    _declined("card_blocked", Code.CARD_BLOCKED, "62", "the card was blocked", retry=False),
    _declined("invalid_account", Code.ACCOUNT_ERROR, "14", "no such account", retry=False, says="No such account"),
    _declined(
        "account_closed",
        Code.ACCOUNT_IS_LOCKED_OR_CLOSED,
        "46",
        "the account was closed or locked",
        retry=False,
        says="Closed account",
    ),
    _declined("account_restricted", Code.ACCOUNT_RESTRICTED, None, "the account may not pay", retry=False),
    _declined("three_ds_failed", Code.THREE_D_SECURE_FAILED, None, "the payer failed 3-D Secure", retry=False),
    _declined("payto_not_active", Code.PAYTO_AGREEMENT_IS_NOT_ACTIVE, None, "not agreed to yet", retry=False),
    _declined(
        "payto_above_maximum",
        Code.AMOUNT_EXCEEDS_MAX_AMOUNT_FOR_PAYTO_AGREEMENT,
        None,
        "more than the payer agreed to",
        retry=False,
    ),
    _declined("amount_too_large", Code.AMOUNT_TOO_LARGE, None, "more than is taken at once", retry=False),
    _declined("currency_not_supported", Code.CURRENCY_NOT_SUPPORTED, None, "the currency is not taken", retry=False),
    _declined(
        "location_not_supported",
        Code.LOCATION_NOT_SUPPORTED,
        None,
        "the place is not served",
        retry=False,
    ),
    _declined("duplicate_transaction", Code.DUPLICATE_TRANSACTION, "94", "seen a moment ago already", retry=False),
)

# Response code of ISO 8583, whether the same call may go through later, and what the code tells.
_ISSUER_CODES: tuple[tuple[Code, bool, str], ...] = (
    (Code.REFER_TO_CARD_ISSUER, False, "the issuer wants to be called before it decides"),
    (Code.REFER_TO_CARD_ISSUER_SPECIAL_CONDITIONS, False, "the issuer wants to be called: special conditions apply"),
    (Code.INVALID_MERCHANT, False, "the merchant is unknown or may not take this payment"),
    (Code.PICK_UP_CARD, False, "keep the card; no fraud is claimed"),
    (Code.DO_NOT_HONOR, False, "the issuer says no and gives no reason"),
    (Code.ERROR, True, "an error that is not described further"),
    (Code.PICK_UP_CARD_SPECIAL_CONDITION, False, "keep the card: special conditions, often fraud"),
    (Code.REQUEST_IN_PROGRESS, True, "an earlier request is still being worked on"),
    (Code.INVALID_TRANSACTION, False, "this kind of transaction cannot be made with this card"),
    (Code.ISSUER_INVALID_AMOUNT, False, "the issuer cannot take the amount as it is"),
    (Code.INVALID_CARD_NUMBER_NO_SUCH_NUMBER, False, "the issuer knows no such card"),
    (Code.NO_SUCH_ISSUER, False, "no issuer has these leading digits"),
    (Code.CUSTOMER_CANCELLATION, False, "the cardholder cancelled"),
    (Code.CUSTOMER_DISPUTE, False, "the cardholder disputes the payment"),
    (Code.RE_ENTER_TRANSACTION, True, "send the transaction once more"),
    (Code.INVALID_RESPONSE, True, "the answer from the other side makes no sense"),
    (Code.NO_ACTION_TAKEN, False, "nothing was done, for instance nothing found to undo"),
    (Code.SUSPECTED_MALFUNCTION, True, "something seems broken on the way"),
    (Code.UNACCEPTABLE_TRANSACTION_FEE, False, "the fee asked for is not accepted"),
    (Code.FILE_UPDATE_NOT_SUPPORTED_BY_RECEIVER, False, "the receiver cannot update its file"),
    (Code.UNABLE_TO_LOCATE_RECORD_ON_FILE, False, "the record that is meant was not found"),
    (Code.DUPLICATE_FILE_UPDATE_RECORD_OLD_RECORD_REPLACED, False, "the record was there already and was replaced"),
    (Code.FILE_UPDATE_FIELD_EDIT_ERROR, False, "a field of the update is wrong"),
    (Code.FILE_UPDATE_FILE_LOCKED_OUT, True, "the file is locked for the moment"),
    (Code.FILE_UPDATE_NOT_SUCCESSFUL_CONTACT_ACQUIRER, False, "the update failed; the acquirer knows more"),
    (Code.FORMAT_ERROR, False, "the message is badly formed"),
    (Code.BANK_NOT_SUPPORTED_BY_SWITCH, False, "the network has no way to this bank"),
    (Code.EXPIRED_CARD_PICK_UP, False, "the card is past its expiry; keep it"),
    (Code.SUSPECTED_FRAUD_PICK_UP, False, "fraud is suspected; keep the card"),
    (Code.CARD_ACCEPTOR_CONTACT_ACQUIRER_PICK_UP, False, "call the acquirer; keep the card"),
    (Code.RESTRICTED_CARD_PICK_UP, False, "the card is restricted; keep it"),
    (Code.CARD_ACCEPTOR_CALL_ACQUIRER_SECURITY_PICK_UP, False, "call the acquirer's security; keep the card"),
    (Code.ALLOWABLE_PIN_TRIES_EXCEEDED, False, "too many wrong PINs; keep the card"),
    (Code.NO_CREDIT_ACCOUNT, False, "the card has no credit account"),
    (Code.REQUESTED_FUNCTION_NOT_SUPPORTED, False, "the issuer does not offer this function"),
    (Code.LOST_CARD_PICK_UP, False, "the card was reported lost"),
    (Code.NO_UNIVERSAL_ACCOUNT, False, "the card has no universal account"),
    (Code.STOLEN_CARD_PICK_UP, False, "the card was reported stolen"),
    (Code.NO_INVESTMENT_ACCOUNT, False, "the card has no investment account"),
    (Code.ISSUER_INSUFFICIENT_FUNDS, True, "not enough money on the account today, in the issuer's own code"),
    (Code.NO_CHECKING_ACCOUNT, False, "the card has no cheque account"),
    (Code.NO_SAVINGS_ACCOUNT, False, "the card has no savings account"),
    (Code.ISSUER_EXPIRED_CARD, False, "the card is past its expiry, in the issuer's own code"),
    (Code.INCORRECT_PERSONAL_IDENTIFICATION_NUMBER, False, "the PIN is wrong"),
    (Code.NO_CARD_RECORD, False, "the issuer has no record of the card"),
    (Code.TRANSACTION_NOT_PERMITTED_TO_CARDHOLDER, False, "the cardholder may not make this kind of payment"),
    (Code.TRANSACTION_NOT_PERMITTED_TO_TERMINAL, False, "the merchant's terminal may not make this kind of payment"),
    (Code.SUSPECTED_FRAUD, False, "the issuer suspects fraud"),
    (Code.CARD_ACCEPTOR_CONTACT_ACQUIRER, False, "the merchant shall call its acquirer"),
    (Code.EXCEEDS_WITHDRAWAL_AMOUNT_LIMIT, True, "over the card's limit of money for the period"),
    (Code.RESTRICTED_CARD, False, "the card may not be used here, for instance in this country"),
    (Code.SECURITY_VIOLATION, False, "a security rule was broken"),
    (Code.ORIGINAL_AMOUNT_INCORRECT, False, "the amount differs from the first message's"),
    (Code.EXCEEDS_WITHDRAWAL_FREQUENCY_LIMIT, True, "over the card's number of uses for the period"),
    (Code.CARD_ACCEPTOR_CALL_ACQUIRERS_SECURITY_DEPARTMENT, False, "the merchant shall call its acquirer's security"),
    (Code.HARD_CAPTURE_REQUIRES_CARD_PICK_UP_AT_ATM, False, "the machine shall keep the card"),
    (Code.RESPONSE_RECEIVED_TOO_LATE, True, "the issuer's answer came too late"),
    (Code.ALLOWABLE_NUMBER_OF_PIN_TRIES_EXCEEDED, False, "too many wrong PINs"),
    (Code.CUTOFF_IS_IN_PROCESS, True, "the day is being closed; try again afterwards"),
    (Code.ISSUER_OR_SWITCH_IS_INOPERATIVE, True, "the issuer or the network is down"),
    (
        Code.FINANCIAL_INSTITUTION_OR_INTERMEDIATE_NETWORK_FACILITY_CANNOT_BE_FOUND_FOR_ROUTING,
        False,
        "no way to the issuer was found",
    ),
    (Code.TRANSACTION_CANNOT_BE_COMPLETED_VIOLATION_OF_LAW, False, "the law forbids the payment"),
    (Code.DUPLICATE_TRANSMISSION, False, "the same message came before"),
    (Code.RECONCILE_ERROR, False, "the books of the two sides differ"),
    (Code.SYSTEM_MALFUNCTION, True, "the system of the issuer or the network is broken"),
)


def _issuer_name(code: Code) -> str:
    return code.name.lower().replace("honor", "honour")


CATALOGUE: Mapping[str, DeclineRow] = {
    row.name: row
    for row in (
        *_FAMILIAR,
        *(
            _declined(_issuer_name(code), code, f"{code - 900:02}", meaning, retry=retry)
            for code, retry, meaning in _ISSUER_CODES
        ),
    )
}
"""Every outcome by its name, in the order in which it is printed."""

DECLINES: Mapping[str, Decline] = {
    row.name: row.provider for row in CATALOGUE.values() if isinstance(row.provider, Decline)
}
"""The rows that refuse."""

PROVIDER_DOWN = DECLINES["provider_down"]
PROVIDER_TIMEOUT = DECLINES["provider_timeout"]


def decline(name: str) -> Decline:
    """The refusal of that name. Raises ``ValueError`` with the nearest known name."""
    found = DECLINES.get(name)
    if found is None:
        meant = hint(name, foreign_words.DECLINES, DECLINES) or "; `mockserver outcomes` prints all"
        raise ValueError(f"got '{name[:60]}', which is no known decline{meant}")
    return found
