"""The parts of a file around its rules, the places of its faults, and the JSON Schema."""

import json
from functools import cache
from typing import Any

import jsonschema_rs
import pytest

from mockserver.adapters.scenario_files import read_text
from mockserver.adapters.strict_yaml import read
from mockserver.domain.clock import HOUR, MILLISECOND, ClockMode, parse_instant
from mockserver.scenario.answers import ready
from mockserver.scenario.operations import FOREIGN_DECLINES, FOREIGN_OPERATIONS, OPERATIONS
from mockserver.scenario.provider_outcome import DECLINES
from mockserver.scenario.reference import json_schema
from mockserver.scenario.scenario import AdvanceMap, CallMap, ClockPlan, CostMap, WaitMap
from tests.scenario.telling import NOW, faults, fires, open_app

FULL = """
version: 1
name: evening-peak
description: Main acquirer falls over at 18:05, backup takes the load
seed: 20310301
clock: {start: "2031-03-01T18:00:00Z", mode: manual}
assumptions: {vault.ccv_delay: 10s}
providers:
  - {id: acq_main, type: dummy, name: Main, currency: aud, fallback: acq_backup, latency: {min: 20ms, max: 60ms},
     cost: {fixed: 0.30, percent: 1.5}}
  - {id: acq_backup}
setup:
  - id: ann
    call: POST /customer/card
    body: {providerId: acq_main, firstName: Ann, paymentInformation: {cardNumber: "4111111111111111"}}
  - {call: "GET /customer/{ann.customerId}"}
rules:
  - {id: down, when: {provider: acq_main, clock: {from: 18:05}}, then: {provider_down: {}}}
examples:
  - name: the backup pays
    calls:
      - {id: paid, call: POST /charge/customer, body: {customerId: "{ann.customerId}"}, expect: {status: 201}}
      - {advance: 1h}
      - {call: "GET /charge/{paid.chargeId}", expect: {status: 200, body: {providerId: acq_backup}}}
      - {wait: "GET /charge/{paid.chargeId}", expect: {body: {status: SUCCESS}}, timeout: 2h}
      - {call: GET /info, headers: {x-run: 7}, expect: {fault: true}}
"""


def test_a_whole_file() -> None:
    scenario = read_text(FULL, "evening.yaml")
    assert (scenario.name, scenario.said.seed) == ("evening-peak", 20310301)
    assert scenario.clock == ClockPlan(parse_instant("2031-03-01T18:00:00Z"), ClockMode.MANUAL)
    assert scenario.said.assumptions == {"vault.ccv_delay": "10s"}
    main, backup = scenario.said.providers
    assert (main.id, main.currency, main.fallback, main.name) == (
        "acq_main",
        "aud",
        "acq_backup",
        "Main",
    )
    opened = open_app([scenario]).world.directory.config.providers(NOW, lambda _: None)
    assert [provider.currency for provider in opened] == ["AUD", "AUD"]
    assert main.latency is not None
    assert main.latency.high == 60 * MILLISECOND
    assert main.cost is not None
    assert str(main.cost.fixed) == "0.30"
    assert (backup.type, backup.currency, backup.cost) == ("dummy", "AUD", None)
    assert [call.path for call in scenario.said.setup] == [
        "/customer/card",
        "/customer/{ann.customerId}",
    ]
    assert [rule.id for rule in scenario.rules] == ["down"]
    paid, advance, got, wait, info = scenario.said.examples[0].calls
    assert isinstance(paid, CallMap)
    assert (paid.method, paid.path, paid.id) == ("POST", "/charge/customer", "paid")
    assert isinstance(advance, AdvanceMap)
    assert advance.advance == HOUR
    assert isinstance(got, CallMap)
    assert got.expect is not None
    assert got.expect.body == {"providerId": "acq_backup"}
    assert isinstance(wait, WaitMap)
    assert (wait.timeout, wait.call.method) == (2 * HOUR, "GET")
    assert isinstance(info, CallMap)
    assert info.headers == {"x-run": "7"}
    assert info.expect is not None
    assert info.expect.fault


