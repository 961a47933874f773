"""Rules that never fire, and rules that others shield: each with a near miss that nobody is warned
of."""

import pytest

from mockserver.domain.provider import DEFAULT_PROVIDER_ID
from mockserver.scenario.shadowed_rules import warnings
from tests.scenario.telling import told

HEAD = "clock: {start: '2031-03-01T00:00:00Z', mode: manual}\nproviders: [{id: acq_main}]\n"
LOST = "then: {decline: lost_card}"
BIG = (
    "{id: big, when: {op: charge.create, request.amount: {gt: 100}}, then: {latency: 2s, "
    "webhook: {copies: 2}}}"
)
SLOW = "{id: slow, when: {op: charge.create}, then: {latency: 2s, webhook: {copies: 2}}}"
BREAKS = "then: {transport: {at: receive, status: 500}}"


DURING = "clock: {from:"


def big(amounts: str) -> str:
    return f"{{id: big, when: {{op: charge.create, request.amount: {{{amounts}}}}}, {LOST}}}"


def during(span: str) -> str:
    return f"{{id: span, when: {{op: charge.create, {DURING} {span}}}}}, {LOST}}}"


def warned(*rules: str) -> list[str]:
    scenario = told("".join(f"  - {rule}\n" for rule in rules), HEAD)
    return [f"{one.rule.id} {one.words}" for one in warnings(scenario)]


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (
            f"when: {{op: charge.refund, request.amount: {{gt: 5, lt: 3}}}}, {LOST}",
            "no value passes its test",
        ),
        (
            f"when: {{op: charge.refund, request.amount: {{gt: 5, lte: 5}}}}, {LOST}",
            "no value passes its test",
        ),
        (
            f"when: {{op: charge.create, state.charge.status: SUCCESS}}, {LOST}",
            "no charge exists yet",
        ),
        (
            f"when: {{op: customer.create, state.customer.reference: X}}, {LOST}",
            "in customer.create no customer exists yet",
        ),
        (
            f"when: {{op: payment_method.create, state.paymentMethod.type: CARD}}, {LOST}",
            "no payment method exists yet, so state.paymentMethod.type has no value",
        ),
        (
            f"when: {{op: charge.refund, state.charge.currency: aud}}, {LOST}",
            "never fires: a stored currency is written AUD, not aud",
        ),
        (
            f"when: {{op: charge.create, request.currency: {{in: [AUD, nzd]}}}}, {LOST}",
            "fires only for clients that write 'nzd'",
        ),
        (
            f"when: {{op: charge.capture, source: card}}, {LOST}",
            "acts on a charge that exists already, whatever its source",
        ),
        (f"when: {{op: charge.create, nth: {{lt: 1}}}}, {LOST}", "no value passes its test of nth"),
        (
            "when: {op: charge.create}, then: {webhook: {together: false}}",
            "changes nothing by its webhook",
        ),
        ("when: {op: charge.create}, then: {webhook: {gap: 5s}}", "changes nothing by its webhook"),
        ("when: {op: batch.create}, then: {batch: {results: {}}}", "changes nothing by its batch"),
        (
            "when: {op: charge.create}, then: {transport: {at: answer, headers: {}}}",
            "changes nothing by its transport",
        ),
        (
            f"when: {{op: charge.create, request.providerId: nobody}}, {BREAKS}",
            "only for a provider created later",
        ),
        (
            f"when: {{op: charge.refund, state.charge.provider: nobody}}, {BREAKS}",
            "only for a provider created later",
        ),
        (
            f"when: {{op: charge.create, provider: nobody}}, {LOST}",
            "only for a provider created later",
        ),
        (
            f"when: {{op: vault.get, clock: {{to: '2030-01-01'}}}}, {BREAKS}",
            "its time ends at 2030-01-01T00:00",
        ),
        (
            f"when: {{op: vault.get, clock: {{from: '2030-01-01', for: 1d}}}}, {BREAKS}",
            "its time ends at 2030",
        ),
        (f"limit: 1, {LOST}, expect: {{min: 2}}", "cannot fire as often as it is expected to"),
    ],
)
def test_a_rule_that_never_fires(rule: str, words: str) -> None:
    (found,) = warned(f"{{id: r, {rule}}}")
    assert words in found


