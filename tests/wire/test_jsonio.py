"""Strict JSON with exact numbers."""

import dataclasses
import json
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.wire.jsonio import MalformedJson, dumps, loads


class Word(StrEnum):
    ONE = "one"


class Number(IntEnum):
    ONE = 1


class Plain(Enum):
    ONE = "one"


@dataclasses.dataclass
class Record:
    secret: str


def refusal(body: bytes) -> str:
    with pytest.raises(MalformedJson) as caught:
        loads(body)
    return str(caught.value)


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'{"a": [1, -2, true, false, null, "x"]}', {"a": [1, -2, True, False, None, "x"]}),
        (b" \r\n\t{} \r\n\t", {}),
        (b"[]", []),
        (b'"text"', "text"),
        (b"null", None),
        (b"\xef\xbb\xbf{}", {}),
        (b'"\\u00e9\\n\\\\ud83d"', "é\n\\ud83d"),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        ('"é\u2028"'.encode(), "é\u2028"),
        (b'{"a": 1, "A": 2, "a": 3}', {"a": 3, "A": 2}),
    ],
)
def test_json_is_read(body: bytes, value: object) -> None:
    assert loads(body) == value


@pytest.mark.parametrize(
    ("text", "type_", "digits"),
    [
        ("5", int, "5"),
        ("-0", int, "0"),
        ("999999999999999999", int, "999999999999999999"),
        ("12345678901234567890", Decimal, "12345678901234567890"),
        ("0.10", Decimal, "0.10"),
        ("20.0", Decimal, "20.0"),
        ("1e2", Decimal, "1E+2"),
        ("1E-400", Decimal, "1E-400"),
        ("0.1000000000000000055511151231257827", Decimal, "0.1000000000000000055511151231257827"),
        ("9" * 400, Decimal, "9" * 400),
    ],
)
def test_numbers_keep_every_digit(text: str, type_: type, digits: str) -> None:
    number = loads(text.encode())
    assert type(number) is type_
    assert str(number) == digits


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "not JSON: Expecting value (line 1, column 1)"),
        (b"  ", "not JSON: Expecting value (line 1, column 3)"),
        # As any Python says it.
        (b'{"a":\n 1 ,  }', "Expecting property name enclosed in double quotes (line 2, column 7)"),
        (b"[1 ,\n]", "Expecting value (line 2, column 1)"),
        (b"{'a': 1}", "not JSON: "),
        (b"{} {}", "not JSON: more text after the value (line 1, column 4)"),
        (b"01", "not JSON: more text after the value (line 1, column 2)"),
        (b"[1 /* */]", "not JSON: "),
        (b'"a\nb"', "not JSON: "),
        (b'"a', "not JSON: "),
        (b"\xff", "not UTF-8 (line 1, column 1)"),
        (b'{"a":\n"\xc3"}', "not UTF-8 (line 2, column 2)"),
        (b'"\xed\xa0\x80"', "not UTF-8 (line 1, column 2)"),
        ("{}".encode("utf-16"), "not UTF-8 (line 1, column 1)"),
        (b'{"a": NaN}', "NaN and Infinity are not JSON (line 1, column 7)"),
        (b"[1,\n -Infinity]", "NaN and Infinity are not JSON (line 2, column 2)"),
        (b'["NaN", Infinity]', "NaN and Infinity are not JSON (line 1, column 9)"),
        (b'["\\"", "NaN", 1e999]', "the exponent of a number is beyond 400 (line 1, column 15)"),
        (b"[1e401]", "the exponent of a number is beyond 400 (line 1, column 2)"),
        (b"[1e-401]", "the exponent of a number is beyond 400 (line 1, column 2)"),
        (b"[1e999-]", "the exponent of a number is beyond 400 (line 1, column 2)"),
        (b"[1e" + b"9" * 5000 + b"]", "the exponent of a number is beyond 400 (line 1, column 2)"),
        (b"[1, " + b"9" * 401 + b"]", "a number is longer than 400 digits (line 1, column 5)"),
        (b"[0." + b"9" * 401 + b"]", "a number is longer than 400 digits (line 1, column 2)"),
        (b'["\\ud83d"]', "half of a surrogate pair (line 1, column 3)"),
        (b'["\\ude00\\ud83d"]', "half of a surrogate pair (line 1, column 3)"),
        (b'["\\\\",\n"\\uD83Dx"]', "half of a surrogate pair (line 2, column 2)"),
    ],
)
def test_what_is_not_strict_json_is_refused(body: bytes, reason: str) -> None:
    assert reason in refusal(body)


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_depth_is_bounded(opening: bytes) -> None:
    closing = b"]" if opening == b"[" else b"}"
    inner = b"null" if opening != b"[" else b""
    assert loads(opening * 64 + inner + closing * 64)
    assert "more than 64 levels" in refusal(opening * 65 + inner + closing * 65)
    assert "more than 64 levels" in refusal(opening * 100_000)


