"""The keys of a scenario file, of its rules and of what rules ask: a table for the reference and the schema.

Source: scenario language.
"""

from __future__ import annotations

from mockserver.scenario.reference_table import Json, Key, Section, rule_file


def _file(part: Json) -> Json:
    return {"version": 1, **part}


def _when(part: Json) -> Json:
    return rule_file({"when": part, "then": {"decline": "do_not_honour"}})


def _calls(part: Json) -> Json:
    return _file({"examples": [{"name": "example", "calls": [part]}]})


_CARD = {"cardNumber": "4111111111111111", "expiryDate": "12/40", "ccv": "123"}
_VAULT = {"call": "POST /vault", "body": {"cardNumber": "4111111111111111", "expireSeconds": 60}}
_APPROVE: Json = {"approve": {}}
_APPROVE_RULE: Json = {"then": _APPROVE}
_WHAT = {"then", "sequence", "chance"}
_MAIN = {"id": "acq_main"}

FILE_SECTIONS = (
    Section(
        "file",
        "One scenario. Everything but `version` may be left out.",
        ("",),
        _file,
        (
            Key("version", "version of the language", {"version": 1}),
            Key("name", "name in lists and messages", {"name": "evening-peak"}, "the file's name"),
            Key("description", "the story in a sentence", {"description": "The main acquirer falls over at 18:05"}),
            Key("seed", "where chance and identifiers begin", {"seed": 20310301}, "the server's `--seed`"),
            Key(
                "draws",
                "what chance follows: the seed and the sandbox's key (`sandbox`), or the seed alone (`seed`), so that a"
                " rule whose `key` names fields of the request draws the same in every sandbox",
                {"draws": "seed"},
            ),
            Key(
                "tls",
                "what is wrong with the TLS port of the server; in files given with `--scenario`",
                {"tls": {"certificate": "expired"}},
                "nothing",
            ),
            Key("clock", "the clock of a sandbox that opens", {"clock": {"start": "2031-03-01T18:00:00Z"}}),
            Key(
                "assumptions",
                "answers to what the service's document leaves open, by key (`mockserver assumptions`)",
                {"assumptions": {"vault.ccv_delay": "10s"}},
            ),
            Key("providers", "providers that are there when a sandbox opens", {"providers": [_MAIN]}),
            Key("setup", "calls made when a sandbox opens; later ones may use earlier answers", {"setup": [_VAULT]}),
            Key(
                "rules",
                "what happens; at each stage the first rule that matches decides",
                {"rules": [{"id": "declined", "then": {"decline": "do_not_honour"}}]},
            ),
            Key("findings", "how clients are judged", {"findings": {"allow": ["blind-retry"]}}),
            Key(
                "examples",
                "stories of the file, run by `mockserver check`",
                {"examples": [{"name": "a card is kept", "calls": [{**_VAULT, "expect": {"status": 201}}]}]},
            ),
        ),
    ),
    Section(
        "tls",
        "The TLS port of the server (`--tls-port`). A certificate is shown before a sandbox is known, so no sandbox "
        "can be given this alone.",
        ("TlsMap",),
        lambda part: _file({"tls": part}),
        (
            Key(
                "certificate",
                "`expired` yesterday; of a `wrong_name`; by an authority that nobody knows (`untrusted_chain`)",
                {"certificate": "expired"},
            ),
        ),
    ),
    Section(
        "clock",
        "The clock of a sandbox that opens. A sandbox that has been used refuses another.",
        ("ClockMap",),
        lambda part: _file({"clock": part}),
        (
            Key("start", "the first instant", {"start": "2031-03-01T18:00:00Z"}, "the machine's time"),
            Key(
                "mode",
                "`real`: as the machine's; `manual`: it stands until it is moved; `fast`: `rate` times as quick",
                {"mode": "manual"},
            ),
            Key("rate", "how many times as quick, with mode `fast`", {"mode": "fast", "rate": 3600}, "60"),
            Key(
                "zone",
                "time zone of times of day, of `clock.day` and of `per: 1d` in the rules",
                {"zone": "Australia/Sydney"},
                "UTC",
            ),
        ),
    ),
    Section(
        "provider",
        "A provider that is there when a sandbox opens.",
        ("ProviderMap",),
        lambda part: _file({"providers": [{**_MAIN, **part}, {"id": "acq_backup"}]}),
        (
            Key("id", "its providerId", {"id": "acq_main"}),
            Key("type", "its kind, as in `GET /info/providers`", {"type": "dummy"}),
            Key("name", "its name", {"name": "Main acquirer"}, "its type's"),
            Key("currency", "the currency it settles in", {"currency": "NZD"}),
            Key("country", "its country, two letters", {"country": "NZ"}, "none"),
            Key("fallback", "id of the provider that takes over", {"fallback": "acq_backup"}, "none"),
            Key("latency", "time it takes to answer", {"latency": {"min": "20ms", "max": "60ms"}}, "none"),
            Key("cost", "what it costs, for least-cost routing", {"cost": {"fixed": 0.3, "percent": 1.5}}, "nothing"),
        ),
    ),
    Section(
        "cost",
        "What a provider costs.",
        ("CostMap",),
        lambda part: _file({"providers": [{**_MAIN, "cost": part}]}),
        (
            Key("fixed", "for each payment, in the provider's currency", {"fixed": 0.3}),
            Key("percent", "of the amount", {"percent": 1.5}),
        ),
    ),
    Section(
        "call",
        "An API call, in `setup` or in an example. A text may hold `{id.path}` of an earlier answer.",
        ("CallMap",),
        _calls,
        (
            Key("id", "by which later calls name its answer", {**_VAULT, "id": "card"}, "none"),
            Key("call", "method and path", {"call": "GET /info/providers"}),
            Key("headers", "headers of the request", {**_VAULT, "headers": {"Idempotency-Key": "order-1"}}, "none"),
            Key("body", "the body, sent as JSON", _VAULT, "none"),
            Key("expect", "what the answer must be", {**_VAULT, "expect": {"status": 201}}, "anything"),
        ),
    ),
    Section(
        "expect (of a call)",
        "What an answer must be. Members that are not named are not looked at.",
        ("ReplyMap",),
        lambda part: _calls({**_VAULT, "expect": part}),
        (
            Key("status", "its HTTP status", {"status": 201}, "below 400"),
            Key("body", "members of its body: values or tests", {"body": {"hasCvv": False}}, "any"),
            Key("headers", "headers: values or tests", {"headers": {"content-type": {"contains": "json"}}}, "any"),
            Key("fault", "no whole answer arrives", {"fault": True}),
        ),
    ),
    Section(
        "example",
        "A story of the file.",
        ("ExampleMap",),
        lambda part: _file({"examples": [{"name": "example", "calls": [_VAULT], **part}]}),
        (
            Key("name", "its name in the report", {"name": "the third try goes through"}),
            Key("calls", "its steps: calls, `advance`, `wait`", {"calls": [_VAULT, {"advance": "1h"}]}),
        ),
    ),
    Section(
        "advance (a step of an example)",
        "Move the clock forward.",
        ("AdvanceMap",),
        _calls,
        (Key("advance", "how far", {"advance": "1h30m"}),),
    ),
    Section(
        "wait (a step of an example)",
        "Repeat a GET while time moves on, until the answer is as expected.",
        ("WaitMap",),
        _calls,
        (
            Key("wait", "GET and path", {"wait": "GET /charge", "expect": {"body": {"count": 0}}}),
            Key("expect", "what is waited for", {"wait": "GET /charge", "expect": {"status": 200}}),
            Key(
                "headers",
                "headers of the request",
                {"wait": "GET /charge", "headers": {"x-trace": "1"}, "expect": {"status": 200}},
                "none",
            ),
            Key(
                "timeout",
                "how long, by the sandbox's clock",
                {"wait": "GET /charge", "expect": {"status": 200}, "timeout": "1h"},
            ),
        ),
    ),
    Section(
        "rule",
        "What happens when. Exactly one of `then`, `sequence` and `chance`.",
        ("RuleMap",),
        lambda part: rule_file({**(_APPROVE_RULE if part.keys().isdisjoint(_WHAT) else {}), **part}),
        (
            Key("id", "its name, unique in the file", {"id": "declined-once"}),
            Key("description", "why it is there", {"description": "The issuer has a bad day"}, "none"),
            Key("when", "all of it must hold", {"when": {"op": "charge.create"}}, "always"),
            Key(
                "key",
                "paths: for each of their values calls are counted apart",
                {"key": ["request.reference"]},
                "the object the call is about (of a charge its card or method), else the rule",
            ),
            Key("then", "the outcome", {"then": {"decline": "insufficient_funds"}}),
            Key(
                "sequence",
                "outcomes in turn, one for each call of a key",
                {"sequence": [{"decline": "insufficient_funds", "times": 2}, {"approve": {}}]},
            ),
            Key(
                "at_end",
                "after a sequence: `pass` (later rules are asked), `hold` (its last outcome), `loop`, `fail`",
                {"sequence": [{"decline": "do_not_honour"}], "at_end": "hold"},
                "pass",
            ),
            Key(
                "chance",
                "an outcome with a probability, or one of several by weight",
                {"chance": {"p": 0.2, "then": {"provider_timeout": {}}}},
            ),
            Key("limit", "how often it may fire, in all or for each key", {"limit": 1}, "no limit"),
            Key(
                "per",
                "`nth`, `sequence` and `limit` begin anew with each such period; days begin at midnight of the zone",
                {"when": {"nth": {"gt": 15}}, "per": "1s"},
                "they count for the life of the sandbox",
            ),
            Key("for", "how long it lives after its first firing, sandbox time", {"for": "10m"}, "for ever"),
            Key("expect", "how often it must have fired when the sandbox is verified", {"expect": {"min": 1}}, "any"),
        ),
    ),
    Section(
        "limit",
        "How often a rule may fire; a number alone counts in all.",
        ("Limit",),
        lambda part: rule_file({**_APPROVE_RULE, "limit": part}),
        (
            Key("times", "how often", {"times": 2}),
            Key("per", "`key`: for each key", {"times": 2, "per": "key"}, "in all"),
        ),
    ),
    Section(
        "expect (of a rule)",
        "How often it must have fired when the sandbox is verified.",
        ("ExpectMap",),
        lambda part: rule_file({**_APPROVE_RULE, "expect": part}),
        (Key("min", "at least", {"min": 1}, "0"), Key("max", "at most", {"max": 3}, "no limit")),
    ),
    Section(
        "when",
        "All of it must hold. `request.<path>`, `state.<path>` and `header.<name>` test the request, the stored object"
        " and the headers: `request.amount: {gt: 100}`, `state.charge.status: Authorised`, `header.x-channel: app`.",
        ("RuleMap/when",),
        _when,
        (
            Key("op", "the operation, or a glob, or several", {"op": "charge.*"}, "any"),
            Key("source", "where the money of a charge comes from", {"source": "card"}, "any"),
            Key("provider", "the provider that is asked", {"provider": "acq_main"}, "any"),
            Key("card", "the card that is charged", {"card": {"brand": "VISA"}}, "any"),
            Key(
                "bank_account.accountNumber",
                "the account that is charged, from whatever source",
                {"bank_account.accountNumber": "12345678"},
                "any",
            ),
            Key("attempt", "the nth provider asked within one call", {"attempt": 2}, "any"),
            Key("nth", "the nth call of the rule's key", {"nth": {"lte": 2}}, "any"),
            Key(
                "call",
                "the nth request of this operation in the sandbox, whatever its key and whichever rule decided it",
                {"op": "charge.create", "call": 2},
                "any",
            ),
            Key("clock", "a span of sandbox time", {"clock": {"from": "18:05", "to": "18:20"}}, "any"),
        ),
    ),
    Section(
        "card",
        "The card that is charged. A full number is never asked for.",
        ("RuleMap/when/card",),
        lambda part: _when({"card": part}),
        (
            Key("brand", "its scheme", {"brand": "VISA"}),
            Key("bin", "up to six leading digits", {"bin": "411111"}),
            Key("last4", "its last four digits", {"last4": "1111"}),
            Key("test", "the name of a published test card", {"test": "insufficient_funds"}),
        ),
    ),
    Section(
        "clock (of when)",
        "A span of sandbox time. Times of day come again every day, in the zone of the file's clock.",
        ("RuleMap/when/clock",),
        lambda part: _when({"clock": part}),
        (
            Key("from", "its begin, included: a time of day or an instant", {"from": "18:05"}, "ever"),
            Key("to", "its end, excluded", {"from": "18:05", "to": "18:20"}, "for ever"),
            Key("for", "its length, from `from` or from the opening of the sandbox", {"for": "15m"}, "for ever"),
        ),
    ),
    Section(
        "test",
        "A value stands for `eq`. Amounts compare as exact decimals, all else as text; absent and null are the same.",
        ("Test",),
        lambda part: _when({"request.amount": part}),
        (
            Key("eq", "equal", {"eq": 12.5}),
            Key("ne", "not equal", {"ne": 12.5}),
            Key("in", "one of", {"in": [10, 20]}),
            Key("gt", "more than", {"gt": 100}),
            Key("gte", "at least", {"gte": 100}),
            Key("lt", "less than", {"lt": 100}),
            Key("lte", "at most", {"lte": 100}),
            Key("between", "from the first to the second, both included", {"between": [10, 20]}),
            Key("starts_with", "a text that begins so", {"starts_with": "order-"}),
            Key("ends_with", "a text that ends so", {"ends_with": "-test"}),
            Key("contains", "a text or list that contains it", {"contains": "VIP"}),
            Key("matches", "a regular expression (RE2) for the whole text", {"matches": "order-[0-9]+"}),
            Key("exists", "is there, or is not", {"exists": True}),
        ),
    ),
    Section(
        "chance",
        "One outcome, or none: then later rules are asked.",
        ("ChanceOne",),
        lambda part: rule_file({"chance": part}),
        (
            Key("p", "its probability, from 0 to 1", {"p": 0.2, "then": _APPROVE}),
            Key("then", "the outcome", {"p": 0.2, "then": {"provider_down": {}}}),
        ),
    ),
    Section(
        "chance (a list)",
        "One of several outcomes.",
        ("ChanceWeighted",),
        lambda part: rule_file({"chance": [part, {"weight": 1, "then": _APPROVE}]}),
        (
            Key("weight", "its share of the sum of all weights", {"weight": 3, "then": _APPROVE}),
            Key("then", "the outcome", {"weight": 3, "then": {"decline": "do_not_honour"}}),
        ),
    ),
)
