"""Every key of ``when`` and every test operator: one attempt that it takes, one that it leaves."""

import re
from decimal import Decimal
from time import process_time
from typing import Any

import pytest

from mockserver.domain.clock import DAY, EARLIEST, HOUR, LATEST, MINUTE, parse_instant
from mockserver.scenario.attempt import Stage
from mockserver.scenario.operations import OPERATIONS, operations_like
from mockserver.scenario.problems import ScenarioRefused
from mockserver.scenario.values import canonical
from tests.scenario.telling import NOW, ask, card, directing, fault, fires, lost, one, stored, told

D = Decimal
KEYS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("{op: charge.create}", {"op": "charge.create"}, {"op": "charge.refund"}),
    ("{op: charge.*}", {"op": "charge.void"}, {"op": "customer.create"}),
    ("{op: [charge.void, charge.refund]}", {"op": "charge.refund"}, {"op": "charge.capture"}),
    ("{op: batch.row}", {"op": "charge.create", "also": "batch.row"}, {"op": "charge.create"}),
    ("{op: payment_link.pay}", {"also": "payment_link.pay"}, {"also": "subscription.renew"}),
    ("{source: token}", {"source": "token"}, {"source": "card"}),
    ("{source: {in: [batch, subscription]}}", {"source": "batch"}, {"source": "card"}),
    ("{provider: acq_main}", {"provider": "acq_main"}, {"provider": "acq_backup"}),
    ("{attempt: 2}", {"attempt": 2}, {"attempt": 1}),
    ("{attempt: {gte: 2}}", {"attempt": 3}, {"attempt": 1}),
    ("{card: {brand: visa}}", {"card": card("visa")}, {"card": card("amex")}),
    ("{card: {brand: {in: [amex, JCB]}}}", {"card": card("jcb")}, {"card": card("visa")}),
    ("{card: {bin: 4111}}", {"card": card("visa")}, {"card": card("visa_2")}),
    ("{card: {bin: 411111}}", {"card": card("visa")}, {"card": card("visa_2")}),
    ("{card: {last4: 0002}}", {"card": card("do_not_honour")}, {"card": card("visa")}),
    ("{card: {last4: 1111}}", {"card": card("visa")}, {"card": None}),
    ("{card: {test: lost_card}}", {"card": card("lost_card")}, {"card": card("stolen_card")}),
    ("{card: {brand: VISA, last4: 4242}}", {"card": card("visa_2")}, {"card": card("visa")}),
    (
        "{bank_account.accountNumber: '000000051'}",
        {"bank_account": "000000051"},
        {"bank_account": "51"},
    ),
    (
        "{request.reference: r-1}",
        {"request": {"reference": "r-1"}},
        {"request": {"reference": "r-2"}},
    ),
    (
        "{request.metadata.tier: gold}",
        {"request": {"metadata": {"Tier": "gold"}}},
        {"request": {"metadata": {}}},
    ),
    (
        "{request.metadata.tier: gold}",
        {"request": {"metadata": {"TIER": "gold"}}},
        {"request": {"metadata": None}},
    ),
    (
        "{request.order.items.1.productCode: b}",
        {"request": {"order": {"items": [{}, {"productCode": "b"}]}}},
        {"request": {"order": {"items": [{"productCode": "b"}]}}},
    ),
    (
        "{request.recurring: true}",
        {"request": {"recurring": True}},
        {"request": {"recurring": False}},
    ),
    (
        "{request.reference: null}",
        {"request": {"reference": None}},
        {"request": {"reference": "x"}},
    ),
    (
        "{state.charge.status: SUCCESS}",
        {"state": stored(charge={"status": "SUCCESS"})},
        {"state": stored()},
    ),
    (
        "{state.charge.status: Authorised}",
        {"state": stored(charge={"status": "AUTHORISE"})},
        {"state": stored(charge={"status": "SUCCESS"})},
    ),
    ("{header.X-Run: 7}", {"headers": {"x-run": "7"}}, {"headers": {"x-run": "8"}}),
]


@pytest.mark.parametrize(("when", "taken", "left"), KEYS, ids=[row[0] for row in KEYS])
def test_a_key_of_when_takes_one_call_and_leaves_another(
    when: str, taken: dict[str, Any], left: dict[str, Any]
) -> None:
    assert fires(when, **taken)
    assert not fires(when, **left)