@pytest.mark.parametrize(
    "rule",
    [
        f"when: {{op: charge.refund, request.amount: {{gte: 5, lte: 5}}}}, {LOST}",
        f"when: {{op: [charge.create, charge.refund], state.charge.status: SUCCESS}}, {LOST}",
        f"when: {{op: charge.create, state.charge.status: {{exists: false}}}}, {LOST}",
        f"when: {{op: charge.create, source: card}}, {LOST}",
        f"when: {{op: charge.create, provider: acq_main}}, {LOST}",
        f"when: {{op: charge.create, provider: {{ne: nobody}}}}, {LOST}",
        f"when: {{op: vault.get, clock: {{to: '2031-03-02'}}}}, {BREAKS}",
        f"when: {{op: vault.get, clock: {{from: '23:00', to: '01:00'}}}}, {BREAKS}",
        f"limit: {{times: 1, per: key}}, {LOST}, expect: {{min: 2}}",
        f"when: {{op: charge.create, nth: {{lt: 2}}}}, {LOST}",
        f"when: {{op: charge.create, request.providerId: acq_main}}, {BREAKS}",
        "when: {op: charge.create}, then: {webhook: {copies: 2, gap: 5s}}",
        "when: {op: charge.create}, chance: [{weight: 1, then: {webhook: {copies: 1}}}]",
        "when: {op: batch.create}, then: {batch: {results: {shuffle: true}}}",
    ],
)
def test_a_rule_that_may_fire(rule: str) -> None:
    assert warned(f"{{id: r, {rule}}}") == []


@pytest.mark.parametrize(
    ("first", "later", "words"),
    [
        (
            SLOW,
            f"when: {{op: charge.create, card: {{last4: '0002'}}}}, {LOST}",
            "r never fires: rule 'slow' (line 6) decides",
        ),
        (SLOW, f"when: {{op: charge.*}}, {LOST}", "r never fires in charge.create: rule 'slow'"),
        (
            BIG,
            f"when: {{op: charge.create, request.amount: 150}}, {LOST}",
            "r never fires: rule 'big'",
        ),
        (
            BIG,
            f"when: {{op: charge.create, card: {{last4: '0002'}}}}, {LOST}",
            "r is not asked wherever both match: rule 'big' (line 6) decides first, which only "
            "sets latency and",
        ),
        (
            "{id: told, when: {op: charge.create, card: {brand: visa}}, then: {webhook: {copies: "
            "2}}}",
            f"when: {{op: charge.create, card: {{brand: {{in: [visa, amex]}}}}}}, {LOST}",
            "which only sets webhook",
        ),
        (
            big("gt: 1000"),
            "when: {op: charge.create, request.amount: {gt: 5000}}, then: {provider_timeout: {}}",
            "r never fires: rule 'big' (line 6) decides first",
        ),
        *(
            (
                big(wide),
                "when: "
                f"{{op: charge.create, request.amount: {{{narrow}}}, card: {{last4: '0002'}}}}, "
                f"{LOST}",
                "r never",
            )
            for wide, narrow in [
                ("gt: 1000", "gte: 1001"),
                ("gte: 1000", "gt: 1000"),
                ("above: 1000", "gt: 1000"),
                ("gt: 1000", "between: [1001, 2000]"),
                ("lt: 100", "lte: 99.99"),
                ("lte: 100", "lt: 100"),
                ("gt: 5", "gt: 5, every: 2"),
                ("gt: 5, lt: 100", "between: [6, 7]"),
                ("between: [5, 100]", "gt: 5, lt: 100"),
                ("starts_with: order-", "starts_with: order-5, ends_with: x"),
                ("ends_with: '5'", "ends_with: -5"),
                (f"contains: {'a' * 99}b", f"contains: {'a' * 99}b"),
            ]
        ),
        (
            during("'10:00', to: '12:00'"),
            f"when: {{op: charge.create, {DURING} '10:30', to: '11:00'}}}}, {LOST}",
            "r never",
        ),
        (during("'10:00'"), f"when: {{op: charge.create, {DURING} '10:00'}}}}, {LOST}", "r never"),
        (
            f"{{id: every, {LOST}}}",
            f"when: {{op: charge.create}}, {LOST}",
            "r never fires: rule 'every'",
        ),
        (
            "{id: held, when: {op: charge.create}, sequence: [{decline: lost_card}], at_end: hold}",
            f"when: {{op: charge.create}}, {LOST}",
            "r never fires: rule 'held'",
        ),
    ],
)
def test_a_rule_that_an_earlier_one_shields(first: str, later: str, words: str) -> None:
    (found,) = warned(first, f"{{id: r, {later}}}")
    assert words in found