def test_many_values_side_by_side_are_not_deep() -> None:
    body = b'[{"brackets": "' + b"[{" * 200 + b'", "a": [1]}' + b", {}" * 500 + b"]"
    assert str(loads(body)).count("{}") == 500


def test_the_callers_depth_counts() -> None:
    assert loads(b"[[]]", max_depth=2) == [[]]
    with pytest.raises(MalformedJson, match="more than 1 levels"):
        loads(b"[[]]", max_depth=1)


@pytest.mark.parametrize(
    "body",
    [
        b'{"CardNumber": "4111111111111111", oops}',
        b"4111111111111111 4111111111111111",
        b'"4111\xff',
    ],
)
def test_a_refusal_never_quotes_the_body(body: bytes) -> None:
    assert "4111" not in refusal(body)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"a": 1,\n "a": 1}', "got the key 'a' twice (line 2, column 2)"),
        (
            b'[{"a": "x: y", "b": {"a": 1}, "\\u0061" : 2}]',
            "got the key 'a' twice (line 1, column 31)",
        ),
        (
            b'{"a": {"b": [{}, {"c": 1, "c": 2}]}, "a": 0}',
            "got the key 'c' twice (line 1, column 27)",
        ),
        (
            b'{"4111111111111111": 1, "4111111111111111": 2}',
            "got the key '4111********1111' twice (line 1, column 25)",
        ),
        (b'{"\\ud83d": 1, "\\ud83d": 2}', "got the key '?' twice (line 1, column 15)"),
    ],
)
def test_where_keys_are_unique_one_that_comes_twice_is_named_with_its_place(
    body: bytes, words: str
) -> None:
    with pytest.raises(MalformedJson) as caught:
        loads(body, unique=True)
    assert str(caught.value) == words


def test_a_refusal_knows_its_place() -> None:
    with pytest.raises(MalformedJson) as caught:
        loads(b'{\n  "a": oops\n}')
    assert (caught.value.message, caught.value.line, caught.value.column) == (
        "not JSON: Expecting value",
        2,
        8,
    )


@pytest.mark.parametrize(
    ("value", "body"),
    [
        ({"a": [1, None, True, "é"]}, '{"a":[1,null,true,"é"]}'),
        (Decimal("5.00"), "5"),
        (Decimal("2E+2"), "200"),
        (Decimal("12.50"), "12.5"),
        (Decimal("12345678901234567890.123456789"), "12345678901234567890.123456789"),
        ({"a": {"b": [Decimal("0.10")]}}, '{"a":{"b":[0.1]}}'),
        ([Word.ONE, Number.ONE, Plain.ONE], '["one",1,"one"]'),
    ],
)
def test_values_go_out(value: object, body: str) -> None:
    assert dumps(value) == body.encode()


@pytest.mark.parametrize(
    "value",
    [
        object(),
        {1: 2},
        Record("x"),
        datetime(2023, 1, 1, tzinfo=UTC),
        {"a": {1}},
        b"x",
        "\ud800",
        Decimal("NaN"),
    ],
)
def test_what_has_no_json_form_is_refused(value: object) -> None:
    with pytest.raises(TypeError):
        dumps(value)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**17), 10**17)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text('abc\\"é', max_size=3), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(VALUES, st.booleans())
def test_what_went_out_comes_back(value: object, ascii_only: bool) -> None:
    assert loads(dumps(value)) == value
    assert loads(json.dumps(value, ensure_ascii=ascii_only, indent=1).encode()) == value


@given(
    st.decimals(
        allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20, places=9
    )
)
def test_decimals_come_back_exactly(number: Decimal) -> None:
    assert loads(dumps([number])) == [number]


PIECES = st.sampled_from(
    [
        '"',
        "\\",
        "\\ud83d",
        "\\ude00",
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "1e999",
        "-",
        "0",
        "NaN",
        "\n",
        "é",
    ]
)


@given(st.binary() | st.lists(PIECES, max_size=30).map("".join).map(str.encode))
def test_whatever_comes_is_read_or_refused(body: bytes) -> None:
    refusal = None
    try:
        value = loads(body)
    except MalformedJson as error:
        refusal = error
    if refusal:
        assert min(refusal.line, refusal.column) >= 1
        assert refusal.line <= body.count(b"\n") + 1
    else:
        assert loads(dumps(value)) == value