def test_defaults() -> None:
    scenario = read_text("version: 1", "dir/my story.yaml")
    said = scenario.said
    assert (scenario.name, said.description, said.seed, scenario.clock) == (
        "my-story",
        "",
        None,
        None,
    )
    assert (scenario.rules, said.setup, said.examples, said.providers) == ((), [], [], [])
    assert CostMap().fixed == 0


def test_json_is_the_same_file() -> None:
    data = {
        "version": 1,
        "rules": [{"id": "a", "when": {"op": "charge.create"}, "then": {"decline": "lost_card"}}],
    }
    assert read_text(json.dumps(data), "a.json").rules[0].id == "a"


@pytest.mark.parametrize(("mode", "rate"), [("fast", 60), ("manual", 1), ("real", 1)])
def test_clock_modes(mode: str, rate: int) -> None:
    clock = read_text(f"version: 1\nclock: {{mode: {mode}}}", "a.yaml").clock
    assert clock == ClockPlan(None, ClockMode(mode), rate)


HEAD = "version: 1\n"
BAD = [
    ("- 1", "bad.yaml:1:1: got a list, wanted a map that begins with version: 1"),
    ("", "bad.yaml:1:1: got nothing, wanted a map that begins with version: 1"),
    ("name: x", "bad.yaml:1:1: 'version' is missing"),
    ("version: 2", "bad.yaml:1:1: version: got 2, allowed: 1"),
    ('version: "1"', "bad.yaml:1:1: version: got '1', allowed: 1, without quotes"),
    (HEAD + "rule: []", "bad.yaml:2:1: rule: unknown key 'rule' - did you mean 'rules'?"),
    (HEAD + "name: a b", "bad.yaml:2:1: name: got 'a b', wanted a name of letters"),
    (HEAD + "seed: -1", "bad.yaml:2:1: seed: got -1, wanted a whole number from 0"),
    (
        HEAD + "clock: {mode: slow}",
        "bad.yaml:2:9: clock.mode: got 'slow', allowed: real, manual, fast",
    ),
    (
        HEAD + "clock: {start: tomorrow}",
        "clock.start: got 'tomorrow', wanted an ISO 8601 date-time",
    ),
    (
        HEAD + "clock: {mode: manual, rate: 5}",
        "clock.rate: got a rate in mode manual, allowed in mode fast only",
    ),
    (
        HEAD + "assumptions: {vault.ccv_dely: 1s}",
        "no such assumption - did you mean 'vault.ccv_delay'?",
    ),
    (HEAD + "assumptions: {vault.ccv_delay: soon}", "wanted a duration"),
    (
        HEAD + "providers: [{id: a, type: dumy}]",
        "got 'dumy', wanted a known provider type - did you mean 'dummy'?",
    ),
    (HEAD + "providers: [{id: a, currency: AUX}]", "providers[0].currency: "),
    (HEAD + "providers: [{id: a, currency: dollars}]", "wanted three letters, such as AUD"),
    (
        HEAD + "providers: [{id: main, fallback: mian}]",
        "got 'mian', wanted a provider's id - did you mean 'main'?",
    ),
    (HEAD + "providers: [{id: a, fallback: a}]", "a provider cannot take over from itself"),
    (
        HEAD + "providers: [{id: a}, {id: a}]",
        "got 'a' a second time; the id of a provider must be unique",
    ),
    (HEAD + "providers: [{name: a}]", "providers[0]: 'id' is missing"),
    (HEAD + "providers: [{id: a, cost: {fixed: -1}}]", "got -1, wanted a number of 0 or more"),
    (
        HEAD + "setup: [{call: /charge}]",
        "got '/charge', wanted a method and a path, such as POST /charge/card",
    ),
    (HEAD + "setup: [{call: 'PATCH /charge'}]", "wanted a method and a path"),
    (
        HEAD + "setup: [{id: a, call: GET /a}, {id: a, call: GET /a}]",
        "got 'a' a second time; the id of a call",
    ),
    (
        HEAD + "setup: [{id: ann, call: GET /a}, {call: 'GET /a/{an.id}'}]",
        "the id 'an' - did you mean 'ann'?",
    ),
    (HEAD + "setup: [{id: ann, call: 'GET /a/{ann.id}'}]", "no earlier call has the id 'ann'"),
    (
        HEAD + "setup: [{call: POST /a, body: {a: ['{ann.id}']}}]",
        "setup[0].body: got {ann.id}, but no earlier call",
    ),
    (HEAD + "rules: {}", "bad.yaml:2:1: rules: got a map, wanted a list"),
    (HEAD + "rules: [5]", "bad.yaml:2:9: rules[0]: got 5, wanted a map"),
    (HEAD + "rules: [{then: {approve: {}}}]", "rules[0]: 'id' is missing"),
    ("version: true", "bad.yaml:1:1: version: got true, allowed: 1"),
    (
        HEAD + "tls: expired",
        "bad.yaml:2:1: tls: got 'expired', wanted a map of certificate, refuse",
    ),
    (
        HEAD + "examples: [{name: x, calls: [{together: [{call: GET /a}]}]}]",
        "together: got 1, wanted at least 2",
    ),
    (
        HEAD + "examples: [{name: x, calls: []}]",
        "examples[0].calls: got nothing, wanted at least one",
    ),
    (
        HEAD + "examples: [{name: x, calls: [{cal: GET /a}]}]",
        "unknown key 'cal' - did you mean 'call'?",
    ),
    (
        HEAD + "examples: [{name: x, calls: [{advance: 5}]}]",
        "calls[0].advance: got 5, wanted a duration",
    ),
    (HEAD + "examples: [{name: x, calls: [{wait: POST /a, expect: {}}]}]", "wanted GET and a path"),
    (HEAD + "examples: [{name: x, calls: [{wait: GET /a}]}]", "'expect' is missing"),
    (
        HEAD + "examples: [{name: x, calls: [{call: GET /a, expect: {status: ok}}]}]",
        "wanted a whole number",
    ),
    (
        HEAD + "setup: [{call: GET /a, expect: {body: {list: [{amount: {gt: five}}]}}}]",
        "bad.yaml:2:48: setup[0].expect.body.list[0].amount: got 'five', wanted a number",
    ),
    (
        HEAD + "examples: [{name: x, calls: [{wait: GET /a, expect: {body: {b: {in: 5}}}}]}]",
        "examples[0].calls[0].expect.body.b: got 5, wanted a list of values",
    ),
    (
        HEAD
        + "examples: [{name: x, calls: [{call: GET /a, expect: {headers: {b: {exists: 5}}}}]}]",
        "examples[0].calls[0].expect.headers.b: got 5, wanted true or false",
    ),
    (
        HEAD + "examples: [{name: x, calls: [{wait: 'GET /a/{b.id}', expect: {}}]}]",
        "bad.yaml:2:31: examples[0].calls[0].wait: got {b.id}, but no earlier call has the id 'b'",
    ),
]