OPERATORS: list[tuple[str, list[object], list[object]]] = [
    ("5", [5, D("5.00"), "5", "5.0"], [6, "05", None, "x"]),
    ('"5"', [5, "5", D(5)], ["05", None]),
    ("5.50", [D("5.5"), "5.50"], [D("5.51"), "5,50"]),
    ('"015"', ["015"], [15, "15"]),
    ("abc", ["abc"], ["ABC", "abcd", None]),
    ("true", [True, "true"], [False, None, 1]),
    ("{eq: a}", ["a"], ["b", None]),
    ("{ne: a}", ["b", None], ["a"]),
    ("{in: [a, 5]}", ["a", 5, "5.0"], ["b", None]),
    ("{gt: 9.99}", [D("9.991"), 10, "10"], [D("9.99"), 9, "x", None]),
    ("{gte: 9.99}", [D("9.99"), 10], [D("9.989"), None]),
    ("{lt: 5}", [4, D("4.99"), -1], [5, None, "x"]),
    ("{lte: 5}", [5, 4], [D("5.01"), None]),
    ("{between: [1, 2]}", [1, 2, "1.5"], [D("0.99"), D("2.01"), None]),
    ("{gt: 1, lt: 3}", [2], [1, 3]),
    ("{starts_with: ab}", ["abc", "ab"], ["xab", None]),
    ("{ends_with: bc}", ["abc"], ["abcd", None]),
    ("{contains: b}", ["abc", ["a", "b"]], ["xyz", ["ab"], None]),
    ("{matches: 'a[0-9]+'}", ["a1", "a22"], ["a", "xa1", "a1x", None]),
    ("{exists: true}", ["", 0, "x", False], [None]),
    ("{exists: false}", [None], ["", 0]),
]


@pytest.mark.parametrize(("test", "taken", "left"), OPERATORS, ids=[row[0] for row in OPERATORS])
def test_an_operator_of_when_takes_its_values_and_leaves_others(
    test: str, taken: list[object], left: list[object]
) -> None:
    director = directing(told(one(f"{{request.reference: {test}}}")))
    assert [
        value for value in taken if ask(director, request={"reference": value}).rule is None
    ] == []
    assert [
        value for value in left if ask(director, request={"reference": value}).rule is not None
    ] == []


