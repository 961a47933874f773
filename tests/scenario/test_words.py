"""What the words of the language refuse, each with what was got, what is wanted and the nearest
known word; and what they mean where the shipped scenarios do not show it."""

import json

import pytest

from mockserver.domain.cards import TEST_CARDS
from mockserver.domain.clock import parse_instant
from mockserver.scenario.attempt import Stage
from tests.driving import Api, card_charge
from tests.scenario.telling import NOW, ask, directing, fault, faults, lost, one, said, told

WRONG = [
    ("chance: {p: 20%, then: {approve: {}}}", "got '20%', wanted a share from 0 to 1, such as 0.2"),
    ("chance: {p: -0.1, then: {approve: {}}}", "got -0.1, wanted a share from 0 to 1, such as 0.2"),
    ("then: {provider_down: true}", "got true, wanted {}: there is nothing more to say"),
    (
        "then: {provider_timeout: {after: 5}}",
        "unknown key 'after'; there is nothing more to say here: write {}",
    ),
    (
        "then: {decline: 15}",
        "got 15, wanted the name of a decline (`mockserver outcomes`), or a map such as "
        "{errorCode: 15}",
    ),
    ("then: {later: [{after: 1d, refund: 5}]}", "got 5, wanted {} or a map such as {amount: 5}"),
    ("then: {approve: 3}", "got 3, wanted {} or a map of copies"),
    ("then: {approve: {copies: 11}}", "got 11, wanted a whole number from 1 to 10"),
    ("decline: lost_card", "got 'decline' here, wanted it under then: {then: {decline: ...}}"),
    ("op: charge.get, then: {lag: 1s}", "got 'op' here, wanted it under when: {when: {op: ...}}"),
    ("when: {op: charge.make}, then: {approve: {}}", "here it is 'charge.create'"),
    (
        "when: {state.charge.status: Authorized}, then: {lag: 1s}",
        "FAILED, Authorised - did you mean 'Authorised'?",
    ),
    (
        "when: {op: charge.get, overlaps: chrge}, then: {lag: 1s}",
        "got 'chrge', allowed: charge, vault",
    ),
    ("when: {op: charge.get, overlaps: {zzz: 1}}, then: {lag: 1s}", "allowed: charge, vault"),
    (
        "when: {in_flight: {abov: 2}}, then: {lag: 1s}",
        "unknown test 'abov' - did you mean 'above'?",
    ),
    ("when: {in_flight: 0}, then: {lag: 1s}", "got 0, wanted a whole number from 1 on"),
    (
        "when: {op: webhook.deliver, in_flight: {above: 2}}, then: {webhook: {copies: 2}}",
        "rules[0].when.in_flight: no request comes in for webhook.deliver, so in_flight cannot be "
        "used there; a rule",
    ),
    (
        "when: {op: [charge.get, webhook.deliver], overlaps: charge}, then: {webhook: {copies: 2}}",
        "no request comes in for webhook.deliver, so overlaps cannot be used there; a rule for it "
        "may test request.",
    ),
    (
        "when: {op: subscription.renew, in_flight: 2}, then: {approve: {}}",
        "no request comes in for subscription.renew",
    ),
    (
        "when: {idle: {between: [2h, 1h]}}, then: {lag: 1s}",
        "got [2h, 1h], wanted the lower one first",
    ),
    (
        "then: {webhook: {swap_with_next: 0s}}",
        "got '0s', wanted true, false or a duration above 0, such as 2s",
    ),
    (
        "then: {transport: {at: receive, status: 503, retry_after: 9.5}}",
        "got 9.5, wanted whole seconds",
    ),
    (
        "then: {webhook: {receiver: ['500']}}",
        "got '500', wanted an HTTP status from 100 to 599 or timeout",
    ),
    (
        "when: charge.get, then: {lag: 1s}",
        "wanted a map of keys and values, such as {op: charge.create}",
    ),
    ("when: {op: charge.get, amount: 5}, then: {lag: 1s}", "unknown key 'amount', allowed: op, "),
    ("when: {amount: 5}, then: {lag: 1s}", "unknown key 'amount' - did you mean 'request.amount'?"),
    (
        "when: {card.last4: '1111'}, then: {approve: {}}",
        "unknown key 'card.last4' - did you mean 'card'?",
    ),
    (
        "when: {op: POST /vault}, then: {lag: 1s}",
        "rules name operations, not paths - here it is 'vault.create'",
    ),
    ("when: {op: zzzzzz}, then: {lag: 1s}", "or a glob; `mockserver operations` prints all"),
    ("when: {op: chrge.*}, then: {lag: 1s}", "a glob - did you mean 'charge.*'?"),
    ("when: {op: chrge.get}, then: {lag: 1s}", "a glob - did you mean 'charge.get'?"),
    (
        "when: {op:charge.get}, then: {lag: 1s}",
        "unknown key 'op:charge.get' - a space is missing after 'op:'",
    ),
    ("when: {opp:charge.get}, then: {lag: 1s}", "unknown key 'opp:charge.get', allowed: op,"),
    (
        "then: {decline:lost_card}",
        "unknown key 'decline:lost_card' - a space is missing after 'decline:'",
    ),
    (
        "when: {request.amount: {gt: 1,000}}, then: {lag: 1s}",
        "unknown test '000' - a comma ends the number before it",
    ),
    ("then: {latency: -3s}", "got '-3s', wanted a duration of zero or more, such as 800ms"),
    ("then: {latency: soon}", "got 'soon', wanted a duration such as 800ms"),
    (
        "when: {clock: {from: '22:00', to: '24:00'}}, then: {lag: 1s}",
        "18:05:00Z; midnight is 00:00",
    ),
    (
        "then: {dispute: {}}",
        "unknown key 'dispute' - here it is 'later: [{after: 30d, emit: {event: charge.dispute",
    ),
    (
        "then: {later: [{after: 30d, chargeback: {}}]}",
        "created}', and a later 'settle: FAILED' when it is lost",
    ),
    (
        "when: {op: null}, then: {lag: 1s}",
        "got nothing, wanted an operation's name or a glob such as charge.*",
    ),
    (
        "when: {request.reference: {eq: [a]}}, then: {lag: 1s}",
        'eq: got ["a"], wanted a plain value',
    ),
    (
        "when: {request.reference: {in: [[a]]}}, then: {lag: 1s}",
        'in: got [["a"]], wanted plain values',
    ),
    ("when: {nth: {in: []}}, then: {lag: 1s}", "got [], wanted a list of values"),
    (
        "when: {clock: '18:00'}, then: {lag: 1s}",
        "got '18:00', wanted a map of from, to, for, days, month_days, zone",
    ),
    (
        "when: {clock: {days: [mon, mon, mon, mon, mon, mon, mon, mon]}}, then: {lag: 1s}",
        "got more than the 7 that are",
    ),
    ("then: {webhook: drop}", "got 'drop', wanted a map of drop, delay"),
    (
        "then: {transport: {at: receive, retry_after: 3}}",
        "retry_after need status, which is missing",
    ),
    ("if: {op: charge.get}, then: {lag: 1s}", "unknown key 'if' - here it is 'when'"),
    ("when: {age: 5d}, then: {lag: 1s}", "got '5d', wanted a map such as {above: 30d}"),
    (
        "when: {idle: {above: 5}}, then: {lag: 1s}",
        "got 5, wanted a duration with its unit, such as 30d",
    ),
    ("when: {idle: {abve: 5d}}, then: {lag: 1s}", "unknown test 'abve' - did you mean 'above'?"),
    # Words of other tools for operators that no length of time has get no advice to use these.
    *(
        (
            f"when: {{{key}: {{{word}: 5d}}}}, then: {{lag: 1s}}",
            f"{key}: unknown test '{word}', allowed: above, gt, gte, below, lt, lte, between",
        )
        for key in ("age", "idle")
        for word in ("equals", "eq", "absent")
    ),
    (
        "when: {age: {greater_than: 5d}}, then: {lag: 1s}",
        "unknown test 'greater_than' - here it is 'gt', allowed: above",
    ),
    (
        "when: {request.reference: {absent: true}}, then: {lag: 1s}",
        "unknown test 'absent' - here it is 'exists: false'",
    ),
    (
        "when: {request.reference: {equals: a}}, then: {lag: 1s}",
        "unknown test 'equals' - here it is 'eq'",
    ),
    (
        "when: {clock: {days: [Monday]}}, then: {lag: 1s}",
        "allowed: mon, tue, wed, thu, fri, sat, sun - did you mean 'mon'?",
    ),
    (
        "when: {clock: {month_days: [32]}}, then: {lag: 1s}",
        "got 32, wanted a day from 1 to 31 or last",
    ),
    ("when: {clock: {days: mon}}, then: {lag: 1s}", "got 'mon', wanted a list"),
    ("when: {clock: {days: []}}, then: {lag: 1s}", "got no day, wanted at least one"),
    (
        "when: {clock: {zone: UTC}}, then: {lag: 1s}",
        "got nothing, wanted at least one of from, to, for, days, month_days",
    ),
    ("when: {clock: {days: [mon], for: 1h}}, then: {lag: 1s}", "got days without a time of day"),
    ("when: {nth: {every: 0}}, then: {lag: 1s}", "got 0, wanted a whole number from 1 on"),
    (
        "key: al, when: {nth: 2}, then: {lag: 1s}",
        "got 'al', wanted a list of paths such as [request.reference], or all",
    ),
    ("then: {as_usual: {}, decline: lost_card}", "it cannot be combined with anything else"),
    (
        "when: {op: customer.get}, then: {later: [{after: 1d, expire: {}}]}",
        "later: expire means nothing in customer.get",
    ),
    (
        "when: {op: charge.refund}, then: {approve: {copies: 2}}",
        "approve: copies means nothing in charge.refund",
    ),
    (
        "then: {webhook: {signature: previos}}",
        "allowed: none, bad, stale, previous - did you mean 'previous'?",
    ),
    (
        "then: {webhook: {blocks: true, together: true}}",
        "got together and blocks, only one of them is allowed",
    ),
]