def test_a_wait_names_the_answer_of_an_earlier_call_even_of_several_together() -> None:
    together = "{together: [{id: a, call: GET /a}, {call: 'GET /a/{a.id}'}]}"
    wait = "{wait: 'GET /a/{a.id}', expect: {}}"
    assert faults(HEAD + f"examples: [{{name: x, calls: [{together}, {wait}]}}]") == []


def test_a_header_has_a_flag_of_an_earlier_answer_as_json_writes_it() -> None:
    call = CallMap(call="GET /a", headers={"X-Live": "{a.isLive}"})
    assert ready(call, {"a": {"isLive": True}}).headers == {"x-live": "true"}


@pytest.mark.parametrize(
    ("text", "words"), BAD, ids=[row[0].removeprefix(HEAD) or "nothing" for row in BAD]
)
def test_a_part_of_a_scenario_file_with_a_wrong_value_is_refused(text: str, words: str) -> None:
    assert words in "\n".join(faults(text))


GOLDEN_FILE = """\
version: 1
description: everything that can be wrong at once
sede: 5
providers:
  - {id: acq_main, fallback: acq_bakcup}
rules:
  - id: first
    when: {op: charge.crate, request.amount: {gtt: 5}}
    then: {decline: insuficient_funds}
  - id: first
    when:
      clock: {from: 18:05, until: 19:00}
    sequence:
      - {decline: expired_card, times: many}
  - id: third
    then:
      transport: {reset: {}}
"""
GOLDEN_WORDS = """\
bad.yaml:3:1: sede: unknown key 'sede' - did you mean 'seed'?
bad.yaml:8:12: rules[0].when.op: got 'charge.crate', wanted the name of an operation or a glob - did you mean \
'charge.create'?
bad.yaml:8:30: rules[0].when.request.amount: unknown test 'gtt' - did you mean 'gt'?, allowed: eq, ne, in, gt, above, \
gte, below, lt, lte, every, between, starts_with, ends_with, contains, matches, exists
bad.yaml:9:12: rules[0].then.decline: got 'insuficient_funds', which is not a known decline - did you mean \
'insufficient_funds'?
bad.yaml:12:28: rules[1].when.clock.until: unknown key 'until', allowed: from, to, for, days, \
month_days, zone
bad.yaml:14:33: rules[1].sequence[0].times: got 'many', wanted a whole number from 1 to 1000000000
bad.yaml:17:7: rules[2].then.transport: 'at' is missing"""