REFUSED = [
    ("{request.amount: {gt: x}}", "rules[0].when.request.amount: got 'x', wanted a number"),
    ("{request.amount: {between: [5, 1]}}", "wanted the lower one first"),
    ("{request.amount: {between: [5]}}", "wanted a list of the lowest and the highest number"),
    ("{request.amount: {in: 5}}", "wanted a list of values"),
    ("{request.amount: [5]}", "wanted a value or a map such as {in: [...]}"),
    ("{request.amount: {}}", "wanted a value or at least one of eq, ne"),
    ("{request.amount: {grt: 5}}", "unknown test 'grt' - did you mean 'gt'?"),
    ("{request.reference: {matches: '('}}", "which is not a regular expression"),
    (
        "{request.reference: {matches: '(?=a)b'}}",
        "bad.yaml:4:12: rules[0].when.request.reference: got '(?=a)b'",
    ),
    ("{request.reference: {matches: '(?<=a)b'}}", "no look-around, back-references"),
    ("{request.reference: {matches: '(a)\\1'}}", "invalid escape sequence: \\1"),
    ("{request.reference: {matches: 'a{1001}'}}", "invalid repetition size: {1001}"),
    ("{request.reference: {matches: '((a{99}){99}){99}'}}", "invalid repetition size"),
    ("{request.reference: {starts_with: ''}}", "wanted a text"),
    ("{request.reference: {exists: 1}}", "got 1, wanted true or false"),
    (
        "{request.refrence: x}",
        "which is not a field of a request (names are camelCase) - did you mean 'reference'?",
    ),
    ("{request.Reference: x}", "did you mean 'reference'?"),
    ("{request.paymentInformation.cardNumber: '4'}", "use card.test, card.bin or card.last4"),
    ("{request.paymentInformation.ccv: '123'}", "use card.test, card.bin or card.last4"),
    ("{request.cardNumber: '4'}", "use card.test, card.bin or card.last4"),
    ("{state.vault.cardNumber: '4'}", "use card.test, card.bin or card.last4"),
    ("{header.x-secretkey: k}", "is a secret"),
    ("{requst.amount: 5}", "unknown key 'requst.amount'"),
    ("{providr: x}", "unknown key 'providr' - did you mean 'provider'?"),
    ("{op: charge.creat}", "did you mean 'charge.create'?"),
    ("{op: 'zebra.*'}", "wanted the name of an operation or a glob"),
    ("{op: charge.make}", "or a glob - here it is 'charge.create'"),
    ("{op: charge.captur}", "did you mean 'charge.capture'?"),
    ("{op: '" + "*a" * 40 + "'}", "wanted the name of an operation or a glob"),
    ("{op: 5}", "got 5, wanted an operation's name or a glob"),
    ("{source: cards}", "got 'cards', allowed: card, token"),
    ("{card: {test: lostcard}}", "got 'lostcard', allowed: visa"),
    ("{card: {brand: visaa}}", "did you mean 'VISA'?"),
    ("{card: {last4: 12345}}", "got 12345, wanted 4 digits (never a full number)"),
    ("{card: {bin: '41111111'}}", "got '41111111', wanted 1 to 6 digits (never a full number)"),
    (
        "{card: {number: '4111'}}",
        "unknown key 'number', allowed: brand, bin, last4, test (never a full number)",
    ),
    ("{card: {}}", "got nothing, wanted a map of brand, bin, last4, test"),
    ("{nth: {foo: 1}}", "unknown test 'foo'"),
    ("{nth: 0}", "rules[0].when.nth: got 0, wanted a whole number from 1 on"),
    ("{nth: {in: [2, second]}}", "got 'second', wanted a whole number from 1 on"),
    ("{call: 0}", "rules[0].when.call: got 0, wanted a whole number from 1 on"),
    ("{call: {foo: 1}}", "unknown test 'foo'"),
    ("{op: batch.row, call: 1}", "no request comes in for batch.row, so no call is counted"),
    ("{attempt: 0}", "rules[0].when.attempt: got 0, wanted a whole number from 1 on"),
    ("{attempt: true}", "got true, wanted a whole number from 1 on"),
    ("{clock: {}}", "wanted at least one of from, to, for"),
    ("{clock: {from: 25:00}}", "wanted a time of day such as 18:05"),
    ("{clock: {from: 18:05, to: 2031-01-01}}", "wanted both bounds of one kind"),
    ("{clock: {from: 2031-01-02, to: 2031-01-01}}", "got an end that is not after the start"),
    ("{clock: {to: 18:05, for: 1h}}", "got to and for"),
    (
        "{clock: {from: 18:05, to: 18:05}}",
        "bad.yaml:4:12: rules[0].when.clock: got an end that is the start",
    ),
    ("{clock: {to: 00:00}}", "no time of day lies between"),
    ("{clock: {for: 0}}", "got for: 0s, wanted more than 0"),
    ("{clock: {from: 18:05, for: 0s}}", "wanted more than 0, and at most 24h"),
    ("{clock: {from: 18:05, for: 25h}}", "at most 24h after a time of day, which comes every day"),
    ("{clock: {fromm: 18:05}}", "unknown key 'fromm' - did you mean 'from'?"),
]


@pytest.mark.parametrize(
    "op", ["batch.row", "subscription.renew", "[batch.row, subscription.renew]"]
)
def test_what_nobody_asks_for_has_no_transport(op: str) -> None:
    refused = fault(one(f"{{op: {op}}}", "then: {transport: {at: answer, reset: {}}}"))
    assert "so transport cannot be used there" in refused


def test_transport_may_join_operations_some_of_which_are_asked_for() -> None:
    assert told(one("{op: 'batch.*'}", "then: {transport: {at: answer, reset: {}}}")).rules


@pytest.mark.parametrize(("when", "words"), REFUSED, ids=[row[0] for row in REFUSED])
def test_a_when_that_makes_no_sense_is_refused(when: str, words: str) -> None:
    assert words in fault(one(when))


@pytest.mark.parametrize(
    "pattern", ["(a+)+b", "(a|aa)+b", "(a*)*b", "(.*a){25}b", "a?" * 50 + "a" * 50 + "b"]
)
def test_no_pattern_takes_longer_than_its_text(pattern: str) -> None:
    director = directing(told(one(f"{{request.reference: {{matches: '{pattern}'}}}}")))
    before = process_time()
    assert ask(director, request={"reference": "a" * 10_000}).rule is None
    assert process_time() - before < 1