@pytest.mark.parametrize(
    ("first", "later"),
    [
        # Other operations, another stage, another value.
        (SLOW, f"when: {{op: charge.refund}}, {LOST}"),
        (SLOW, f"when: {{op: charge.create}}, {BREAKS}"),
        (BIG, f"when: {{op: charge.create, request.amount: 50}}, {LOST}"),
        # Another range, a wider one, one that only seems to be within.
        *(
            (big(wide), f"when: {{op: charge.create, request.amount: {{{narrow}}}}}, {LOST}")
            for wide, narrow in [
                ("gt: 1000", "gt: 999"),
                ("gt: 1000", "gte: 1000"),
                ("lt: 100", "lte: 100"),
                ("gt: 5", "lt: 7"),
                ("gt: 5, lt: 100", "gt: 6"),
                ("between: [5, 100]", "between: [5, 101]"),
                ("every: 2", "every: 4"),
                ("starts_with: order-5", "starts_with: order-"),
                ("starts_with: order-", "ends_with: order-"),
                ("starts_with: order-", "contains: order-5"),
                ("ne: 5", "gt: 4"),
                # Alike in what an explanation shows of them.
                (f"contains: {'a' * 99}b", f"contains: {'a' * 99}c"),
            ]
        ),
        *(
            (during(wide), f"when: {{op: charge.create, {DURING} {narrow}}}}}, {LOST}")
            for wide, narrow in [
                ("'10:00', to: '12:00'", "'10:30', to: '13:00'"),
                ("'10:00', to: '12:00'", "'10:30', to: '11:00', days: [mon]"),
                ("'22:00', to: '02:00'", "'23:00', to: '23:30'"),
                ("'10:00', to: '12:00'", "'10:30', for: 1h"),
                ("'2031-03-01', to: '2031-03-05'", "'2031-03-02', to: '2031-03-03'"),
            ]
        ),
        (during("'10:00'"), f"when: {{op: charge.create}}, {LOST}"),
        # What only slows large payments says nothing of small ones.
        (BIG, f"when: {{op: charge.create, request.amount: {{lt: 100}}}}, {LOST}"),
        # One that ends, or that passes.
        (
            f"{{id: few, when: {{op: charge.create}}, limit: 2, {LOST}}}",
            f"when: {{op: charge.create}}, {LOST}",
        ),
        (
            f"{{id: few, when: {{op: charge.create, nth: 1}}, {LOST}}}",
            f"when: {{op: charge.create}}, {LOST}",
        ),
        (
            "{id: few, when: {op: charge.create}, sequence: [{decline: lost_card}]}",
            f"when: {{op: charge.create}}, {LOST}",
        ),
        (
            "{id: few, when: {op: charge.create}, chance: {p: 0.5, then: {decline: lost_card}}}",
            f"when: {{op: charge.create}}, {LOST}",
        ),
        # Declines that overlap are told apart by their order: that is what it is for.
        (
            f"{{id: big, when: {{op: charge.create, request.amount: {{gt: 100}}}}, {LOST}}}",
            f"when: {{op: charge.create, card: {{last4: '0002'}}}}, {LOST}",
        ),
    ],
)
def test_a_rule_that_no_other_shields(first: str, later: str) -> None:
    assert warned(first, f"{{id: r, {later}}}") == []


@pytest.mark.slow
def test_a_file_of_many_rules_is_looked_at_in_good_time() -> None:
    rules = [
        f"{{id: r{number}, when: {{op: charge.create, request.reference: o-{number}}}, {LOST}}}"
        for number in range(1000)
    ]
    assert warned(*rules) == []


def test_a_provider_that_nobody_declared_is_told_of_a_file_without_providers() -> None:
    rule = f"  - {{id: r, when: {{op: charge.create, provider: acq_man}}, {LOST}}}\n"
    (words,) = map(str, warnings(told(rule)))
    assert "'acq_man' is not in this file, which has" in words
    assert warnings(told(rule.replace("acq_man", DEFAULT_PROVIDER_ID))) == []
    assert warnings(told(rule, "providers: [{id: acq_man}]\n")) == []


@pytest.mark.parametrize(
    "when",
    [
        "op: charge.refund, state.charge.currency: AUD",
        "op: charge.create, request.currency: AUD",
        "op: charge.create, request.currency: {ne: aud}",
        "op: payment_method.create, state.customer.reference: X",
        "op: customer.create, state.customer.reference: {exists: false}",
    ],
)
def test_what_can_be_is_not_warned_of(when: str) -> None:
    assert warned(f"{{id: r, when: {{{when}}}, {LOST}}}") == []