def test_golden_places() -> None:
    assert "\n".join(faults(GOLDEN_FILE)) == GOLDEN_WORDS


def test_rules_of_one_file_have_ids_of_their_own() -> None:
    rule = "{id: a, then: {approve: {}}}"
    assert faults(f"version: 1\nrules: [{rule}, {rule}]") == [
        "bad.yaml:2:40: rules[1].id: got 'a' a second time; the id of a rule must be unique"
    ]


def test_a_misspelt_provider_is_found_when_the_file_declares_providers() -> None:
    rules = "rules: [{id: a, when: {provider: acq_man}, then: {approve: {}}}]"
    assert (
        "did you mean 'acq_main'?"
        in faults(f"version: 1\nproviders: [{{id: acq_main}}]\n{rules}")[0]
    )
    assert faults(f"version: 1\n{rules}") == []


def test_the_schema_names_what_the_language_knows() -> None:
    text = json.dumps(json_schema())
    for word in (
        "charge.create",
        "insufficient_funds",
        "malformed_json",
        "starts_with",
        "partial_approve",
        "at_end",
    ):
        assert word in text


@pytest.mark.parametrize(
    ("rule", "place", "ours"),
    [
        ("then: {decline: generic_decline}", "then.decline", "'do_not_honour'"),
        ("then: {decline: fraudulent}", "then.decline", "'blocked_by_fraud_rules'"),
        ("then: {decline: incorrect_cvc}", "then.decline", "'wrong_ccv'"),
        ("then: {decline: card_declined}", "then.decline", "'do_not_honour'"),
        ("when: {op: refund.create}, then: {approve: {}}", "when.op", "'charge.refund'"),
        ("when: {op: charge.list}, then: {approve: {}}", "when.op", "'charge.search'"),
        (
            "when: {op: charge.authorise}, then: {approve: {}}",
            "when.op",
            "'charge.create' with 'request.capture: false'",
        ),
        (
            "times: 2, then: {approve: {}}",
            "times",
            "'limit' (how often the rule may fire), or 'times' in a step",
        ),
        ("then: {fault: reset}", "then.fault", "'transport: {at: answer, reset: true}'"),
        ("then: {timeout: 5s}", "then.timeout", "'provider_timeout: {}' (the provider)"),
        ("then: {webhook: {early: true}}", "then.webhook.early", "'before_answer'"),
        (
            "when: {request.amount: {greater_than: 5}}, then: {approve: {}}",
            "when.request.amount",
            "'gt'",
        ),
        (
            "when: {request.amount: {under: 5}}, then: {approve: {}}",
            "when.request.amount",
            "'below'",
        ),
        ("when: {idle: {at_least: 5s}}, then: {approve: {}}", "when.idle", "'gte'"),
        ("then: {transport: {at: response, status: 503}}", "then.transport.at", "'answer'"),
        ("then: {transport: {at: request, status: 503}}", "then.transport.at", "'receive'"),
        ("when: {op: POST /charge/card}, then: {approve: {}}", "when.op", "'charge.create'"),
        (
            "when: {op: delete /refund/{chargeId}}, then: {approve: {}}".replace("{chargeId}", "5"),
            "when.op",
            "'charge.refund'",
        ),
        (
            "when: {op: /charge/5}, then: {approve: {}}",
            "when.op",
            "'charge.get' or 'charge.capture' or 'charge.refund'",
        ),
    ],
)
def test_words_of_other_tools_are_reported_as_they_are_called_here(
    rule: str, place: str, ours: str
) -> None:
    (found,) = faults(f"version: 1\nrules:\n  - {{id: r, {rule}}}\n")
    assert f"rules[0].{place}: " in found
    assert f" - here it is {ours}" in found


