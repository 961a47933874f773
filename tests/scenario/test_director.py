"""The director: order, counting, sequences, chance, limits, reload, and what it says about rules
that lost."""

import copy
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockserver.domain.clock import DAY, HOUR, SECOND, parse_instant
from mockserver.scenario.attempt import Stage
from mockserver.scenario.director import Director, Ruleset
from mockserver.scenario.outcome import NOTHING
from mockserver.scenario.transport import Transport
from tests.depth import tries
from tests.scenario.telling import (
    NOW,
    ask,
    attempt,
    card,
    directing,
    fault,
    lost,
    one,
    said,
    stored,
    told,
)

TWO = """
  - id: first
    when: {request.amount: {gt: 100}}
    then: {decline: expired_card}
  - id: second
    then: {decline: lost_card}
"""


def sequence(steps: str, more: str = "key: [request.reference]") -> Director:
    return directing(told(one("{}", f"sequence: {steps}", more)))


def refusals(director: Director, references: Sequence[str]) -> list[str | None]:
    return [said(ask(director, request={"reference": one_of})) for one_of in references]


def test_no_rules_decide_nothing() -> None:
    director = directing()
    decision = ask(director)
    assert (decision.outcome, decision.rule, lost(director, decision)) == (NOTHING, None, [])


def test_the_first_match_in_file_order_wins() -> None:
    director = directing(told(TWO))
    assert ask(director, request={"amount": 101}).rule == "first"
    assert ask(director, request={"amount": 100}).rule == "second"


def test_files_given_later_come_first_and_test_values_last() -> None:
    from dataclasses import replace

    low, high = (
        told(one(what="then: {decline: lost_card}")),
        told(one(what="then: {decline: stolen_card}")),
    )
    assert said(ask(directing(low, high))) == "stolen_card"
    assert said(ask(directing(low, replace(high, builtin=True)))) == "lost_card"


def test_equal_rule_ids_of_two_files_are_reported_apart() -> None:
    director = directing(told(one("{request.amount: 1}")), told(one("{request.amount: 2}")))
    assert [report.rule.id for report in director.rules()] == ["r", "story/r"]
    assert ask(director, request={"amount": 1}).rule == "story/r"


def test_a_thousand_rules_that_cannot_match_are_not_asked() -> None:
    rules = "".join(
        "  - "
        f"{{id: r{n}, when: {{op: charge.create, request.reference: ref-{n}}}, then: {{decline: lost_card}}}}\n"
        for n in range(1000)
    )
    scenario = told(rules)
    bucket = Ruleset([scenario]).buckets[Stage.PROVIDER, "charge.create", None]
    assert bucket is not None
    assert list(bucket.candidates(attempt(request={"reference": "other"}))) == []
    assert [rule.id for rule in bucket.candidates(attempt(request={"reference": "ref-7"}))] == [
        "r7"
    ]
    director = directing(scenario)
    assert len(lost(director, ask(director, request={"reference": "other"}))) == 1000


def test_indexed_and_other_rules_keep_their_order() -> None:
    rules = """
  - {id: a, when: {request.reference: x}, then: {decline: lost_card}}
  - {id: b, when: {request.amount: {gt: 5}}, then: {decline: lost_card}}
  - {id: c, when: {card: {test: visa}}, then: {decline: lost_card}}
  - {id: given, when: {request.email: {exists: true}}, then: {decline: lost_card}}
  - {id: d, then: {decline: lost_card}}
"""
    director = directing(told(rules))
    assert ask(director, request={"email": "a@b.example", "amount": 6}).rule == "b"
    given = ask(director, request={"email": "a@b.example", "amount": 5})
    assert (given.rule, [rule for rule, _ in lost(director, given)]) == ("given", ["a", "b", "c"])
    assert lost(director, ask(director, request={"amount": 5}))[-1] == (
        "given",
        "request.email: wanted existing: true, got nothing",
    )
    assert ask(director, request={"reference": "x", "amount": 6}, card=card()).rule == "a"
    assert ask(director, request={"amount": 6}, card=card()).rule == "b"
    assert ask(director, request={"amount": 5}, card=card()).rule == "c"
    assert ask(director, request={"amount": 5}).rule == "d"


