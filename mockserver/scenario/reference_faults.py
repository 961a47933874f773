"""The keys of faults of connections, answers and webhooks: a table for the reference and the schema.

Source: scenario language, Outcomes.
"""

from __future__ import annotations

from mockserver.scenario.reference_table import Key, Section, at

FAULT_SECTIONS = (
    Section(
        "transport",
        "A fault of the connection, or of what stands before the service. At most one fault; `delay` goes with any.",
        ("Transport",),
        at("charge.create", "transport"),
        (
            Key(
                "at",
                "`connect`: as the connection is made; `upload`: while the body is sent; `receive`: nothing "
                "has happened; `answer`: it has happened, and the client does not know",
                {"at": "answer", "reset": True},
            ),
            Key("status", "answer with this HTTP status", {"at": "receive", "status": 503}, "the real one"),
            Key(
                "body",
                "body of that answer: a text, or data sent as JSON",
                {"at": "answer", "status": 502, "body": "<h1>Bad Gateway</h1>"},
                "the service's own error object",
            ),
            Key(
                "headers",
                "headers of that answer; without `status`, of the real one",
                {"at": "receive", "status": 503, "headers": {"x-cache": "MISS"}},
                "the real ones",
            ),
            Key(
                "retry_after",
                "its Retry-After, in seconds or as a duration",
                {"at": "receive", "status": 429, "retry_after": "3s"},
                "none",
            ),
            Key("delay", "wait before anything else", {"at": "answer", "delay": "35s"}),
            Key(
                "virtual",
                "where the clock is set by hand it moves by the delay, and nobody waits in real time",
                {"at": "answer", "delay": "35s", "virtual": True, "reset": True},
            ),
            Key("reset", "reset the connection", {"at": "receive", "reset": True}),
            Key("close_after", "close after this many bytes of the body", {"at": "answer", "close_after": 40}, "no"),
            Key("truncate", "promise the whole body, send half of it, close", {"at": "answer", "truncate": True}),
            Key(
                "dribble",
                "send the answer in small pieces",
                {"at": "answer", "dribble": {"chunk": 16, "every": "200ms"}},
                "no",
            ),
            Key(
                "slow",
                "read the body in small pieces",
                {"at": "upload", "slow": {"chunk": 1000, "every": "100ms"}},
                "no",
            ),
            Key("garbage", "send bytes that are no HTTP", {"at": "answer", "garbage": True}),
            Key("hang", "never answer", {"at": "answer", "hang": True}),
            Key("malformed_json", "answer with broken JSON", {"at": "answer", "malformed_json": True}),
            Key(
                "edit",
                "members of the real answer, by path, with other values; status and identifiers stay",
                {"at": "answer", "edit": {"status": "RETRY_SCHEDULED", "paymentInformation.card": None}},
                "none",
            ),
            Key("omit", "members that the real answer lacks, by path", {"at": "answer", "omit": ["amount"]}),
        ),
    ),
    Section(
        "dribble, slow",
        "The answer, or the body of the request, in small pieces.",
        ("Dribble",),
        lambda part: at("charge.create", "transport")({"at": "answer", "dribble": part}),
        (
            Key("chunk", "bytes of a piece", {"chunk": 16, "every": "200ms"}),
            Key("every", "pause between pieces", {"chunk": 1, "every": "1s"}),
        ),
    ),
    Section(
        "webhook",
        "What becomes of the webhooks that the operation causes; in a rule for `webhook.deliver`, of that webhook.",
        ("WebhookPlan",),
        at("charge.create", "webhook"),
        (
            Key("drop", "never send it; later calls for the same object still tell", {"drop": True}),
            Key("delay", "send it this much later", {"delay": "1d"}),
            Key("copies", "how often it is sent", {"copies": 2}),
            Key("gap", "pause between copies", {"copies": 2, "gap": "5s"}),
            Key("before_answer", "send it before the API call is answered", {"before_answer": True}),
            Key("swap_with_next", "the next one overtakes it", {"swap_with_next": True}),
            Key("stale", "it shows the state before the last change", {"stale": True}),
            Key("bad_signature", "sign it with a wrong key", {"bad_signature": True}),
            Key(
                "signature",
                "`none`: unsigned; `bad`: by a wrong key; `stale`: that of a day before",
                {"signature": "none"},
                "the right one",
            ),
            Key("form", "send it as application/x-www-form-urlencoded", {"form": True}),
            Key("pad", "its length in bytes, reached by a member `padding`", {"pad": 200_000}, "as long as it is"),
            Key("sent", "its timestamp, from the instant of the event: `-10m` is before it", {"sent": "-10m"}),
            Key(
                "together",
                "up to 10 copies at the same instant, each on a connection of its own; a single one with the next "
                "webhook to the same receiver",
                {"copies": 2, "together": True},
            ),
            Key(
                "edit",
                "members of its body, by path, with other values",
                {"edit": {"data.status": "RETRY_SCHEDULED"}},
                "none",
            ),
            Key("omit", "members that its body lacks, by path", {"omit": ["data.amount"]}),
            Key("authorization", "its Authorization header", {"authorization": "Bearer wrong"}, "the receiver's"),
            Key("receiver", "the receiver answers so, in turn, and is not called", {"receiver": [500, 200, "timeout"]}),
        ),
    ),
)
