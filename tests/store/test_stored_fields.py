"""Lines of a store lack what has its default, and are read by versions that come later.

``stored_fields.txt`` has the fields that files of this format have, with their defaults. A new
field with a default is one more word there (``pytest tests/store/test_stored_fields.py
--update-golden``). A field that is gone, that must be given or whose default is another raises
``FORMAT`` in ``mockserver/store/file_reading.py``, as older files can no longer be read as they
were meant.
"""

from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias, get_args, get_origin, get_type_hints

import pytest

from mockserver.domain.batch import BatchRow
from mockserver.domain.bounded_cache import Recent
from mockserver.domain.cards import CardNumber
from mockserver.domain.delivery import Delivery
from mockserver.engine import lines
from mockserver.engine.inboxes import InboxMessage
from mockserver.engine.journal import Change, JournalEntry
from mockserver.engine.lines import RecordForm
from mockserver.engine.result import First, FirstAnswer
from mockserver.engine.schedule import ScheduledWork
from mockserver.engine.tables import ROW_CLASSES
from mockserver.findings.catalogue import FindingKind
from mockserver.findings.ledger import Finding
from mockserver.findings.policy import Policy
from mockserver.findings.watch import Watch
from mockserver.scenario.provider_outcome import ProviderOutcome
from mockserver.scenario.tally import Times
from mockserver.store.file_reading import FORMAT
from mockserver.store.persister import Head, Settled
from mockserver.store.schema import StoredSandbox
from tests.control.test_state import fill, fill_everything
from tests.store.twins import Kept

KEPT = Path(__file__).with_name("stored_fields.txt")

WHOLE = (
    *ROW_CLASSES.values(),
    *(BatchRow, CardNumber, Change, Delivery, Finding, First, FirstAnswer, Head, InboxMessage),
    *(JournalEntry, ProviderOutcome, ScheduledWork, Settled, StoredSandbox, Times),
)
"""What parts of a sandbox store; the records in it are found by its types."""

BY_NAME = (FindingKind,)
"""Records of which a line has the name alone."""

Fields: TypeAlias = dict[str, str]
"""The fields of a record, each with its default; ``!`` is none."""


def classes_in(annotation: Any) -> Iterator[type]:
    """The records and named tuples that a value of an annotation may hold."""
    if isinstance(annotation, type) and get_origin(annotation) is None:
        if is_dataclass(annotation) or hasattr(annotation, "_fields"):
            yield annotation
        return
    for part in get_args(annotation):
        yield from classes_in(part)


def fields_of(cls: type) -> Fields:
    if not is_dataclass(cls):
        named: Any = cls
        defaults = named._field_defaults
        return {name: word(defaults.get(name, MISSING)) for name in named._fields}
    found = {}
    for one in fields(cls):
        if one.init and one.name != "seq":
            is_made = one.default_factory is not MISSING
            found[one.name] = "made" if is_made else word(one.default)
    return found


def word(default: Any) -> str:
    if default is MISSING:
        return "!"
    value = default.value if isinstance(default, Enum) else default
    return repr(value).replace(" ", "_")


def stored_records() -> dict[str, Fields]:
    """All that a store writes as lines of fields, by name."""
    found: dict[str, Fields] = {}
    watch = Watch(lambda charge_id: None, lambda subscription_id: (), Policy())
    hints = (get_type_hints(type(judge)).values() for judge in watch.judges.values())
    memories = (hint for hint in chain.from_iterable(hints) if get_origin(hint) is Recent)
    waiting: list[Any] = [*WHOLE, *memories]
    while waiting:
        for cls in classes_in(waiting.pop()):
            if cls.__name__ not in found and cls not in BY_NAME:
                found[cls.__name__] = fields_of(cls)
                hints_of = get_type_hints(cls)
                waiting += [hints_of[name] for name in found[cls.__name__]]
    return found


def problems(kept: dict[str, Fields], now: dict[str, Fields]) -> Iterator[str]:
    """What of the records does not fit the files that there are, and how that is mended."""
    for record in sorted(kept.keys() | now.keys()):
        before, after = kept.get(record, {}), now.get(record, {})
        for name in before:
            if name not in after:
                yield f"{record}: files of a store have {name!r}: raise FORMAT"
            elif before[name] != after[name]:
                yield f"{record}: {name} was {before[name]} where it is left out: raise FORMAT"
        for name in after.keys() - before.keys():
            if record in kept and after[name] == "!":
                yield f"{record}: older files have no {name}: give it a default, or raise FORMAT"
            else:
                yield f"{record}: {name} is not in {KEPT.name}: --update-golden puts it there"


def kept_fields() -> tuple[int, dict[str, Fields]]:
    first, *rest = KEPT.read_text("utf-8").splitlines()
    kept: dict[str, Fields] = {}
    for line in rest:
        record, _, words = line.partition(": ")
        kept[record] = dict(word.split("=", 1) for word in words.split())  # type: ignore[misc]
    return int(first.removeprefix("FORMAT ")), kept


def test_files_that_there_are_can_be_read_as_they_were_meant(
    request: pytest.FixtureRequest,
) -> None:
    now = stored_records()
    if request.config.getoption("--update-golden"):
        rows = (
            f"{record}: {' '.join(f'{name}={default}' for name, default in now[record].items())}\n"
            for record in sorted(now)
        )
        KEPT.write_text(f"FORMAT {FORMAT}\n{''.join(rows)}", "utf-8")
    version, kept = kept_fields()
    assert version == FORMAT, "FORMAT is another: --update-golden"
    assert list(problems(kept, now)) == []


def test_every_record_that_a_store_writes_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: set[str] = set()
    sparse = RecordForm.sparse

    def noted(self: RecordForm, value: Any) -> dict[str, Any]:
        written.add(type(value).__name__)
        return sparse(self, value)

    monkeypatch.setattr(RecordForm, "sparse", noted)
    lines._write_in_store_of.cache_clear()  # type: ignore[attr-defined]
    api = Kept(tmp_path / "s.db")
    fill(api)
    fill_everything(api)
    api.kill()
    lines._write_in_store_of.cache_clear()  # type: ignore[attr-defined]
    assert len(written) > 20
    assert written - stored_records().keys() == set()


@pytest.mark.parametrize(
    ("kept", "now", "words"),
    [
        ({"id": "!"}, {"id": "!"}, None),
        ({"id": "!", "note": "None"}, {"id": "!"}, "files of a store have 'note'"),
        ({"id": "!", "note": "None"}, {"id": "!", "note": "''"}, "note was None where it is left"),
        ({"id": "!"}, {"id": "!", "note": "!"}, "older files have no note"),
        ({"id": "!"}, {"id": "!", "note": "None"}, "--update-golden puts it there"),
        ({"id": "!"}, {}, "files of a store have 'id'"),
    ],
)
def test_what_must_be_done_for_a_field_is_said(
    kept: Fields, now: Fields, words: str | None
) -> None:
    told = [*problems({"Order": kept}, {"Order": now})]
    assert words is None if not told else words is not None and words in told[0]
