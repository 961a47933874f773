"""Words that people bring along from other tools and services, and what they are called here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from mockserver.domain.errors import nearest

DECLINES: Mapping[str, str] = {
    "generic_decline": "do_not_honour",
    "card_declined": "do_not_honour",
    "declined": "do_not_honour",
    "do_not_honor": "do_not_honour",
    "fraudulent": "blocked_by_fraud_rules",
    "fraud": "blocked_by_fraud_rules",
    "incorrect_cvc": "wrong_ccv",
    "invalid_cvc": "wrong_ccv",
    "incorrect_cvv": "wrong_ccv",
    "invalid_cvv": "wrong_ccv",
    "card_velocity_exceeded": "over_frequency_limit",
    "authentication_required": "three_ds_failed",
    "try_again_later": "retry_later",
    "issuer_not_available": "issuer_or_switch_is_inoperative",
    "pickup_card": "pick_up_card",
}
"""Reasons of declines, as other services name them."""

OPERATIONS: Mapping[str, str] = {
    "refund.create": "charge.refund",
    "charge.list": "charge.search",
    "charge.authorise": "'charge.create' with 'request.capture: false'",
    "charge.authorize": "'charge.create' with 'request.capture: false'",
    "charge.cancel": "charge.void",
    "charge.retrieve": "charge.get",
    "charge.read": "charge.get",
    "payment.create": "charge.create",
    "payment_intent.create": "charge.create",
    "customer.list": "customer.search",
    "webhook.send": "webhook.deliver",
}
"""Operations, as other services name them."""

_CHANCE = "'chance: {p: 0.2, then: {...}}'"
_SLOW = "'latency' (the provider) or 'transport: {at: answer, delay: 2s}' (the connection)"
_HANGS = "'provider_timeout: {}' (the provider) or 'transport: {at: answer, hang: true}' (the connection)"
_KEYS: Mapping[str, Mapping[str, str]] = {
    "sequence": {
        "times": "'limit' (how often the rule may fire), or 'times' in a step of 'sequence'",
        "request": "when",
        "match": "when",
        "response": "then",
        "respond": "then",
        "action": "then",
        "priority": "the order of the rules: the first that matches decides",
        "probability": _CHANCE,
        "percentage": _CHANCE,
        "toxicity": _CHANCE,
        "scenario": "sequence",
    },
    "transport": {
        "fault": "'transport: {at: answer, reset: true}'",
        "timeout": _HANGS,
        "hang": _HANGS,
        "status": "'transport: {at: receive, status: 503}'",
        "delay": _SLOW,
        "fixedDelayMilliseconds": _SLOW,
        "slow_close": _HANGS,
        "limit_data": "'transport: {at: answer, close_after: 100}'",
        "slicer": "'transport: {at: answer, dribble: {chunk: 10, every: 100ms}}'",
    },
    "before_answer": {"early": "before_answer", "duplicate": "copies", "times": "copies", "late": "delay"},
}
"""Keys of a rule, of an outcome and of a webhook, as other tools and people name them; by a key that only these have.
"""


def unknown_key(key: str, known: Sequence[str]) -> str:
    """What is said of a key that no part has."""
    foreign = next((words for own, words in _KEYS.items() if own in known), {})
    return f"unknown key '{key[:60]}'{hint(key, foreign, known) or ', allowed: ' + ', '.join(known)}"


def hint(word: str, foreign: Mapping[str, str], known: Collection[str]) -> str:
    """What a word that is not known may mean, as the end of a message: its name here, else the nearest known one."""
    ours = foreign.get(word)
    if ours is None:
        return nearest(word, known)
    return f" - here it is {ours if ' ' in ours else repr(ours)}"