@pytest.mark.parametrize(("rule", "words"), WRONG, ids=[rule for rule, _ in WRONG])
def test_a_word_of_the_language_with_a_wrong_value_is_refused(rule: str, words: str) -> None:
    assert words in fault(f"  - {{id: r, {rule}}}\n")


def test_a_fallback_that_nobody_knows_names_those_that_are_known() -> None:
    found = faults("version: 1\nproviders: [{id: acq_main, fallback: zz}]\n")
    assert "got 'zz', wanted a provider's id, one of acq_main, " in found[0]


def test_latency_alone_leaves_the_outcome_to_later_rules() -> None:
    slow = "  - {id: slow, when: {op: charge.create}, then: {latency: 2s}}\n"
    slower = "  - {id: slower, when: {op: charge.create}, then: {latency: 9s}}\n"
    last = "  - {id: lost, when: {op: charge.create}, then: {decline: lost_card}}\n"
    director = directing(told(slow + slower + last))
    decision = ask(director)
    assert (decision.rule, said(decision)) == ("lost", "lost_card")
    assert [rule.rule for rule in decision.passing] == ["slow"]
    assert decision.slowing is not None
    assert decision.slowing.delay == 2_000_000
    assert (
        "slower",
        "latency: wanted a call that no earlier rule slows, got one of slow",
    ) in lost(director, decision)
    alone = ask(directing(told(slow)))
    assert (alone.rule, alone.delay) == ("slow", 2_000_000)


