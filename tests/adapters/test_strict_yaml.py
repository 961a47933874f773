"""YAML cut down to JSON: what a plain word means, what is refused, and where."""

import json
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockserver.adapters.strict_yaml import MAX_ALIASES, MAX_CHARACTERS, MAX_DEPTH, read
from mockserver.scenario.problems import ScenarioRefused
from tests.depth import tries


def value(text: str) -> object:
    data = read(f"a: {text}", "f.yaml")[0]
    assert isinstance(data, dict)
    return data["a"]


def refusal(text: str) -> str:
    with pytest.raises(ScenarioRefused) as refused:
        read(text, "f.yaml")
    return str(refused.value)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("18:05", "18:05"),
        ("1:30:00", "1:30:00"),
        ("NO", "NO"),
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("Off", "Off"),
        ("y", "y"),
        ("012345", "012345"),
        ("0002", "0002"),
        ("00", "00"),
        ("2031-03-01", "2031-03-01"),
        ("2031-03-01T18:00:00Z", "2031-03-01T18:00:00Z"),
        ("1_000", "1_000"),
        ("123-456", "123-456"),
        ("1.2.3", "1.2.3"),
        ("0", 0),
        ("7", 7),
        ("-7", -7),
        ("+61400000000", "+61400000000"),
        ("+7", "+7"),
        ("5.00", Decimal("5.00")),
        (".5", Decimal("0.5")),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ('"7"', "7"),
        ("'true'", "true"),
        ('"\\ud83d\\ude00"', "\U0001f600"),
        ('"\\\\\\ud83d\\ude00\\ud83d\\ude00"', "\\\U0001f600\U0001f600"),
        ('"\\\\ud83d\\\\ude00"', "\\ud83d\\ude00"),
        ("|\n  two\n  lines\n", "two\nlines\n"),
        ("[1, {b: 2}]", [1, {"b": 2}]),
    ],
)
def test_a_plain_word_of_yaml_means_what_it_means_in_json(text: str, meaning: object) -> None:
    found = value(text)
    assert (found, type(found)) == (meaning, type(meaning))


def test_decimals_keep_their_digits() -> None:
    assert str(value("5.00")) == "5.00"


@pytest.mark.parametrize(
    "text", ["1e3", "1.5E-3", "0x1F", "0o17", "0b1", ".inf", "-.Inf", ".nan", "4111111111111111"]
)
def test_doubtful_numbers_are_refused(text: str) -> None:
    words = refusal(f"a: {text}")
    assert words.startswith("f.yaml:1:4: got ")
    assert "quote this" in words
    assert value(f"'{text}'") == text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\nb: 2\na: 3", "f.yaml:3:1: got the key 'a' twice, first in line 1"),
        ("a: {b: 1, b: 2}", "f.yaml:1:11: got the key 'b' twice, first in line 1"),
        (
            "a: !!python/object:os.system x",
            "f.yaml:1:4: got the tag tag:yaml.org,2002:python/object:os.system",
        ),
        ("a: !!int '5'", "tags are not read"),
        ("a: !own {b: 1}", "tags are not read"),
        ("a: *b", "no finished part before it is marked &b"),
        ("a: &b [*b]", "no finished part before it is marked &b"),
        ("b: &b {c: 1}\na:\n  <<: *b", "f.yaml:3:3: merge keys (<<) are not read"),
        ("? [a]\n: 1", "wanted a name"),
        ("a: 1\n---\nb: 2", "f.yaml:2:1: got a second document"),
        ("a: [1", "not valid YAML: while parsing a flow sequence"),
        ("a: b: c", "not valid YAML"),
        ("a: \x00", "not valid YAML"),
        ("\ta: 1", "not valid YAML"),
        ("a: " + "[" * (MAX_DEPTH + 1), f"got parts nested deeper than {MAX_DEPTH}"),
        ("a: '" + "x" * MAX_CHARACTERS + "'", f"at most {MAX_CHARACTERS} are allowed"),
    ],
    ids=range(16),
)
def test_yaml_beyond_json_is_refused(text: str, words: str) -> None:
    assert words in refusal(text)


def test_all_faults_are_reported_at_once() -> None:
    assert len(refusal("a: 1e3\nb: 0x1\na: 5\nc: !x 1").splitlines()) == 4


def test_aliases_repeat_a_part() -> None:
    assert read("a: &x {b: [1]}\nc: *x", "f")[0] == {"a": {"b": [1]}, "c": {"b": [1]}}


def test_too_many_aliases() -> None:
    assert f"more than {MAX_ALIASES} aliases" in refusal(
        "a: &x 1\nb: [" + "*x, " * (MAX_ALIASES + 1) + "]"
    )


def test_an_alias_bomb_does_not_go_off() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    assert "aliases counted each time they are used" in refusal("\n".join(lines))


def test_positions_are_those_of_keys_and_items() -> None:
    positions = read("a:\n  - b: 1\n  - c:\n      d: 2\n", "f")[1]
    assert positions[("a",)] == (1, 1)
    assert positions[("a", 0)] == (2, 5)
    assert positions[("a", 1, "c", "d")] == (4, 7)


def test_a_byte_order_mark_is_not_content() -> None:
    assert read("\ufeffa: 1", "f")[0] == {"a": 1}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15) + 1, 10**15 - 1) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=tries(60, 600))