def test_what_the_losers_wanted_is_said() -> None:
    rules = """
  - {id: ref, when: {request.reference: x}, then: {decline: lost_card}}
  - {id: amount, when: {op: charge.create, request.amount: {gt: 5}}, then: {decline: lost_card}}
  - {id: refunds, when: {op: charge.refund}, then: {decline: lost_card}}
  - {id: clock, when: {clock: {from: 19:00}}, then: {decline: lost_card}}
  - {id: spent, sequence: [{decline: lost_card}]}
  - {id: state, when: {state.charge.status: SUCCESS}, then: {decline: lost_card}}
  - {id: last, then: {decline: lost_card}}
  - {id: never-asked, then: {decline: lost_card}}
"""
    director = directing(told(rules))
    ask(director, request={"amount": 3})
    decision = ask(director, request={"amount": 3}, state=stored(charge={"status": "FAILED"}))
    assert decision.rule == "last"
    assert lost(director, decision) == [
        ("ref", "request.reference: wanted 'x', got nothing"),
        ("amount", "request.amount: wanted more than 5, got 3"),
        ("clock", "clock: wanted from 19h after midnight, got 2031-03-01T18:00:00.0000000Z"),
        ("spent", "sequence: wanted one of its 1 steps, got a call after the last"),
        ("state", "state.charge.status: wanted 'SUCCESS', got 'FAILED'"),
    ]


def test_card_numbers_are_masked_in_what_is_said() -> None:
    director = directing(told(one("{request.description: x}")))
    decision = ask(director, request={"description": "paid by 4111 1111 1111 1111"})
    ((_, words),) = lost(director, decision)
    assert words == "request.description: wanted 'x', got 'paid by 4111********1111'"


@pytest.mark.parametrize(
    ("at_end", "expected"),
    [
        ("pass", ["expired_card", "lost_card", "lost_card", None, None]),
        ("hold", ["expired_card", "lost_card", "lost_card", "lost_card", "lost_card"]),
        ("loop", ["expired_card", "lost_card", "lost_card", "expired_card", "lost_card"]),
        (
            "fail",
            ["expired_card", "lost_card", "lost_card", "sequence_exhausted", "sequence_exhausted"],
        ),
    ],
)
def test_sequence(at_end: str, expected: list[str | None]) -> None:
    director = sequence(
        "[{decline: expired_card}, {decline: lost_card, times: 2}]", f"at_end: {at_end}"
    )
    assert refusals(director, ["a"] * 5) == expected
    assert director.unmet() == (
        ["rule 'r' (story.yaml): its sequence of 3 was used up, and 2 more calls came"]
        if at_end == "fail"
        else []
    )


def test_sequences_are_counted_by_key() -> None:
    director = sequence("[{decline: expired_card}, {decline: lost_card}]")
    assert refusals(director, ["a", "b", "a", "b", "a"]) == [
        "expired_card",
        "expired_card",
        "lost_card",
        "lost_card",
        None,
    ]


def test_the_default_key_is_the_object_of_the_call() -> None:
    director = sequence("[{decline: expired_card}]", "limit: 9")
    assert [said(ask(director, subject=name)) for name in ("x", "y", "x")] == [
        "expired_card",
        "expired_card",
        None,
    ]


@pytest.mark.parametrize(
    ("key", "facts"),
    [
        ("request.metadata.tier", [{"request": {"metadata": {"tier": name}}} for name in "ab"]),
        ("header.X-Run", [{"headers": {"x-run": name}} for name in "ab"]),
        ("state.charge.chargeId", [{"state": stored(charge={"chargeId": name})} for name in "ab"]),
        ("card.last4", [{"card": card(name)} for name in ("visa", "visa_2")]),
        ("provider", [{"provider": name} for name in "ab"]),
        ("batch.row", [{"row": number} for number in (1, 2)]),
    ],
)
def test_keys(key: str, facts: list[dict[str, object]]) -> None:
    director = sequence("[{decline: expired_card}]", f"key: [{key}]")
    assert [said(ask(director, **facts[index])) for index in (0, 1, 0)] == [
        "expired_card",
        "expired_card",
        None,
    ]


def test_a_key_of_two_paths_keeps_them_apart() -> None:
    director = sequence("[{decline: expired_card}]", "key: [request.reference, request.currency]")
    pairs = [("a|b", "c"), ("a", "b|c"), ("a|b", "c")]
    seen = [
        said(ask(director, request={"reference": one_of, "currency": other}))
        for one_of, other in pairs
    ]
    assert seen == ["expired_card", "expired_card", None]


def test_a_secret_key_is_refused() -> None:
    assert "cannot be tested or counted by" in fault(
        one(more="key: [request.paymentInformation.cardNumber]")
    )
    assert "rules[0].key[0]: got 'nonsense'" in fault(one(more="key: [nonsense]"))