def test_as_usual_shields_from_rules_but_not_from_the_test_values() -> None:
    rules = (
        "  - {id: usual, when: {op: charge.create, request.reference: a}, then: {as_usual: {}}}\n"
        "  - {id: lost, when: {op: charge.create}, then: {decline: lost_card}}\n"
    )
    api = Api(scenario=f"version: 1\nrules:\n{rules}")
    poor = {"cardNumber": TEST_CARDS["insufficient_funds"], "expiryDate": "12/40", "ccv": "123"}
    answers = [
        api.post("/charge/card", card_charge(reference="a")),
        api.post("/charge/card", card_charge(reference="b")),
        api.post("/charge/card", {**card_charge(reference="a"), "paymentInformation": poor}),
    ]
    assert [answer.body.get("code") for answer in answers] == [None, 941, 15]


@pytest.mark.parametrize(
    ("day", "fires"), [("2031-02-28", True), ("2031-02-27", False), ("2032-02-28", False)]
)
def test_the_last_day_of_a_month(day: str, fires: bool) -> None:
    rule = (
        "  - {id: r, when: {op: charge.create, clock: {month_days: [last]}}, then: {decline: "
        "lost_card}}\n"
    )
    assert (ask(directing(told(rule)), now=parse_instant(f"{day}T12:00:00Z")).rule == "r") is fires


def test_a_span_over_midnight_belongs_to_the_day_on_which_it_begins() -> None:
    span = '{days: [sat], from: "22:00", to: "02:00"}'
    director = directing(
        told(
            "  - "
            f"{{id: r, when: {{op: charge.create, clock: {span}}}, then: {{decline: lost_card}}}}\n"
        )
    )
    # NOW is 18:00 on a Saturday.
    hours = [ask(director, now=NOW + hour * 3_600_000_000).rule for hour in (0, 5, 7, 9, 29)]
    assert hours == [None, "r", "r", None, None]


def test_a_file_that_is_refused_keeps_none_of_its_rules(api: Api) -> None:
    reply = api.put(
        "/__admin/scenarios",
        {"version": 1, "rules": [{"id": "r", "then": {"approve": {"copies": 0}}}]},
    )
    assert (reply.status, reply["code"]) == (400, 90)
    assert "r" not in {rule["id"] for rule in api.get("/__admin/rules")["rules"]}
    assert json.loads(reply.raw)["details"]


def test_idle_counts_from_the_last_call_of_the_key() -> None:
    when = "{op: charge.create, idle: {above: 1h}}"
    director = directing(told(one(when, "then: {decline: lost_card}", "key: [request.reference]")))
    hour = 3_600_000_000
    seen = [
        ask(director, Stage.PROVIDER, now=NOW + at, request={"reference": key}).rule
        for at, key in [
            (0, "a"),
            (hour, "a"),
            (2 * hour, "b"),
            (2 * hour + 1, "a"),
            (4 * hour, "b"),
        ]
    ]
    assert seen == [None, None, None, "r", "r"]