def test_a_path_that_nothing_answers_is_referred_to_the_list_of_paths() -> None:
    (found,) = faults(
        "version: 1\nrules: [{id: r, when: {op: POST /nowhere/at/all}, then: {approve: {}}}]"
    )
    assert "rules name operations, not paths; `mockserver routes` prints that of each path" in found


def test_below_is_less_than() -> None:
    for wanted in ("{request.amount: {below: 5}}", "{request.amount: {lt: 5}}"):
        assert [amount for amount in (4, 5, 6) if fires(wanted, request={"amount": amount})] == [4]


def test_every_word_that_a_hint_names_is_one() -> None:
    assert set(FOREIGN_DECLINES.values()) <= set(DECLINES)
    assert not set(FOREIGN_DECLINES) & set(DECLINES)
    named = {word.split("'")[1] if "'" in word else word for word in FOREIGN_OPERATIONS.values()}
    assert named <= set(OPERATIONS)


@pytest.mark.parametrize(
    "when",
    ["source: crad", "card: {brand: vsa}", "card: {test: lost}", "request.initiator: MERCHNT"],
)
def test_editors_and_check_refuse_the_same_words(when: str) -> None:
    text = "version: 1\nrules:\n  - {{id: r, when: {{{}}}, then: {{approve: {{}}}}}}\n"
    assert not said_by_both(text.format(when))
    for good in (
        "source: card",
        "source: {in: [card, token]}",
        "card: {brand: visa}",
        "card: {brand: {ne: AMEX}, test: visa}",
    ):
        assert said_by_both(text.format(good))


@cache
def editor() -> Any:
    """What judges a file by its schema."""
    return jsonschema_rs.validator_for(json_schema())


def said_by_both(text: str) -> bool:
    """Whether the sandbox takes a file, and editors do too."""
    assert editor().is_valid(read(text, "f")[0]) is taken(text)
    return taken(text)


def taken(text: str) -> bool:
    """Whether the sandbox takes a file. Editors know keys, types and words: they take it then."""
    is_taken = faults(text) == []
    assert editor().is_valid(read(text, "f")[0]) or not is_taken
    return is_taken


@pytest.mark.parametrize(
    ("changes", "fits"),
    [
        ("card.expiryDate: 12/40", True),
        ("card.expiryDate: 13/40", False),
        ("payto.status: ACTIVE", True),
        ("payto.status: GONE", False),
        ("charge.status: FAILED", False),
    ],
)
def test_editors_know_what_can_be_set(changes: str, fits: bool) -> None:
    rule = f"{{id: r, when: {{op: payment_method.create}}, then: {{later: [{{after: 1d, set: {{{changes}}}}}]}}}}"
    text = f"version: 1\nrules:\n  - {rule}\n"
    assert said_by_both(text) is fits


@pytest.mark.parametrize(
    ("fault", "fits"),
    [
        ("at: upload, hang: true, delay: 1s", True),
        ("at: upload, delay: 1s", False),
        ("at: connect, delay: 1s", False),
        ("at: answer, headers: {x-count: 1}", True),
        ("at: answer, headers: {x-count: [1]}", False),
    ],
)
def test_a_fault_is_read_where_it_strikes(fault: str, fits: bool) -> None:
    rule = f"{{id: r, when: {{op: charge.create}}, then: {{transport: {{{fault}}}}}}}"
    text = f"version: 1\nclock: {{zone: null}}\nrules:\n  - {rule}\n"
    assert taken(text) is fits


