"""The keys of outcomes: a table for the reference and the schema.

Source: scenario language, Outcomes.
"""

from __future__ import annotations

from mockserver.scenario.reference_faults import FAULT_SECTIONS
from mockserver.scenario.reference_table import Json, Key, Section, at, rule_file

_BATCH = "batch.create"


def _outcome(part: Json) -> Json:
    operation = _BATCH if "batch" in part else "charge.get" if "lag" in part else "charge.create"
    key = {"key": ["request.reference"]} if "replay" in part else {}
    return rule_file({"when": {"op": operation}, **key, "then": part})


def _later(part: Json) -> Json:
    operation = "customer.create" if "delete" in part else "payment_method.create" if "set" in part else "charge.create"
    return at(operation)({"later": [part]})


_OUTAGE = "the provider cannot be reached: its fallback is asked"

OUTCOME_SECTIONS = (
    Section(
        "outcome",
        "What happens, in `then`, in a step of `sequence`, in `chance`. Levels combine; of `approve`, `decline`,"
        " `pending`, `challenge`, `provider_down`, `provider_timeout` and `partial_approve` there is at most one.",
        ("OutcomeMap", "ThenMap", "StepMap"),
        _outcome,
        (
            Key("approve", "the provider takes the payment", {"approve": {}}, "as usual"),
            Key(
                "decline",
                "the issuer or acquirer declines: a name of `mockserver outcomes`, or fields of one's own",
                {"decline": "insufficient_funds"},
                "as usual",
            ),
            Key("pending", "the answer is PENDING, the end comes later", {"pending": {"after": "1h"}}, "as usual"),
            Key("challenge", "3-D Secure: the payer must act", {"challenge": {"payer": "passes"}}, "as usual"),
            Key("provider_down", _OUTAGE, {"provider_down": {}}, "as usual"),
            Key(
                "provider_timeout",
                "the provider does not answer in time: its fallback is asked",
                {"provider_timeout": {}},
                "as usual",
            ),
            Key("partial_approve", "only this much is approved", {"partial_approve": 5}, "as usual"),
            Key("latency", "time the provider takes", {"latency": "800ms"}, "that of the provider"),
            Key("transport", "a fault of the connection", {"transport": {"at": "answer", "reset": True}}, "none"),
            Key("webhook", "what becomes of the webhooks", {"webhook": {"copies": 2}}, "each is sent once"),
            Key("batch", "what becomes of a batch", {"batch": {"stall_at": 0.6}}, "every row is charged"),
            Key("later", "what happens on its own afterwards", {"later": [{"after": "2d", "void": {}}]}, "nothing"),
            Key("lag", "a read or a search answers as things stood so long ago, at most a day", {"lag": "15s"}, "no"),
            Key(
                "replay",
                "later calls of the rule's `key` get the answer of the first one, and nothing is done",
                {"replay": True},
            ),
        ),
    ),
    Section(
        "sequence",
        "A step of a sequence is an outcome with one key more.",
        ("StepMap",),
        lambda part: rule_file({"when": {"op": "charge.create"}, "sequence": [part]}),
        (Key("times", "how many calls it lasts", {"decline": "insufficient_funds", "times": 2}),),
    ),
    Section(
        "then",
        "An outcome; or, alone, where its name stands.",
        ("ThenMap",),
        at("charge.create"),
        (
            Key(
                "outcome_from",
                "path of the request that holds the name of an outcome",
                {"outcome_from": "request.metadata.mock"},
                "none",
            ),
        ),
    ),
    Section(
        "decline",
        "A decline with fields of one's own. What is left out is that of the named outcome.",
        ("DeclineMap",),
        at("charge.create", "decline"),
        (
            Key("name", "a name of `mockserver outcomes`", {"name": "insufficient_funds"}, "error_<errorCode>"),
            Key("errorCode", "code of the answer", {"errorCode": 15}, "that of the named one"),
            Key(
                "errorMessage",
                "message of the answer",
                {"errorCode": 15, "errorMessage": "Come back on payday"},
                "that of the code",
            ),
            Key(
                "gatewayCode",
                "the provider's own code",
                {"name": "insufficient_funds", "gatewayCode": "N7"},
                "that of the named one",
            ),
            Key(
                "gatewayMessage",
                "the provider's own message",
                {"name": "insufficient_funds", "gatewayMessage": "NSF"},
                "that of the named one",
            ),
            Key(
                "isRetryable",
                "whether another try may help",
                {"name": "insufficient_funds", "isRetryable": False},
                "that of the named one",
            ),
        ),
    ),
    Section(
        "pending",
        "The provider answers later.",
        ("Pending",),
        at("charge.create", "pending"),
        (
            Key("settle", "how it ends", {"settle": "FAILED"}),
            Key("after", "when it ends", {"after": "3d"}, "the assumption `charge.pending_settles_after`"),
        ),
    ),
    Section(
        "challenge",
        "3-D Secure: the payer must act on the hosted page, or the sandbox acts for the payer.",
        ("Challenge",),
        at("charge.create", "challenge"),
        (
            Key("payer", "what the payer does", {"payer": "passes"}, "what is done on the hosted page"),
            Key(
                "after",
                "how long the payer takes",
                {"payer": "passes", "after": "2m"},
                "30s; of one who abandons until the challenge expires",
            ),
        ),
    ),
    Section(
        "latency",
        "A duration alone, a range (evenly drawn), or two percentiles of a skewed distribution.",
        ("Latency",),
        at("charge.create", "latency"),
        (
            Key("min", "the shortest", {"min": "20ms"}),
            Key("max", "the longest", {"min": "20ms", "max": "60ms"}, "`min`"),
            Key("p50", "half take no longer", {"p50": "100ms", "p99": "4s"}, "none"),
            Key("p99", "99 of 100 take no longer", {"p50": "100ms", "p99": "4s"}, "none"),
        ),
    ),
    *FAULT_SECTIONS,
    Section(
        "batch",
        "What becomes of a batch.",
        ("BatchScript",),
        at(_BATCH, "batch"),
        (
            Key(
                "rows",
                "rows and their outcomes; the first match decides",
                {"rows": [{"at": [3, 17], "decline": "expired_card"}]},
            ),
            Key("progress", "points of its progress", {"progress": [{"reach": 0.25, "after": "10s"}]}),
            Key("stall_at", "the share of rows at which it stops for good", {"stall_at": 0.6}, "never"),
            Key("end", "how it ends", {"end": "FAILED"}, "SUCCESS"),
            Key("results", "what is wrong with its results text", {"results": {"shuffle": True}}),
        ),
    ),
    Section(
        "rows",
        "Rows of a batch, counted from 1, and what becomes of them. Exactly one of `at`, `every`, `where`, `share`.",
        ("RowRule",),
        lambda part: at(_BATCH, "batch")({"rows": [part]}),
        (
            Key("at", "their numbers", {"at": [3, 17], "decline": "expired_card"}, "none"),
            Key("every", "every nth", {"every": 50, "decline": "expired_card"}, "none"),
            Key(
                "where",
                "tests of paymentMethodId, amount, currency, reference",
                {"where": {"amount": {"gt": 9000}}, "decline": "exceeds_withdrawal_amount_limit"},
                "none",
            ),
            Key("share", "a share of all, drawn by the seed", {"share": 0.1, "decline": "do_not_honour"}, "none"),
            Key("decline", "they are declined", {"every": 2, "decline": "do_not_honour"}, "none"),
            Key("approve", "they are paid", {"at": [1], "approve": {}}, "none"),
            Key(
                "pending",
                "they are charged, and settle or are returned later",
                {"at": [2], "pending": {"settle": "FAILED", "after": "3d"}},
                "none",
            ),
            Key("stall", "they are never done, nor is the batch", {"at": [7], "stall": {}}, "none"),
            Key("provider_down", _OUTAGE, {"at": [1], "provider_down": {}}, "none"),
            Key(
                "provider_timeout", "the provider does not answer in time", {"at": [1], "provider_timeout": {}}, "none"
            ),
        ),
    ),
    Section(
        "progress",
        "A point of a batch's progress.",
        ("Progress",),
        lambda part: at(_BATCH, "batch")({"progress": [part]}),
        (
            Key("reach", "the share of rows that is done", {"reach": 0.25, "after": "10s"}),
            Key("after", "how long after the batch began", {"reach": 1, "after": "1h"}),
        ),
    ),
    Section(
        "results",
        "What is wrong with the results text of a batch.",
        ("ResultsPlan",),
        at(_BATCH, "batch", "results"),
        (
            Key("omit_rows", "rows that are left out", {"omit_rows": [4]}),
            Key("shuffle", "rows in another order", {"shuffle": True}),
            Key("cut", "the text ends after this many characters", {"cut": 200}, "it is whole"),
        ),
    ),
    Section(
        "later",
        "Something that happens on its own. Exactly one besides `after`.",
        ("Later",),
        _later,
        (
            Key("after", "when, from the operation on", {"after": "2d", "void": {}}),
            Key("set", "fields that change, by path", {"after": "5m", "set": {"payto.status": "ACTIVE"}}, "none"),
            Key("capture", "an authorised charge is captured", {"after": "1d", "capture": {}}, "no"),
            Key("void", "an authorised charge is voided", {"after": "2d", "void": {}}, "no"),
            Key("refund", "a paid charge is refunded", {"after": "5d", "refund": {"amount": 5}}, "no"),
            Key(
                "settle",
                "a pending charge ends; `FAILED` also takes a payment back that has succeeded",
                {"after": "14d", "settle": "FAILED"},
                "no",
            ),
            Key(
                "emit",
                "a webhook of the file's own words",
                {"after": "30d", "emit": {"event": "charge.dispute.created"}},
                "no",
            ),
            Key("delete", "a customer, payment method or vault item is deleted", {"after": "1h", "delete": {}}, "no"),
        ),
    ),
    Section(
        "set (of later)",
        "Fields that change, by path.",
        ("Later/set",),
        lambda part: at("subscription.create" if "subscription.status" in part else "payment_method.create")(
            {"later": [{"after": "30d", "set": part}]}
        ),
        (
            Key("payto.status", "of a PayTo agreement", {"payto.status": "ACTIVE"}, "as it is"),
            Key("network_token.status", "of a network token", {"network_token.status": "SUSPENDED"}, "as it is"),
            Key("subscription.status", "of a subscription", {"subscription.status": "Suspended"}, "as it is"),
            Key("card.expiryDate", "of a stored card: an account updater", {"card.expiryDate": "12/40"}, "as it is"),
        ),
    ),
    Section(
        "emit (of later)",
        "A webhook to all who are told of the charge. Its status stays as it is.",
        ("Emit",),
        lambda part: _later({"after": "30d", "emit": {"event": "charge.dispute.created", **part}}),
        (
            Key("event", "its event type", {"event": "charge.dispute.created"}),
            Key("data", "members beside those of the charge", {"data": {"disputeReason": "fraudulent"}}, "none"),
        ),
    ),
    Section(
        "capture, refund (of later)",
        "How much.",
        ("LaterAmount",),
        lambda part: _later({"after": "1d", "refund": part}),
        (
            Key("amount", "how much", {"amount": 5}, "all"),
            Key("comment", "its comment", {"comment": "goodwill"}, "none"),
        ),
    ),
    Section(
        "findings",
        "How clients are judged. What is left out stays as it is.",
        ("FindingsMap",),
        lambda part: {"version": 1, "findings": part},
        (
            Key("allow", "findings that are not raised", {"allow": ["blind-retry"]}, "none"),
            Key("retry_limit", "declined tries of one card within `retry_window`", {"retry_limit": 3}, "15"),
            Key("retry_window", "their span, sandbox time", {"retry_window": "30d"}, "30d"),
            Key("timeout", "the longest wait for an answer, real time", {"timeout": "10s"}, "30s"),
            Key("slow_receiver", "the longest answer of a receiver, real time", {"slow_receiver": "2s"}, "5s"),
            Key("poll_limit", "reads of one object within a second", {"poll_limit": 5}, "10"),
        ),
    ),
)