def test_an_exhausted_sequence_on_arrival_refuses_the_call() -> None:
    director = directing(
        told(
            one(
                "{op: charge.get}",
                "sequence: [{transport: {at: answer, reset: {}}}]",
                "at_end: fail",
            )
        )
    )
    ask(director, Stage.ARRIVAL, op="charge.get")
    transport = ask(director, Stage.ARRIVAL, op="charge.get").outcome.transport
    assert isinstance(transport, Transport)
    assert transport.status == 400


def test_limit() -> None:
    director = directing(told(one(more="limit: 2")))
    assert [ask(director, subject=name).rule for name in "abc"] == ["r", "r", None]
    assert [
        (report.tally.hits, report.left, report.spent is None) for report in director.rules()
    ] == [(2, 0, False)]


def test_a_limit_for_each_key() -> None:
    director = directing(told(one(more="limit: {times: 2, per: key}")))
    assert [ask(director, subject=name).rule for name in "aaabba"] == [
        "r",
        "r",
        None,
        "r",
        "r",
        None,
    ]
    report = director.rules()[0]
    assert (report.tally.calls, report.tally.hits, report.left, report.spent is None) == (
        4,
        4,
        None,
        True,
    )
    why = lost(director, ask(director, subject="a"))
    assert why == [("r", "limit: wanted fewer than 2 firings for its key, got 2")]


def test_counters_that_renew() -> None:
    nth = directing(told(one("{op: charge.create, nth: {gt: 2}}", more="per: 1s")))
    times = (0, 0, 0, SECOND - 1, SECOND, SECOND, SECOND)
    assert [ask(nth, now=NOW + later).rule for later in times] == [
        None,
        None,
        "r",
        "r",
        None,
        None,
        "r",
    ]
    limit = directing(told(one(more="limit: 1\n    per: 1h")))
    assert [ask(limit, now=NOW + later).rule for later in (0, 1, HOUR)] == ["r", None, "r"]
    assert [limit.rules(NOW + later)[0].left for later in (HOUR, 2 * HOUR)] == [0, 1]
    assert (limit.rules()[0].tally.hits, limit.rules()[0].tally.calls) == (2, 2)
    steps = directing(
        told(one(what="sequence: [{decline: lost_card}, {decline: error}]", more="per: 1d"))
    )
    assert [said(ask(steps, now=NOW + later)) for later in (0, HOUR, 6 * HOUR)] == [
        "lost_card",
        "error",
        "lost_card",
    ]


def test_a_chance_that_counts_by_day_draws_anew_each_day() -> None:
    rule = one(what="chance: {p: 0.5, then: {decline: lost_card}}", more="limit: 40\n    per: 1d")
    director = directing(told(rule))
    days = [[ask(director, now=NOW + day * DAY).rule for _ in range(20)] for day in range(4)]
    assert len({tuple(map(str, day)) for day in days}) == 4


def test_days_begin_at_midnight_in_the_zone_of_the_clock() -> None:
    sydney = "clock: {zone: Australia/Sydney}\n"
    once = one(what="then: {decline: lost_card}", more="limit: 1\n    per: 1d")
    by_key = one("{op: charge.create, nth: 1}", more="key: [clock.day]")
    before, after = parse_instant("2031-03-01T12:59:59Z"), parse_instant("2031-03-01T13:00:00Z")
    for rule in (once, by_key):
        assert [ask(directing(told(rule, sydney)), now=now).rule for now in (before, before)] == [
            "r",
            "r",
        ]
        director = directing(told(rule, sydney))
        assert [ask(director, now=now).rule for now in (before, before, after)] == ["r", None, "r"]
        director = directing(told(rule))
        assert [ask(director, now=now).rule for now in (before, after)] == ["r", None]


def test_weeks_begin_on_a_monday() -> None:
    director = directing(told(one(more="limit: 1\n    per: 1w")))
    sunday, monday = parse_instant("2031-03-02T23:59:59Z"), parse_instant("2031-03-03T00:00:00Z")
    assert [ask(director, now=now).rule for now in (sunday, sunday, monday)] == ["r", None, "r"]


def test_a_rule_lives_for_a_while_after_its_first_firing() -> None:
    director = directing(told(one(more="for: 1h")))
    assert [ask(director, now=NOW + 9 * HOUR + later).rule for later in (0, HOUR - 1, HOUR)] == [
        "r",
        "r",
        None,
    ]


def test_expect() -> None:
    twice = directing(told(one(more="expect: {min: 1, max: 2}")))
    assert twice.unmet() == ["rule 'r' (story.yaml): expected at least 1, fired 0 times"]
    ask(twice)
    assert twice.unmet() == []
    ask(twice)
    ask(twice)
    assert twice.unmet() == ["rule 'r' (story.yaml): expected at most 2, fired 3 times"]
    assert directing(told(one(more="expect: {max: 0}"))).unmet() == []
    assert directing(told(one(more="expect: {}"))).unmet() != []