@pytest.mark.parametrize(
    ("words", "fits"),
    [
        ("clock: {rate: 5}", False),
        ("clock: {rate: 5, mode: fast}", True),
        ("assumptions: {vault.gon: not_found}", False),
        ("assumptions: {card.required: number}", True),
        ("providers: [{id: a, type: dumy}]", False),
        ("providers: [{id: a, type: dummy}]", True),
        ("rules: [{id: a, when: {clock: {to: '18:00', for: 1h}}, then: {approve: {}}}]", False),
        ("rules: [{id: a, at_end: hold, then: {approve: {}}}]", False),
        ("rules: [{id: a, at_end: hold, sequence: [{approve: {}}]}]", True),
        ("rules: [{id: a, per: 1s, then: {approve: {}}}]", False),
        (
            "rules: [{id: a, per: 1s, when: {op: charge.create, nth: {gt: 2}}, then: {approve: "
            "{}}}]",
            True,
        ),
        ("rules: [{id: a, then: {transport: {at: connect, reset: true}}}]", False),
        ("rules: [{id: a, limit: 1, then: {transport: {at: connect, reset: true}}}]", True),
        ("rules: [{id: a, when: {op: charge.create}, then: {replay: true}}]", False),
        (
            "rules: [{id: a, when: {op: charge.create}, key: [request.reference], then: {replay: "
            "true}}]",
            True,
        ),
        *(
            (f"rules: [{{id: a, when: {{op: {op}}}, then: {then}}}]", fits)
            for op, then, fits in (
                ("charge.create", "{}", False),
                ("charge.create", "{approve: {}, decline: lost_card}", False),
                ("charge.create", "{approve: null, decline: lost_card, latency: 1s}", True),
                ("charge.create", "{outcome_from: request.metadata.mock}", True),
                ("charge.create", "{outcome_from: request.metadata.mock, latency: 1s}", False),
                ("charge.create", "{decline: {gatewayCode: a}}", False),
                ("charge.create", "{decline: {errorCode: 15}}", True),
                ("charge.create", "{partial_approve: 0}", False),
                ("charge.create", "{challenge: {after: 5s}}", False),
                ("charge.create", "{challenge: {after: 5s, payer: passes}}", True),
                ("charge.create", "{latency: {p50: 1s}}", False),
                ("charge.create", "{latency: {p50: 1s, p99: 2s}}", True),
                ("charge.create", "{latency: {p50: 1s, p99: 2s, min: 1s}}", False),
                ("charge.create", "{later: [{after: 1s}]}", False),
                ("charge.create", "{later: [{after: 1s, void: {}}]}", True),
                ("charge.create", "{later: [{after: 1s, void: {}, capture: {}}]}", False),
                ("charge.create", "{webhook: {}}", False),
                ("charge.create", "{webhook: {drop: true, delay: 5s}}", False),
                ("charge.create", "{webhook: {before_answer: true, delay: 5s}}", False),
                ("charge.create", "{webhook: {before_answer: true, delay: 0s}}", True),
                ("charge.create", "{webhook: {bad_signature: true, signature: none}}", False),
                ("charge.create", "{webhook: {before_answer: true, swap_with_next: 2s}}", False),
                (
                    "charge.create",
                    "{webhook: {extra: true, signature: none, swap_with_next: true}}",
                    False,
                ),
                ("charge.create", "{webhook: {copies: 2, swap_with_next: true}}", True),
                ("charge.create", "{webhook: {together: true, gap: 5s}}", False),
                ("charge.create", "{webhook: {together: true, before_answer: true}}", False),
                (
                    "charge.create",
                    "{webhook: {together: true, before_answer: true, copies: 2}}",
                    True,
                ),
                ("charge.create", "{webhook: {together: true, copies: 11}}", False),
                ("batch.create", "{batch: {}}", False),
                ("batch.create", "{batch: {rows: [{at: [1]}]}}", False),
                (
                    "batch.create",
                    "{batch: {rows: [{at: [1], every: 2, decline: lost_card}]}}",
                    False,
                ),
                ("batch.create", "{batch: {rows: [{at: [1], decline: lost_card}]}}", True),
            )
        ),
    ],
)
def test_keys_that_do_not_belong_together_are_refused_by_reading(words: str, fits: bool) -> None:
    assert taken(f"version: 1\n{words}\n") is fits
