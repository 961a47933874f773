"""What is shown of a short body at once is what looking at each of its values shows."""

from __future__ import annotations

import json
from random import Random

import pytest

from mockserver.wire.jsonio import MalformedJson, compact, dumps, loads
from mockserver.wire.masked_bodies import mask_body
from tests.depth import tries

TEXTS = [
    "", "a", "order 5", "4111111111111111", "4111 1111-1111+1111", "4111********1111", "sk_live", "xsk_a", "x sk_a.b",
    ",", ":", ":ccv", "{", "}]", '"', "\\", "\n", "ö", "K", "\u2212", "\uff14\uff1111111111111111",
    "e5", ".0", "5.0,",
    "12345678901", "123456789012", "59b9d5bad4ed2b1098d88e070b34f00f", "12345678901234567890123456789012",
    "2031-03-01T00:00:00.0000000Z", "%", "%2034111111111111111", "a26c371f-94f6-40da-add2-28ec8e9da8ed", "x" * 120,
    "ccv", "cardNumber", "1e5", "-0",
]  # fmt: skip
NAMES = [
    "amount", "reference", "cardNumber", "card_number", "CCV", "ccv", "Pan", "x-secretkey", "cookie", ",ccv", ":ccv",
    "", "4111111111111111", "cardNumbers", "securityCode", "sk_a", "n" * 101,
]  # fmt: skip
NUMBERS = [
    "0", "-0", "5", "-5", "5.0", "0.10", "12.5", "1e2", "1E-7", "0.000001", "4111111111111111", "-4111111111111111.5",
    "123456789012345678901", "18446744073709551615", "1e16", "12345678.123456789", "1e500", "0.1234567890123456789",
    "NaN", "1.5e300", "00",
]  # fmt: skip


def text(random: Random) -> str:
    one = "".join(random.choices(TEXTS, k=random.choice([1, 1, 1, 2, 3])))
    return json.dumps(one, ensure_ascii=random.random() < 0.2)


def value(random: Random, depth: int) -> str:
    match random.randrange(10):
        case 0 | 1 if depth:
            return (
                "["
                + random.choice([",", ", "]).join(value(random, depth - 1) for _ in range(random.randrange(4)))
                + "]"
            )
        case 2 | 3 | 4 if depth:
            return mapping(random, depth - 1)
        case 5:
            return random.choice(["null", "true", "false", *NUMBERS])
        case _:
            return text(random)


def mapping(random: Random, depth: int) -> str:
    colon, comma = random.choice([(":", ","), (": ", ", "), (": ", ", "), (" :", " ,")])
    names = [random.choice(NAMES[:4] if random.random() < 0.6 else NAMES) for _ in range(random.randrange(5))]
    return "{" + comma.join(f"{json.dumps(name)}{colon}{value(random, depth)}" for name in names) + "}"


@pytest.mark.parametrize("seed", range(tries(2, 8)))
def test_a_compact_text_is_that_of_its_value(seed: int) -> None:
    random, found = Random(seed), 0
    for _ in range(1_500):
        raw = value(random, 4).encode()
        if (text := compact(raw)) is not None:
            found += 1
            assert text == dumps(loads(raw)), raw
    assert found > 200


def test_keys_are_masked_in_what_is_not_json_or_too_long() -> None:
    assert mask_body(b'{"key": "sk_live_abc", "ccv": "123') == '{"key": "sk_***", "ccv": "***'
    long = mask_body(b'{"a": "sk_live_abc", "b": "' + b"x" * 1_000_000 + b'"}')
    assert isinstance(long, str)
    assert long.startswith('{"a": "sk_***", "b": "xxx')


def test_a_text_of_too_many_levels_or_with_a_mark_is_not_compact() -> None:
    deepest = b"[" * 64 + b"]" * 64
    assert compact(deepest) == deepest
    for raw in (b"[" + deepest + b"]", b"\xef\xbb\xbf[]", b"", b" ", b"[1", b"5", b'{"a":1,"a":1}', b'"\xff"'):
        assert compact(raw) is None
    with pytest.raises(MalformedJson):
        loads(b"[" + deepest + b"]")
