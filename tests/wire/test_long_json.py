"""A long JSON text that is read in slices has the value, or the fault, that it has when it is read
at once."""

import json
from collections import deque
from collections.abc import Iterator
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from mockserver.domain.cooperative import run_to_end
from mockserver.domain.errors import Invalid
from mockserver.wire import jsonio
from mockserver.wire.jsonio import MalformedJson, dumps, dumps_in_slices, loads, loads_in_slices
from tests.depth import tries
from tests.pauses import drive

_TEXTS = [
    "",
    "a",
    "é",
    "\U0001f4b3",
    '"',
    "\\",
    "\n",
    "null",
    "x" * 50,
    "{[,:]}",
    "\\ud83d",
    "ud83d",
]


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
            return {
                random.choice(_TEXTS): some(random, depth + 1) for _ in range(random.randrange(6))
            }
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
            return (
                raw[:place]
                + random.choice([b"{", b"]", b",", b'"', b"\\", b"1", b" ", b":", b"e"])
                + raw[place:]
            )


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
    monkeypatch.setattr(jsonio, "WINDOW", window)
    random, cuts = Random(window), Random(window)
    for _ in range(tries(150, 400)):
        raw = text_of(random)
        assert outcome(
            lambda body: run_to_end(loads_in_slices(deque(cut(body, cuts)))), raw
        ) == outcome(loads, raw), raw
        broken = spoilt(raw, random)
        found = outcome(lambda body: run_to_end(loads_in_slices(deque(cut(body, cuts)))), broken)
        assert found == outcome(loads, broken) or found == outcome(loads, broken) == "not UTF-8", (
            broken
        )


def doubled(random: Random, depth: int = 0) -> str:
    """A text in which now and then a key comes twice."""
    if depth == 3:
        return str(random.randrange(100))
    values = [doubled(random, depth + 1) for _ in range(random.randrange(1, 5))]
    if random.random() < 0.3:
        return f"[{', '.join(values)}]"
    members = ",\n".join(
        f'"{random.choice("abcdefghijklmnopqrstuvwxyz") * 3}": {value}' for value in values
    )
    return f"{{{members}}}"


@pytest.mark.parametrize("window", [1, 7, 64, 65_536])
def test_a_key_that_comes_twice_is_found_as_it_is_at_once(
    window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonio, "WINDOW", window)
    random, refused = Random(window), 0
    for _ in range(300):
        raw = doubled(random).encode()
        found = outcome(
            lambda body: run_to_end(loads_in_slices(deque(cut(body, random)), unique=True)), raw
        )
        assert found == outcome(lambda body: loads(body, unique=True), raw), raw
        refused += isinstance(found, tuple)
    assert 50 < refused < 250


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "not JSON: Expecting value (line 1, column 1)"),
        (b'[1,\n "a" 2]', "not JSON: Expecting ',' delimiter (line 2, column 6)"),
        (b'{"a" 1}', "not JSON: Expecting ':' delimiter (line 1, column 6)"),
        (
            b"{1: 2}",
            "not JSON: Expecting property name enclosed in double quotes (line 1, column 2)",
        ),
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
        run_to_end(loads_in_slices(deque([raw])))
    assert str(fault.value) == words


def test_it_pauses_while_it_reads_a_long_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonio, "WINDOW", 50_000)
    value = {
        "rows": [{"id": number, "text": "a" * 500} for number in range(1_000)],
        "long": "b" * 200_000,
    }
    read, pauses = drive(loads_in_slices(deque([b"\xef\xbb\xbf" + dumps(value)])))
    assert read == value
    assert pauses >= 8


@pytest.mark.parametrize("value", [b"[1]", b"{}", b"7", b'"a"', b""])
def test_megabytes_of_blanks_are_skipped(value: bytes) -> None:
    blanks = b" \n\t\r" * 1_000_000
    raw = blanks + value + blanks
    assert outcome(lambda body: run_to_end(loads_in_slices(deque([body]))), raw) == outcome(
        loads, raw
    )


KNOWN = {"": ["format", "tables"], "tables": ["charges"]}


@pytest.mark.parametrize(
    ("begin", "words"),
    [
        (
            '{"format":1,"tables":{',
            {f"Tables.new-{number}": "unknown field" for number in range(100)},
        ),
        ("{", {f"new-{number}": "unknown field" for number in range(100)}),
        ('{"tables":{"charge":1,', {"Tables.charge": "unknown field - did you mean 'charges'?"}),
    ],
)
def test_of_many_unknown_members_a_hundred_are_read(
    begin: str, words: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonio, "WINDOW", 1_000)
    many = ",".join(f'"new-{number}":[{number}]' for number in range(50_000))
    parts = deque(
        [begin.encode(), *(many[at : at + 1_000].encode() for at in range(0, len(many), 1_000))]
    )
    with pytest.raises(Invalid) as refused:
        run_to_end(loads_in_slices(parts, known=KNOWN))
    assert len(refused.value.details or {}) == 100
    assert (refused.value.details or {}).items() >= words.items()
    assert len(parts) > 500


def test_members_of_other_objects_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonio, "WINDOW", 1_000)
    document = {
        "tables": {"charges": [{f"new-{number}": number for number in range(2_000)}]},
        "format": {"tables": {}},
    }
    assert run_to_end(loads_in_slices(deque([dumps(document)]), known=KNOWN)) == document


def document_of(random: Random, levels: int) -> Any:
    """Something that a document may hold: now and then very many of it."""
    count = random.choice([0, 1, 3, 9])
    if not levels or random.random() < 0.3:
        return random.choice([None, True, 7, Decimal("1.50"), "text", 'a "quoted" \u20ac', []])
    if random.random() < 0.5:
        return [document_of(random, levels - 1) for _ in range(count)]
    return {f'"{number}" \n': document_of(random, levels - 1) for number in range(count)}


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_any_document_is_written_as_it_is_at_once(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonio, "LONG", rows)
    random = Random(rows)
    for _ in range(tries(80, 300)):
        document = {f"part {number}": document_of(random, 5) for number in range(3)}
        wanted = dumps(document)
        assert b"".join(run_to_end(dumps_in_slices(document))) == wanted


def test_a_long_document_is_written_in_short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonio, "PART", 10_000)
    rows = [
        {"row": number, "lines": list(range(5_000 if number == 7 else 3))}
        for number in range(2_000)
    ]
    few = [{"row": number, "text": "x" * 30_000} for number in range(4)]
    document: dict[str, Any] = {"tables": {"charges": rows, "few": few}, "seed": 7}
    wanted = dumps(document)
    parts, pauses = drive(dumps_in_slices(document))
    assert b"".join(parts) == wanted
    assert max(map(len, parts)) < 50_000
    assert pauses == len(parts) - 1


def test_a_text_full_of_escapes_is_read_and_refused_for_half_a_pair() -> None:
    pair, many = "\\ud83d\\ude00", 40_000
    assert run_to_end(loads_in_slices(deque([f'["{pair * many}"]'.encode()]))) == [
        "\U0001f600" * many
    ]
    for lone, place in ((f"{pair * many}\\ud83d", 7 + 12 * many), (f"\\ud83d{pair * many}", 7)):
        with pytest.raises(
            MalformedJson, match=rf"half of a surrogate pair \(line 1, column {place}\)"
        ):
            run_to_end(loads_in_slices(deque([f'{{"a":"{lone}"}}'.encode()])))