def test_chance_is_a_share_and_a_miss_passes_to_later_rules() -> None:
    rules = (
        one(what="chance: {p: 0.2, then: {decline: expired_card}}")
        + "  - {id: z, then: {decline: lost_card}}\n"
    )
    director = directing(told(rules))
    seen = [said(ask(director, subject=str(n))) for n in range(2000)]
    assert 320 < seen.count("expired_card") < 480
    assert seen.count("expired_card") + seen.count("lost_card") == 2000


def test_chance_of_nothing_and_of_everything() -> None:
    assert (
        said(ask(directing(told(one(what="chance: {p: 0, then: {decline: expired_card}}")))))
        is None
    )
    always = directing(told(one(what="chance: {p: 1, then: {decline: expired_card}}")))
    assert {said(ask(always, subject=str(n))) for n in range(200)} == {"expired_card"}


def test_weighted_chance() -> None:
    director = directing(
        told(
            one(
                what="chance: [{weight: 3, then: {decline: expired_card}}, {weight: 1, then: "
                "{approve: {}}}]"
            )
        )
    )
    seen = [said(ask(director, subject=str(n))) for n in range(2000)]
    assert 1400 < seen.count("expired_card") < 1600
    assert director.rules()[0].tally.hits == 2000


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("chance: {p: 1.2, then: {approve: {}}}", "wanted a share from 0 to 1"),
        ("chance: {p: 0.5}", "rules[0].chance: 'then' is missing"),
        ("chance: []", "got nothing, wanted at least one"),
        ("chance: [{weight: 0, then: {approve: {}}}]", "got 0, wanted a number above 0"),
        (
            "chance: [{weight: 1, then: {decline: nope}}]",
            "rules[0].chance[0].then.decline: got 'nope'",
        ),
        ("sequence: []", "got nothing, wanted at least one"),
        ("sequence: [{approve: {}, times: 0}]", "got 0, wanted a whole number from 1"),
        ("sequence: [{}]", "rules[0].sequence[0]: got no outcome"),
        ("limit: 3", "got none, wanted exactly one of then, sequence, chance"),
        (
            "then: {approve: {}}\n    sequence: [{approve: {}}]",
            "got then and sequence, wanted exactly one",
        ),
        ("then: {approve: {}}\n    at_end: hold", "got at_end without a sequence"),
        (
            "sequence: [{approve: {}}]\n    at_end: stop",
            "got 'stop', allowed: pass, hold, loop, fail",
        ),
        ("then: {approve: {}}\n    limit: 0", "got 0, wanted a whole number from 1"),
        ("then: {approve: {}}\n    limit: {per: key}", "rules[0].limit: 'times' is missing"),
        (
            "then: {approve: {}}\n    limit: {times: 2, per: day}",
            "limit.per: got 'day', allowed: key",
        ),
        (
            "then: {approve: {}}\n    limit: {times: 0, per: key}",
            "got 0, wanted a whole number from 1",
        ),
        (
            "then: {approve: {}}\n    per: 1s",
            "rules[0].per: per resets nothing here: it needs nth, a sequence or a limit",
        ),
        ("then: {approve: {}}\n    limit: 1\n    per: 0s", "got '0s', wanted a duration above 0"),
        ("then: {approve: {}}\n    limit: 1\n    per: day", "got 'day'"),
        ("then: {approve: {}}\n    key: [clock.dy]", "got 'clock.dy'"),
        ("then: {approve: {}}\n    for: 5", "got 5, wanted a duration with its unit"),
        ("then: {approve: {}}\n    expect: {min: 3, max: 2}", "got min 3 and max 2"),
    ],
)
def test_a_limit_a_chance_or_a_sequence_that_makes_no_sense_is_refused(
    what: str, words: str
) -> None:
    assert words in fault(one("{}", what))


def test_metadata_names_an_outcome() -> None:
    director = directing(
        told(
            one(
                "{request.metadata.mock: {exists: true}}",
                "then: {outcome_from: request.metadata.mock}",
            )
        )
    )
    assert (
        said(ask(director, request={"metadata": {"Mock": "insufficient_funds"}}))
        == "insufficient_funds"
    )
    assert (
        said(ask(director, request={"metadata": {"MOCK": "Insufficient-Funds"}}))
        == "insufficient_funds"
    )
    assert ask(director, request={"metadata": {}}).rule is None
    unknown = ask(director, request={"metadata": {"mock": "insuficient_funds"}}).outcome.provider
    assert "did you mean 'insufficient_funds'?" in str(unknown)


