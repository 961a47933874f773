"""Scenarios written as files: read back they are the same."""

from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from mockserver.adapters.strict_yaml import read, scenario_text
from tests.depth import tries

NUMBERS = st.decimals(0, 10**6, places=2, allow_nan=False, allow_infinity=False)
SIGNS = "-?:,[]{}#&*!|>'\"%@`=<~ \t\n\r\\aeE1.0\x00\x85\u2028\ufeff\xa0é😀"
TEXTS = (
    st.text(st.characters(exclude_categories=["Cs"]), max_size=120)
    | st.text(st.sampled_from(SIGNS), max_size=40)
    | st.lists(st.text(st.sampled_from(SIGNS), max_size=8), min_size=12, max_size=20).map(" ".join)
    | st.from_regex(r"[-+]?[0-9_.]+([eE][-+]?[0-9]+)?", fullmatch=True)
    | st.sampled_from(
        [
            "no",
            "18:05",
            "012345",
            "1e3",
            "0x1F",
            "~",
            "",
            " a",
            "a ",
            "5m",
            "charge.*",
            "- a",
            "a: b",
            "# a",
            "long " * 40,
        ]
    )
    | st.sampled_from(
        [
            "null",
            "TRUE",
            "-.5",
            ".inf",
            "<<",
            "---",
            "... a",
            "\\ud83d\\ude00",
            "\\\\\\ud83d\\ude00",
        ]
    )
)
VALUES = st.recursive(
    TEXTS | st.booleans() | st.none() | st.integers(0, 10**9) | NUMBERS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=tries(25, 500))
@given(st.dictionaries(TEXTS, VALUES, max_size=5))
def test_any_plain_data_are_read_back_as_they_are(data: dict[str, object]) -> None:
    again = read(scenario_text(data), "story.yaml")[0]
    assert again == data
    assert str(again) == str(data), "numbers keep their digits, and keys their order"


def test_a_rule_reads_as_a_person_would_write_it() -> None:
    rule = {
        "id": "second-charge-unanswered",
        "when": {"op": "charge.create", "call": 2},
        "then": {
            "webhook": {"delay": "5m"},
            "latency": "30ms",
            "transport": {"at": "answer", "reset": {}},
        },
    }
    weights = [{"weight": Decimal("2.50"), "then": {"decline": "insufficient_funds"}}]
    story = "An order is paid and then lost. " * 4 + "The end."
    assert scenario_text({"version": 1, "description": story, "rules": [rule, *weights]}) == (
        "# yaml-language-server: $schema=scenario.schema.json\n"
        "version: 1\n"
        "description: >-\n"
        f"  {'An order is paid and then lost. ' * 3}An order is\n"
        "  paid and then lost. The end.\n"
        "rules:\n"
        "  - id: second-charge-unanswered\n"
        "    when: {op: charge.create, call: 2}\n"
        "    then:\n"
        "      webhook: {delay: 5m}\n"
        "      latency: 30ms\n"
        "      transport: {at: answer, reset: {}}\n"
        "  - {weight: 2.50, then: {decline: insufficient_funds}}\n"
    )


def test_a_text_is_quoted_only_where_it_would_be_taken_for_something_else() -> None:
    plain = [
        "GET /charge/{paid.chargeId}",
        "12/40",
        "2031-03-02",
        "18:05",
        "no",
        "ann@example.com",
        "Touch 'n Go",
    ]
    quoted = ["4111111111111111", "05", "1e3", "null", "", "a: b", " a", "*"]
    text = "PaymentMethodId,Amount\npm-1,10\n"
    assert scenario_text({"batch": text, "plain": plain, "quoted": quoted}).splitlines()[1:] == [
        *("batch: |", "  PaymentMethodId,Amount", "  pm-1,10"),
        *("plain:", *(f"  - {one}" for one in plain)),
        'quoted: ["4111111111111111", "05", "1e3", "null", "", "a: b", " a", "*"]',
    ]
