"""A long JSON text that is read in slices has the value, or the fault, that it has when it is read at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from mockserver.domain.slices import at_once
from mockserver.wire import long_json
from mockserver.wire.jsonio import MalformedJson, dumps, loads
from mockserver.wire.long_json import dumps_in_slices, loads_in_slices
from mockserver.wire.long_text import Parts
from tests.depth import tries
from tests.rows import each

_TEXTS = ["", "a", "é", "\U0001f4b3", '"', "\\", "\n", "null", "x" * 50, "{[,:]}", "\\ud83d", "ud83d"]


def some(random: Random, depth: int = 0) -> Any:
    kind = random.randrange(8 if depth < 5 else 5)
    match kind:
        case 0:
            return random.choice([None, True, False])
        case 1:
            return random.choice([0, -1, 10**17, 10**30, 7])
        case 2:
            return random.choice([0.5, -1e-7, 1e300, 12.25])
        case 3 | 4:
            return random.choice(_TEXTS)
        case 5 | 6:
            return {random.choice(_TEXTS): some(random, depth + 1) for _ in range(random.randrange(6))}
        case _:
            return [some(random, depth + 1) for _ in range(random.randrange(6))]


def text_of(random: Random) -> bytes:
    indent = random.choice([None, 1, 3])
    return json.dumps(some(random), ensure_ascii=random.random() < 0.5, indent=indent).encode()


def spoilt(raw: bytes, random: Random) -> bytes:
    place = random.randrange(len(raw) + 1)
    match random.randrange(3):
        case 0:
            return raw[:place]
        case 1:
            return raw[:place] + raw[place + 1 :]
        case _:
            return raw[:place] + random.choice([b"{", b"]", b",", b'"', b"\\", b"1", b" ", b":", b"e"]) + raw[place:]


def outcome(read: Any, raw: bytes) -> object:
    """The value as text, or whether and where it is refused."""
    try:
        return dumps(read(raw))
    except MalformedJson as fault:
        return (fault.line, fault.column) if fault.message != "not UTF-8" else fault.message


def cut(body: bytes, random: Random) -> Iterator[bytes]:
    """The body in parts of any length, some of them empty."""
    while body:
        length = random.choice([0, 1, 2, 3, 50, len(body)])
        yield body[:length]
        body = body[length:]


@pytest.mark.parametrize("window", [1, 7, 64, 65_536])
def test_any_text_is_read_as_it_is_at_once(window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_json, "WINDOW", window)
    random, cuts = Random(window), Random(window)
    for _ in range(tries(150, 400)):
        raw = text_of(random)
        assert outcome(lambda body: at_once(loads_in_slices(cut(body, cuts))), raw) == outcome(loads, raw), raw
        broken = spoilt(raw, random)
        found = outcome(lambda body: at_once(loads_in_slices(cut(body, cuts))), broken)
        assert found == outcome(loads, broken) or found == outcome(loads, broken) == "not UTF-8", broken


def doubled(random: Random, depth: int = 0) -> str:
    """A text in which now and then a key comes twice."""
    if depth == 3:
        return str(random.randrange(100))
    values = [doubled(random, depth + 1) for _ in range(random.randrange(1, 5))]
    if random.random() < 0.3:
        return f"[{', '.join(values)}]"
    members = ",\n".join(f'"{random.choice("abcdefghijklmnopqrstuvwxyz") * 3}": {value}' for value in values)
    return f"{{{members}}}"


@pytest.mark.parametrize("window", [1, 7, 64, 65_536])
def test_a_key_that_comes_twice_is_found_as_it_is_at_once(window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_json, "WINDOW", window)
    random, refused = Random(window), 0
    for _ in range(300):
        raw = doubled(random).encode()
        found = outcome(lambda body: at_once(loads_in_slices(cut(body, random), unique=True)), raw)
        assert found == outcome(lambda body: loads(body, unique=True), raw), raw
        refused += isinstance(found, tuple)
    assert 50 < refused < 250


@each(
    ("raw", "words"),
    [
        (b"", "not JSON: Expecting value (line 1, column 1)"),
        (b'[1,\n "a" 2]', "not JSON: Expecting ',' delimiter (line 2, column 6)"),
        (b'{"a" 1}', "not JSON: Expecting ':' delimiter (line 1, column 6)"),
        (b"{1: 2}", "not JSON: Expecting property name enclosed in double quotes (line 1, column 2)"),
        (b"[1] 2", "not JSON: more text after the value (line 1, column 5)"),
        (b"[\n1, NaN]", "NaN and Infinity are not JSON (line 2, column 4)"),
        (b"[" + b"9" * 500 + b"]", "a number is longer than 400 digits (line 1, column 2)"),
        (b'["\\ud83d"]', "half of a surrogate pair (line 1, column 3)"),
        (b"[" * 70 + b"]" * 70, "more than 64 levels (line 1, column 65)"),
        (b"[" * 100_000, "more than 64 levels (line 1, column 65)"),
        (b'["a\xff"]', "not UTF-8 (line 1, column 4)"),
    ],
)
def test_what_is_refused_is_refused_with_its_place(raw: bytes, words: str) -> None:
    with pytest.raises(MalformedJson) as fault:
        at_once(loads_in_slices([raw]))
    assert str(fault.value) == words


def test_it_pauses_now_and_then_and_reads_long_texts_too() -> None:
    value = {"rows": [{"id": number, "text": "a" * 500} for number in range(1_000)], "long": "b" * 200_000}
    pauses = 0
    reading = loads_in_slices([b"\xef\xbb\xbf" + dumps(value)])
    while True:
        try:
            next(reading)
        except StopIteration as end:
            read = end.value
            break
        pauses += 1
    assert read == value
    assert pauses >= 8


def document_of(random: Random, levels: int) -> Any:
    """Something that a document may hold: now and then very many of it."""
    count = random.choice([0, 1, 3, 9])
    if not levels or random.random() < 0.3:
        return random.choice([None, True, 7, Decimal("1.50"), "text", 'a "quoted" \u20ac', []])
    if random.random() < 0.5:
        return [document_of(random, levels - 1) for _ in range(count)]
    return {f'"{number}" \n': document_of(random, levels - 1) for number in range(count)}


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_any_document_is_written_as_it_is_at_once(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_json, "ROWS", rows)
    random = Random(rows)
    for _ in range(tries(80, 300)):
        document = {f"part {number}": document_of(random, 5) for number in range(3)}
        wanted = dumps(document)
        assert at_once(dumps_in_slices(document)).whole() == wanted


def test_a_long_document_is_written_in_short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_json, "_PART", 10_000)
    rows = [{"row": number, "lines": list(range(5_000 if number == 7 else 3))} for number in range(2_000)]
    few = [{"row": number, "text": "x" * 30_000} for number in range(4)]
    counts = {f"rule {number}": {"keys": {f"key {key}": key for key in range(3_000)}} for number in range(3)}
    document: dict[str, Any] = {"tables": {"charges": rows, "few": few}, "rules": {"rules": counts}, "seed": 7}
    wanted, lengths, plain = dumps(document), list[int](), Parts.add

    def add(parts: Parts, pieces: list[bytes]) -> None:
        lengths.append(sum(map(len, pieces)))
        plain(parts, pieces)

    monkeypatch.setattr(Parts, "add", add)
    assert at_once(dumps_in_slices(document)).whole() == wanted
    assert max(lengths) < 50_000


def test_what_follows_a_long_text_is_read_in_slices_too() -> None:
    """Looking far enough ahead for the text, the reader would have taken all of the rest at once."""
    raw = b'{"text":"%b","values":[%b]}' % (b"x" * 600_000, b",".join([b"{}"] * 150_000))
    counting = loads_in_slices([raw])
    pauses = sum(1 for _ in counting)
    assert pauses >= len(raw) / long_json.WINDOW / 3
    assert at_once(loads_in_slices([raw])) == loads(raw)


def test_a_text_full_of_escapes_is_looked_through_with_pauses() -> None:
    pair, many = "\\ud83d\\ude00", 40_000
    reading = loads_in_slices([f'{{"a":"{pair * many}"}}'.encode()])
    assert sum(1 for _ in reading) > many / 10_000
    for lone, place in ((f"{pair * many}\\ud83d", 7 + 12 * many), (f"\\ud83d{pair * many}", 7)):
        with pytest.raises(MalformedJson, match=rf"half of a surrogate pair \(line 1, column {place}\)"):
            at_once(loads_in_slices([f'{{"a":"{lone}"}}'.encode()]))
