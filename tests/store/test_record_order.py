"""Rows of a store have no names of fields: a record keeps the order of fields that older files
have.

``record_fields.txt`` is that order. A new field is appended at the end of its record, with a
default, and at the end of its line there. A field that only has another name gets it there too. Any
other change raises ``FORMAT`` in ``mockserver/store/file.py``, as older files can no longer be
read; ``pytest tests/store/test_record_order.py --update-golden`` then writes all lines anew.
"""

import inspect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, is_dataclass
from itertools import chain
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from mockserver.domain.batch import BatchRow
from mockserver.domain.bounded_cache import Recent
from mockserver.domain.cards import CardNumber
from mockserver.domain.delivery import Delivery
from mockserver.engine.inboxes import InboxMessage
from mockserver.engine.journal import Change, JournalEntry
from mockserver.engine.result import First, FirstAnswer
from mockserver.engine.schedule import ScheduledWork
from mockserver.engine.tables import ROW_CLASSES
from mockserver.findings.catalogue import FindingKind
from mockserver.findings.ledger import Finding
from mockserver.findings.policy import Policy
from mockserver.findings.watch import Watch
from mockserver.scenario.provider_outcome import ProviderOutcome
from mockserver.scenario.tally import Times
from mockserver.store.persister import Head
from mockserver.store.reading import FORMAT
from mockserver.store.row_codec import RECORDS, Record
from tests.control.test_state import fill, fill_everything
from tests.store.twins import Kept

KEPT = Path(__file__).with_name("record_fields.txt")

WHOLE = (
    *ROW_CLASSES.values(),
    *(BatchRow, CardNumber, Change, Delivery, Finding, First, FirstAnswer, Head),
    *(InboxMessage, JournalEntry, ProviderOutcome, ScheduledWork, Times),
)
"""What parts of a sandbox store; the records in it are found by its types."""

BY_NAME = (FindingKind,)
"""Records of which a row has the name alone."""


@dataclass
class Stored:
    """The fields of a record in the order in which a store has them, and those that have no
    default."""

    names: Sequence[str]
    required: Sequence[str] = ()


def classes_in(annotation: Any) -> Iterator[type]:
    """The records and named tuples that a value of an annotation may hold."""
    if isinstance(annotation, type) and get_origin(annotation) is None:
        if is_dataclass(annotation) or hasattr(annotation, "_fields"):
            yield annotation
        return
    for part in get_args(annotation):
        yield from classes_in(part)


def required(cls: type) -> list[str]:
    parameters = inspect.signature(cls).parameters.values()
    return [one.name for one in parameters if one.default is inspect.Parameter.empty]


def stored_records() -> dict[str, Stored]:
    """All that a store writes as lists of fields, by name."""
    found: dict[str, Stored] = {}
    watch = Watch(lambda charge_id: None, lambda subscription_id: (), Policy())
    hints = (get_type_hints(type(judge)).values() for judge in watch.judges.values())
    memories = (hint for hint in chain.from_iterable(hints) if get_origin(hint) is Recent)
    waiting: list[Any] = [*WHOLE, *memories]
    while waiting:
        for cls in classes_in(waiting.pop()):
            if cls.__name__ not in found and cls not in BY_NAME:
                names = fields_of(cls)
                found[cls.__name__] = Stored(names, required(cls))
                waiting += hints_of(cls, names)
    return found


def fields_of(cls: type) -> Sequence[str]:
    return Record(cls).names if is_dataclass(cls) else cls._fields  # type: ignore[attr-defined]


def hints_of(cls: type, names: Iterable[str]) -> list[Any]:
    hints = get_type_hints(cls)
    return [hints[name] for name in names]


def problems(kept: dict[str, Sequence[str]], now: dict[str, Stored]) -> Iterator[str]:
    """What of the records does not fit the files that there are, and how that is mended."""
    for name in sorted(kept.keys() | now.keys()):
        if name not in now:
            yield (
                f"{name} is stored no longer: raise FORMAT, or take its line away if no file "
                "can hold it"
            )
        elif name not in kept:
            yield f"{name} is stored now: append its line '{name}: {' '.join(now[name].names)}'"
        else:
            yield from _problems_of(name, list(kept[name]), now[name])


def _problems_of(name: str, before: list[str], now: Stored) -> Iterator[str]:
    names = list(now.names)
    added = names[len(before) :]
    if names[: len(before)] != before:
        place = next(
            (at for at, pair in enumerate(zip(before, names, strict=False)) if pair[0] != pair[1]),
            len(names),
        )
        yield (
            f"{name}: files of a store have {before[place]!r} where the class has another field "
            "now, "
            "and a row has no names; append a new field at the end, with a default, or raise FORMAT"
        )
    elif without := [field for field in added if field in now.required]:
        yield (
            f"{name}: older files have no {', '.join(without)}: give it a default, or raise FORMAT"
        )
    elif added:
        yield f"{name}: append {' '.join(added)} to its line in tests/store/{KEPT.name}"


def kept_fields() -> tuple[int, dict[str, Sequence[str]]]:
    first, *lines = KEPT.read_text("utf-8").splitlines()
    return int(first.removeprefix("FORMAT ")), {
        name: names.split() for name, _, names in (line.partition(": ") for line in lines)
    }


def test_no_field_takes_the_place_of_another_in_files_that_there_are(
    request: pytest.FixtureRequest,
) -> None:
    now = stored_records()
    if request.config.getoption("--update-golden"):
        lines = (f"{name}: {' '.join(now[name].names)}\n" for name in sorted(now))
        KEPT.write_text(f"FORMAT {FORMAT}\n{''.join(lines)}", "utf-8")
    version, kept = kept_fields()
    assert version == FORMAT, (
        "FORMAT is another: pytest tests/store/test_record_order.py --update-golden"
    )
    assert list(problems(kept, now)) == []


def test_every_record_that_a_store_writes_is_looked_at(tmp_path: Path) -> None:
    api = Kept(tmp_path / "s.db")
    fill(api)
    fill_everything(api)
    api.restart()
    api.get("/__admin/state")
    written = {cls.__name__ for cls in RECORDS if cls.__module__.startswith("mockserver.")}
    assert len(written) > 20
    assert written - stored_records().keys() == set()


@pytest.mark.parametrize(
    ("kept", "names", "required", "words"),
    [
        ("id amount", "id amount", "id", None),
        (
            "id amount",
            "id note amount",
            "id",
            "append a new field at the end, with a default, or raise FORMAT",
        ),
        ("id amount", "amount id", "id", "files of a store have 'id'"),
        ("id amount", "id", "id", "files of a store have 'amount'"),
        (
            "id amount",
            "id amount note",
            "id note",
            "older files have no note: give it a default, or raise FORMAT",
        ),
        ("id amount", "id amount note", "id", "append note to its line"),
    ],
)
def test_what_must_be_done_for_a_field_is_said(
    kept: str, names: str, required: str, words: str | None
) -> None:
    told = list(
        problems({"Order": kept.split()}, {"Order": Stored(names.split(), required.split())})
    )
    assert words is None if not told else words is not None and words in told[0]


def test_a_record_that_comes_or_goes_is_told() -> None:
    assert list(problems({}, {"Order": Stored(["id", "amount"])})) == [
        "Order is stored now: append its line 'Order: id amount'"
    ]
    assert list(problems({"Order": ["id"]}, {})) == [
        "Order is stored no longer: raise FORMAT, or take its line away if no file can hold it"
    ]