@given(data=JSON, ascii_only=st.booleans())
def test_json_takes_the_same_way(data: object, ascii_only: bool) -> None:
    text = json.dumps({"a": data}, ensure_ascii=ascii_only)
    try:
        found = read(text, "f.json")[0]
    except ScenarioRefused:
        # YAML forbids control characters that are not escaped; JSON escapes those below a space
        # only.
        assert not ascii_only
        return
    assert found == {"a": data}


@pytest.mark.parametrize("character", ["\u0085", "\u2028", "\u2029"])
def test_a_character_that_yaml_takes_for_a_line_break_is_refused_where_it_stands(
    character: str,
) -> None:
    with pytest.raises(ScenarioRefused) as refused:
        read(f'a: 1\nb: "x{character}y"\n', "f.yaml")
    [problem] = refused.value.problems
    assert (problem.line, problem.column) == (2, 6)
    assert f"U+{ord(character):04X}" in problem.message


@settings(max_examples=tries(80, 800))
@given(
    text=st.text(alphabet=st.sampled_from(list("ab:-{}[]&*!#'\"|>,? \n\t01.~<%@`")), max_size=60)
)
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        data, _ = read(text, "f")
    except ScenarioRefused as refused:
        problems = refused.problems
    else:
        problems = ()
        json.dumps(data, default=str)
    assert all(
        problem.line >= 1 and problem.column >= 1 and problem.message for problem in problems
    )


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a: 1\nrules:\n\t- b\n", "3:1"),
        ("rules:\n  - id: a\n\twhen: b\n", "3:1"),
        ("rules:\n  - \tid: a\n    \twhen: b\n", "2:5"),
        ("a: b\n\tc\n", "2:1"),
    ],
)
def test_a_tab_is_called_a_tab(text: str, place: str) -> None:
    assert (
        refusal(text) == f"f.yaml:{place}: not valid YAML: got a tab, and only spaces indent a line"
    )


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("rules:\n  - id: a\n   when: {}\n", "3:4"),
        ("rules:\n  - id: a\n    when: {}\n      then: {}\n", "4:7"),
        ("rules:\n  - id: a\n      when: {}\n", "3:11"),
    ],
)
def test_a_wrong_indentation_is_asked_about(text: str, place: str) -> None:
    said = refusal(text)
    assert said.startswith(f"f.yaml:{place}: not valid YAML: ")
    assert said.endswith(" - is the line indented like its neighbours?")


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ('a: 1\nb: {c: "x\nd: 1\ne: 2\n', "stream - the quote opened in line 2 is not closed"),
        ("a: 'x\n", "stream - the quote opened in line 1 is not closed"),
        ("a:\n  - {op: x, y: z\n  - id: 3\n", " - is the { of line 2 closed?"),
        ("a: [1, 2\nb: 3\n", " - is the [ of line 1 closed?"),
        ("a: {b: 'x, c: 'y'}\n", "write '' for an apostrophe, or put the text in double quotes"),
        ("a: 'x", "found unexpected end of stream"),
    ],
)
def test_where_it_was_opened_is_said_of_what_is_not_closed(text: str, end: str) -> None:
    assert refusal(text).endswith(end)


@pytest.mark.parametrize("text", ["a: b: c", 'a: "b" c\n', "a: [1\nb: 2\n", "a: {b: 1\n"])
def test_indentation_is_not_blamed_for_other_faults(text: str) -> None:
    assert "indented" not in refusal(text)


def test_a_tab_that_does_no_harm_is_not_blamed() -> None:
    assert read("a:\t1\nb: [\n\t2]\n", "f.yaml")[0] == {"a": 1, "b": [2]}
    assert "tab" not in refusal('{"a": 1,\n\t"b": [,]}')


COLON = "a text with a colon in it stands in quotes"
APOSTROPHE = (
    "the ' before it ends the text: write '' for an apostrophe, or put the text in double quotes"
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: Declined: then paid", COLON),
        ("a:\n  b: Declined: then paid", COLON),
        ("a: {b: c, d: it: is}", COLON),
        ("a:\n  - {b: c,\n     d: it: is}", COLON),
        ("a: 'It's declined'", APOSTROPHE),
        ("a: {b: 'it's bad'}", APOSTROPHE),
        ('a: "say "no" now"', 'the " before it ends the text: write \\" for it'),
        ("a: [urgent] the bank", "a text that begins with [ stands in quotes"),
        ("a: {urgent} the bank", "a text that begins with { stands in quotes"),
        ("a: @bank", "a text that begins with @ stands in quotes"),
    ],
)
def test_a_text_that_needs_other_quotes_says_so(text: str, words: str) -> None:
    assert words in refusal(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 'Declined: then paid'", "Declined: then paid"),
        ("a: 'It''s declined'", "It's declined"),
        ('a: "It\'s declined"', "It's declined"),
        ("a: it's fine", "it's fine"),
        ("a: 12:30", "12:30"),
        ("a: '[urgent] the bank'", "[urgent] the bank"),
    ],
)
def test_a_text_in_the_right_quotes_is_taken(text: str, value: str) -> None:
    assert read(text, "f.yaml")[0] == {"a": value}
