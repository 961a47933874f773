"""The catalogue: every finding with its severity, what it means and what to do. Documentation is printed from it.

Source: findings document, The catalogue.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from mockserver.domain.errors import nearest


class Severity(IntEnum):
    """How bad a finding is; the order counts."""

    NOTE = 1
    WARNING = 2
    ERROR = 3

    @property
    def word(self) -> str:
        """The name that interfaces use."""
        return self.name.lower()


SEVERITIES: Mapping[str, Severity] = {severity.word: severity for severity in Severity}
"""Severities by the name that interfaces use, least first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One row: ``why`` is what it costs in production, ``advice`` what to do, ``raised`` and ``silent`` the exact
    conditions, ``wrong`` and ``right`` what a client does that raises it and that does not."""

    name: str
    severity: Severity
    title: str
    why: str
    advice: str
    raised: str
    silent: str = ""
    wrong: str
    right: str


_ROWS = (
    Kind(
        name="double-charge",
        severity=Severity.ERROR,
        title="The customer was charged twice",
        why="The first answer was lost, but the first charge had happened: the customer has paid two times.",
        advice="After a lost answer search for the charge by its reference before you send it again.",
        raised="Two charges of the same intent both hold money (authorised, paid or pending) and the first was in "
        "doubt.",
        silent="The references differ, or the first was fully refunded or voided before the second.",
        wrong="POST /charge/card -> connection reset; POST /charge/card again -> 201",
        right="POST /charge/card -> connection reset; GET /charge?Reference=order-5 -> found, nothing more to do",
    ),
    Kind(
        name="double-refund",
        severity=Severity.ERROR,
        title="The same refund was given twice",
        why="The first answer was lost, but the first refund had happened: the money was given back two times.",
        advice="After a lost answer read the charge and look at its refunds before you send the refund again.",
        raised="Two refunds of the same charge and amount both moved money and the first was in doubt.",
        silent="The client looked at the charge in between.",
        wrong="DELETE /refund/ch_1?amount=5 -> timeout; DELETE /refund/ch_1?amount=5 again -> 200",
        right="DELETE /refund/ch_1?amount=5 -> timeout; GET /charge/ch_1 -> refundedAmount 5, nothing more to do",
    ),
    Kind(
        name="blind-retry",
        severity=Severity.WARNING,
        title="A payment operation was repeated without a look",
        why="The client could not know how the first call ended. Repeated blindly, it pays, captures or refunds twice "
        "one day.",
        advice="Read or search the object first; send again only when it is not there.",
        raised="A money operation in doubt is sent again with the same intent, not looked before, whatever came of it.",
        silent="The client looked (a search also counts that finds nothing because there is nothing), the intent is "
        "another, or an Idempotency-Key was repeated that "
        "request.idempotency honours.",
        wrong="POST /charge/card -> connection reset; POST /charge/card again",
        right="POST /charge/card -> connection reset; GET /charge?Reference=order-5 -> none; POST /charge/card again",
    ),
    Kind(
        name="hard-decline-retried",
        severity=Severity.ERROR,
        title="A card was charged again after a final decline",
        why="Card schemes fine merchants for each retry of a decline that is not retryable, and issuers block them.",
        advice="When isRetryable is false, ask the customer for another card.",
        raised="A card or method is charged again after a refusal that was not retryable, the method unchanged.",
        silent="The card, its expiry or a ccv told wrong was changed, the refusal was of this payment only (amount, "
        "currency, 3-D Secure, PayTo agreement) or the merchant's (validation), or its answer was lost.",
        wrong="POST /charge/payment_method -> 400, isRetryable false; the same again tomorrow",
        right="POST /charge/payment_method -> 400, isRetryable false; PUT /payment_method/pm_1 with a new card; charge",
    ),
    Kind(
        name="too-many-retries",
        severity=Severity.WARNING,
        title="One card was declined too often in 30 days",
        why="Card schemes fine merchants for more than 15 declined tries on one card within 30 days.",
        advice="Count the declined tries of a card and stop, or ask for another card.",
        raised="More than 15 declined tries on one card within 30 days of sandbox time (findings.retry_limit).",
        silent="The provider was down or too slow: no issuer has declined anything.",
        wrong="a soft decline retried every hour until it works",
        right="a soft decline retried after 1, 3 and 7 days, then the customer is asked",
    ),
    Kind(
        name="retry-after-ignored",
        severity=Severity.WARNING,
        title="A call was repeated before Retry-After had passed",
        why="A service that is overloaded answers early retries with more refusals, or blocks the caller.",
        advice="Wait for the seconds of Retry-After before you send the call again.",
        raised="The same call is sent earlier than the Retry-After that it was answered with (real clock only).",
        silent="The clock of the sandbox is manual.",
        wrong="429 with Retry-After: 5; the same call 100 ms later",
        right="429 with Retry-After: 5; the same call 5 s later",
    ),
    Kind(
        name="no-timeout",
        severity=Severity.WARNING,
        title="The client waited for an answer without a time limit",
        why="A provider that hangs takes every worker of such a client with it.",
        advice="Set a timeout below 30 s on every call.",
        raised="The client waited over 30 s of real time for an answer that hung (findings.timeout).",
        silent="The client hung up before that.",
        wrong="requests.post(url, json=body)",
        right="requests.post(url, json=body, timeout=10)",
    ),
    Kind(
        name="forged-webhook-accepted",
        severity=Severity.ERROR,
        title="A webhook with a wrong signature was accepted",
        why="Anybody who knows the address can then report payments that never happened.",
        advice="Check X-Payfurl-Signature over the raw body before you believe a webhook; answer 401 otherwise.",
        raised="A receiver answered 2xx to a webhook whose signature was wrong.",
        wrong="the receiver reads the JSON and answers 200",
        right="the receiver compares the HMAC of the raw body first and answers 401",
    ),
    Kind(
        name="webhook-not-deduplicated",
        severity=Severity.ERROR,
        title="A repeated webhook moved money again",
        why="Webhooks come more than once. A client that acts on each copy credits, captures or refunds twice.",
        advice="Remember the ids of webhooks that were handled, and act on the first copy only.",
        raised="Within 60 s after a repeated copy of one event was taken, the client repeats the money operation that "
        "it made after the first copy.",
        wrong="webhook evt_1 -> capture; webhook evt_1 again -> capture",
        right="webhook evt_1 -> capture; webhook evt_1 again -> 200, nothing done",
    ),
    Kind(
        name="stale-webhook-believed",
        severity=Severity.WARNING,
        title="An outdated webhook was taken for the truth",
        why="Webhooks may arrive late and out of order. The state that they report may be over.",
        advice="Read the object when a webhook comes, and act on what you read.",
        raised="After a stale or overtaken webhook was taken, a call is refused (54) that only the state reported in "
        "it would allow.",
        wrong="webhook says Authorised, the charge is voided; capture -> 409",
        right="webhook says Authorised; GET the charge -> AUTHORISE_CANCELLED; no capture",
    ),
    Kind(
        name="webhook-lost",
        severity=Severity.WARNING,
        title="A webhook was given up after all tries",
        why="The client never heard of the change; its own records are wrong until somebody looks.",
        advice="Answer webhooks with 2xx, and reconcile by searching for what was missed.",
        raised="A genuine webhook was given up after all tries.",
        silent="The scenario dropped it, changed its form or content, or played the receiver.",
        wrong="the receiver answers 500 for hours",
        right="the receiver stores the webhook, answers 200 and handles it afterwards",
    ),
    Kind(
        name="webhook-slow",
        severity=Severity.NOTE,
        title="A receiver took over five seconds",
        why="A slow receiver runs into the sender's timeout and gets the webhook again.",
        advice="Store the webhook, answer at once, and handle it afterwards.",
        raised="A receiver took over 5 s of real time to answer.",
        silent="The scenario played the receiver.",
        wrong="the receiver calls three other services before it answers",
        right="the receiver puts the webhook on a queue and answers 200",
    ),
    Kind(
        name="authorisation-forgotten",
        severity=Severity.WARNING,
        title="An authorisation was neither captured nor voided",
        why="The customer's money stays blocked, and the merchant loses the payment when the authorisation expires.",
        advice="Capture or void every authorisation, also on the ways that fail.",
        raised="An authorisation expired, or is open at finish.",
        wrong="POST /charge/card with capture false, then nothing",
        right="POST /charge/card with capture false, then capture or void",
    ),
    Kind(
        name="challenge-ignored",
        severity=Severity.WARNING,
        title="A 3-D Secure challenge was ignored",
        why="The charge waits for the payer: without the challenge there is no payment.",
        advice="Send the payer to threeDsRedirectUrl and wait for the result.",
        raised="A charge waits for 3-D Secure at finish, or was captured or refunded while it waited.",
        silent="Its payer was sent to the page.",
        wrong="status PENDING_CHECKOUT is taken for paid",
        right="status PENDING_CHECKOUT: redirect the payer to threeDsRedirectUrl",
    ),
    Kind(
        name="wrong-state",
        severity=Severity.WARNING,
        title="An operation did not fit the state of the charge",
        why="The client's own record of the charge is wrong.",
        advice="Read the charge, and let its status decide what may be done.",
        raised="Capture, void or refund is refused with 54.",
        silent="The client was in doubt about that very charge.",
        wrong="capture of a charge that was voided",
        right="GET the charge; capture only when it is Authorised",
    ),
    Kind(
        name="partial-approval-ignored",
        severity=Severity.WARNING,
        title="A partial approval was taken for the whole amount",
        why="The provider approved less than was asked for: the goods are not paid in full.",
        advice="Compare the amount of the answer with yours; void the charge, refund it or charge the rest.",
        raised="A charge was approved for less, and is at finish neither voided, refunded nor completed by a second "
        "charge.",
        wrong="asked 100.00, approved 60.00, goods sent",
        right="asked 100.00, approved 60.00; the rest of 40.00 is charged to another card",
    ),
    Kind(
        name="batch-sent-twice",
        severity=Severity.ERROR,
        title="The same batch was accepted twice",
        why="The first answer was lost, but the first batch was accepted: every row is charged two times.",
        advice="After a lost answer search for the batch by its description before you send it again.",
        raised="A batch with the same rows was accepted twice and the first was in doubt.",
        wrong="POST /batch/transaction/payment_method -> timeout; the same again -> 201",
        right="POST /batch/transaction/payment_method -> timeout; GET /batch?Description=... -> found",
    ),
    Kind(
        name="card-number-outside-its-field",
        severity=Severity.ERROR,
        title="A card number stands where none belongs",
        why="References, metadata, paths and headers are logged and shown; a card number there breaks PCI DSS.",
        advice="Send card numbers in cardNumber only.",
        raised="A card number (scheme range, check digit, 13 to 19 digits, not part of a longer number) is in any "
        "other text: reference, metadata, descriptor, path, query, header.",
        silent="It is the search parameter made for it, up to 8 digits.",
        wrong='{"reference": "4111111111111111", ...}',
        right='{"reference": "order-5", "paymentInformation": {"cardNumber": "4111111111111111"}}',
    ),
    Kind(
        name="secret-key-in-browser",
        severity=Severity.ERROR,
        title="A browser used the secret key",
        why="Everybody who opens the page can read the key and move money with it.",
        advice="Use the public key in browsers and the secret key on the server only.",
        raised="A request with a secret key carries Origin or Sec-Fetch-Site, as browsers send them.",
        silent="A page of the sandbox itself sent it, or a server whose HTTP client sends Sec-Fetch-Mode alone (Node).",
        wrong='fetch("/charge/card", {headers: {"x-secretkey": "sk_..."}})',
        right="the browser makes a token with the public key; the server charges the token",
    ),
    Kind(
        name="amount-not-exact",
        severity=Severity.WARNING,
        title="An amount is not exact",
        why="Binary floats and too many decimals make amounts that are off by a cent, or are refused.",
        advice="Calculate money in whole cents or decimals, and round to the currency before you send it.",
        raised="An amount has more decimals than its currency, or the traces of binary floats.",
        wrong='{"amount": 30.299999999999997}',
        right='{"amount": 30.30}',
    ),
    Kind(
        name="unknown-field",
        severity=Severity.WARNING,
        title="A field was sent that nobody reads",
        why="The service ignores it: what the client wanted with it does not happen.",
        advice="Correct the spelling, or leave the field out.",
        raised="A field nobody reads was sent.",
        wrong='{"amout": 10}',
        right='{"amount": 10}',
    ),
    Kind(
        name="no-such-operation",
        severity=Severity.WARNING,
        title="A path or verb does not exist",
        why="The call can only ever fail.",
        advice="Correct the path or the verb.",
        raised="A request names a path or verb that does not exist.",
        silent="Browsers asking for favicon.ico and the like.",
        wrong="POST /charges/card",
        right="POST /charge/card",
    ),
    Kind(
        name="no-reference",
        severity=Severity.NOTE,
        title="A charge has no reference",
        why="After a lost answer nobody can find it again.",
        advice="Give every charge a reference of your own that no other has.",
        raised="A charge is made without a reference.",
        wrong='{"amount": 10, ...}',
        right='{"amount": 10, "reference": "order-5", ...}',
    ),
    Kind(
        name="polled-hard",
        severity=Severity.NOTE,
        title="One object was read over ten times in a second",
        why="Rate limits end such a client; a webhook reports the change without asking.",
        advice="Wait between reads, longer each time, or use a webhook.",
        raised="The same object is read over 10 times in a second of real time (findings.poll_limit).",
        silent="The clock of the sandbox is manual.",
        wrong="while status is PENDING: GET the charge",
        right="read after 1 s, 2 s, 4 s, or wait for the webhook",
    ),
)

CATALOGUE: Mapping[str, Kind] = {row.name: row for row in _ROWS}
"""Every finding by its name."""


def kind_of(name: str) -> Kind:
    """The row of a name. Raises ``ValueError`` with the nearest known name."""
    kind = CATALOGUE.get(name)
    if kind is None:
        raise ValueError(f"got '{name[:40]}', wanted the name of a finding{nearest(name[:40], CATALOGUE)}")
    return kind


def severity_of(word: str) -> Severity:
    """The severity of a name. Raises ``ValueError`` with those that are allowed."""
    severity = SEVERITIES.get(word)
    if severity is None:
        allowed = ", ".join(SEVERITIES)
        raise ValueError(f"got '{word[:40]}'{nearest(word[:40], SEVERITIES)}, allowed: {allowed}")
    return severity