@pytest.mark.parametrize(
    "text", ["visa", "true", "nan", "Infinity", "e5", "x1.5", "\u00e91", "\u4e94", "\u2160"]
)
def test_a_text_that_begins_with_a_letter_is_compared_as_it_is(text: str) -> None:
    # By that rules are found without bringing the text into another form.
    assert canonical(text) == text
    assert fires(f"{{request.reference: '{text}'}}", request={"reference": text})


def test_a_card_number_in_a_test_is_never_repeated() -> None:
    assert "4111111111111111" not in fault(one("{card: {last4: '4111111111111111'}}"))


WINDOWS = [
    ("{clock: {from: 18:00}}", NOW, NOW - 1),
    ("{clock: {to: 18:00}}", NOW - 1, NOW),
    ("{clock: {from: 17:00, to: 19:00}}", NOW, NOW + HOUR),
    ("{clock: {from: 17:00, to: 19:00}}", NOW + 30 * DAY, NOW - 2 * HOUR),
    ("{clock: {from: 23:00, to: 01:00}}", NOW + 6 * HOUR, NOW + 7 * HOUR),
    ("{clock: {from: 18:00, to: 00:00}}", NOW, NOW + 6 * HOUR),
    ("{clock: {from: 23:30, for: 1h}}", NOW + 6 * HOUR, NOW + 6 * HOUR + 30 * MINUTE),
    ("{clock: {from: 2031-03-01T18:00:00Z, for: 1h}}", NOW + HOUR - 1, NOW + HOUR),
    ("{clock: {from: 2031-03-01T18:00:00Z}}", NOW, NOW - 1),
    ("{clock: {to: 2031-03-01T18:00:00Z}}", NOW - 1, NOW),
]


@pytest.mark.parametrize(("when", "inside", "outside"), WINDOWS, ids=[row[0] for row in WINDOWS])
def test_clock_window(when: str, inside: int, outside: int) -> None:
    assert fires(when, now=inside)
    assert not fires(when, now=outside)


def test_a_window_without_start_counts_from_the_scenarios_clock() -> None:
    head = 'clock: {start: "2031-03-01T18:00:00Z"}\n'
    assert fires("{clock: {for: 1h}}", head, now=NOW + HOUR - 1)
    assert not fires("{clock: {for: 1h}}", head, now=NOW + HOUR)


def test_a_window_without_start_and_clock_counts_from_the_first_decision() -> None:
    director = directing(told(one("{clock: {for: 1h}}")))
    assert ask(director, now=NOW + 9 * DAY).rule == "r"
    assert ask(director, now=NOW + 9 * DAY + HOUR).rule is None


def test_nth_counts_by_key() -> None:
    director = directing(told(one("{nth: 2}", more="key: [request.reference]")))
    seen = [ask(director, request={"reference": name}).rule for name in "aababb"]
    assert seen == [None, "r", None, None, "r", None]


def test_nth_takes_operators() -> None:
    director = directing(told(one("{nth: {gt: 2}}")))
    assert [ask(director, subject="x").rule for _ in range(4)] == [None, None, "r", "r"]


def test_call_counts_the_requests_of_an_operation_whatever_their_key_and_whichever_rule_was_asked_before() -> (
    None
):
    first = one("{op: charge.create, call: 1}", "then: {decline: expired_card}")
    later = one("{op: charge.create, call: {gte: 3}}", "then: {decline: lost_card}").replace(
        "id: r", "id: s"
    )
    director = directing(told(first + later))
    seen = [
        ask(director, subject=name, call=director.count("charge.create")).rule for name in "aabab"
    ]
    assert seen == ["r", None, "s", "s", "s"]
    assert ask(director, call=None).rule is None


def test_a_payment_by_second_name_is_no_call_of_the_first() -> None:
    director = directing(told(one("{op: charge.create, call: 1}")))
    assert ask(director, also="payment_link.pay", call=1).rule is None
    assert ask(director, call=1).rule == "r"