PAIRS = st.lists(st.sampled_from("abcd"), min_size=1, max_size=40)


@settings(max_examples=tries(30, 300))
@given(order=PAIRS, data=st.data(), seed=st.integers(0, 9))
def test_what_a_key_meets_does_not_depend_on_the_others(
    order: list[str], data: st.DataObject, seed: int
) -> None:
    rules = """
  - id: flaky
    key: [request.reference]
    chance: {p: 0.3, then: {decline: expired_card}}
  - id: turns
    key: [request.reference]
    sequence: [{decline: lost_card}, {decline: stolen_card, times: 2}]
  - id: mixed
    key: [request.reference]
    chance: [{weight: 1, then: {decline: provider_down}}, {weight: 2, then: {decline: error}}]
"""
    scenario = told(rules)
    other = data.draw(st.permutations(order))

    def by_key(references: list[str]) -> dict[str, list[str | None]]:
        director = directing(scenario, seed=seed)
        seen: dict[str, list[str | None]] = {}
        for reference in references:
            seen.setdefault(reference, []).append(
                said(ask(director, request={"reference": reference}))
            )
        return seen

    assert by_key(order) == by_key(other)


def test_draws_differ_by_seed_and_sandbox() -> None:
    scenario = told(one(what="chance: {p: 0.5, then: {decline: expired_card}}"))

    def draws(seed: int, sandbox: str) -> list[str | None]:
        director = directing(scenario, seed=seed, sandbox=sandbox)
        return [said(ask(director, subject="x")) for _ in range(64)]

    assert draws(1, "a") == draws(1, "a")
    assert len({tuple(draws(*place)) for place in ((1, "a"), (2, "a"), (1, "b"))}) == 3


def test_a_drawn_latency_is_the_same_in_every_run() -> None:
    scenario = told(one(what="then: {latency: {min: 1ms, max: 9s}}"))
    runs = [
        [ask(director).delay for _ in range(5)]
        for director in (directing(scenario), directing(scenario))
    ]
    assert runs[0] == runs[1]
    assert len(set(runs[0])) == 5


def test_counters_go_on_where_they_were() -> None:
    scenario = told(one("{}", "sequence: [{decline: expired_card}, {decline: lost_card}]"))
    director = directing(scenario)
    ask(director, subject="b")
    ask(director, subject="a")
    again = directing(scenario)
    again.take_over(copy.deepcopy(director.tallies))
    assert again.tallies == director.tallies
    assert said(ask(again, subject="a")) == "lost_card"
    assert again.tallies != director.tallies


def test_counters_of_other_rules_are_not_taken_over() -> None:
    director = directing(told(one()))
    ask(director)
    other = directing(told(one("{request.amount: 5}")))
    other.take_over(director.tallies)
    assert other.rules()[0].tally.hits == 0


def test_reload_keeps_counters_of_unchanged_rules() -> None:
    before = told(
        "  - {id: a, limit: 1, then: {decline: lost_card}}\n  - {id: b, limit: 1, then: {decline: "
        "error}}\n"
    )
    after = told(
        "  - {id: b, limit: 2, then: {decline: error}}\n  - {id: a, limit: 1, then: {decline: "
        "lost_card}}\n"
    )
    director = directing(before)
    assert [said(ask(director)) for _ in range(3)] == ["lost_card", "error", None]
    director.replace(Ruleset([after]))
    assert [said(ask(director)) for _ in range(3)] == ["error", "error", None]


@pytest.mark.parametrize(
    ("head", "alike"), [("draws: seed\n", True), ("draws: sandbox\n", False), ("", False)]
)
def test_where_the_seed_alone_draws_every_sandbox_meets_the_same(head: str, alike: bool) -> None:
    rule = one(
        what="chance: {p: 0.5, then: {decline: expired_card, latency: {max: 1s}}}",
        more="key: [request.reference]",
    )
    scenario = told(rule, head)
    references = [f"r-{number}" for number in range(64)]

    def met(sandbox: str, seed: int = 1) -> list[tuple[str | None, int]]:
        director = directing(scenario, seed=seed, sandbox=sandbox)
        decisions = [ask(director, request={"reference": name}) for name in references]
        return [(said(decision), decision.delay) for decision in decisions]

    assert (met("sk_a") == met("sk_b")) is alike
    assert met("sk_a") == met("sk_a")
    assert met("sk_a", seed=1) != met("sk_a", seed=2)