def test_operations_are_known_by_name_and_glob() -> None:
    assert operations_like("charge.create") == {"charge.create"}
    assert operations_like("*") == set(OPERATIONS)
    assert operations_like("payment_link.*") == {
        "payment_link.create",
        "payment_link.get",
        "payment_link.search",
        "payment_link.pay",
    }
    with pytest.raises(ValueError, match="did you mean"):
        operations_like("webhook.delivr")


def test_rules_that_need_no_provider_are_asked_on_arrival() -> None:
    director = directing(told(one("{op: charge.create}", "then: {webhook: {drop: true}}")))
    assert ask(director).rule is None
    assert ask(director, Stage.ARRIVAL).rule == "r"


@pytest.mark.parametrize("when", ["{provider: p}", "{attempt: 1}", "{card: {test: visa}}"])
def test_rules_that_look_at_a_provider_are_asked_with_it(when: str) -> None:
    director = directing(told(one(when, "then: {webhook: {drop: true}}")))
    facts = {"provider": "p", "card": card()}
    assert ask(director, Stage.ARRIVAL, **facts).rule is None
    assert ask(director, Stage.PROVIDER, **facts).rule == "r"


def test_a_provider_outcome_where_no_provider_is_asked_is_refused() -> None:
    assert "no provider is asked in charge.get" in fault(one("{op: charge.get}"))


SYDNEY = "clock: {zone: Australia/Sydney}\n"


@pytest.mark.parametrize(
    ("window", "begins", "ends"),
    [
        # Summer time, and the night in which it ends: 3:00 becomes 2:00 again.
        ('from: "02:00", to: "04:00"', "2031-04-04T15:00Z", "2031-04-04T17:00Z"),
        ('from: "02:00", to: "04:00"', "2031-04-05T15:00Z", "2031-04-05T18:00Z"),
        ('from: "02:30", for: 1h', "2031-04-05T15:30Z", "2031-04-05T16:30Z"),
        ('from: "23:30", to: "03:30"', "2031-04-05T12:30Z", "2031-04-05T17:30Z"),
        # Winter time, and the night in which it ends: 2:00 becomes 3:00 at once.
        ('from: "02:00", to: "04:00"', "2031-07-01T16:00Z", "2031-07-01T18:00Z"),
        ('from: "02:00", to: "04:00"', "2031-10-04T16:00Z", "2031-10-04T17:00Z"),
        ('from: "02:15", to: "02:45"', "2031-10-04T16:15Z", "2031-10-04T16:45Z"),
        ('from: "02:30", for: 1h', "2031-10-04T16:30Z", "2031-10-04T17:30Z"),
        ('to: "01:00"', "2031-07-01T14:00Z", "2031-07-01T15:00Z"),
        ('from: "23:00"', "2031-07-01T13:00Z", "2031-07-01T14:00Z"),
    ],
)
def test_daily_windows_follow_the_clocks_of_the_zone(window: str, begins: str, ends: str) -> None:
    director = directing(told(one(f"{{op: charge.create, clock: {{{window}}}}}"), SYDNEY))
    start, end = parse_instant(begins), parse_instant(ends)
    inside = [ask(director, now=now).rule for now in (start, (start + end) // 2, end - 1)]
    outside = [ask(director, now=now) for now in (start - 1, end)]
    assert inside == ["r"] * 3
    assert [one.rule for one in outside] == [None] * 2
    assert " in Australia/Sydney, got 2031-" in lost(director, outside[0])[0][1]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Australia/Sidney", "did you mean 'Australia/Sydney'?"),
        ("../../etc/passwd", "wanted a time zone of the IANA database"),
        ("Australia", "wanted a time zone of the IANA database"),
        ("''", "wanted a time zone of the IANA database"),
        ("5", "got 5, wanted a time zone such as Australia/Sydney"),
    ],
)
def test_a_zone_that_is_none(name: str, words: str) -> None:
    with pytest.raises(ScenarioRefused, match=r"story.yaml:3:9: clock.zone: .*" + re.escape(words)):
        told(one(), f"clock: {{zone: {name}}}\n")


def test_a_zone_alone_leaves_the_clock_as_it_is() -> None:
    assert told(one(), SYDNEY).clock is None


def test_windows_at_the_ends_of_the_calendar() -> None:
    director = directing(
        told(one('{op: charge.create, clock: {from: "23:00", to: "01:00"}}'), SYDNEY)
    )
    assert [ask(director, now=now).rule for now in (EARLIEST, LATEST)] == ["r", "r"]
