"""A whole sandbox as one versioned document of plain data, and a sandbox from such a document.

The document of an imported document has equal bytes. What is stored where is read from the sandbox itself: a table or
a record that is added to it is exported without a line here.
Source: control document, Control API (``/__admin/state``, ``/__admin/fork``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from decimal import Decimal
from functools import cache
from typing import Any, get_args, get_type_hints

from mockserver.assumptions import ROWS, Assumed, Profile
from mockserver.domain.clock import FASTEST, Clock, ClockMode, Micros
from mockserver.domain.codes import Code
from mockserver.domain.errors import ForeignDocument, Refused, nearest
from mockserver.domain.masking import EFFORT, mask_start
from mockserver.domain.slices import Slices, at_once
from mockserver.engine import soundness, tables
from mockserver.engine.card_book import CardBook
from mockserver.engine.carried_scenarios import Carried, carried, charter_under
from mockserver.engine.charter import Charter
from mockserver.engine.codec import Writer, each, in_two_steps, writer
from mockserver.engine.codec_reader import MOST_FAULTS, Misfit, reader
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Entry
from mockserver.engine.store import Table
from mockserver.scenario.outcome import ProviderOutcome
from mockserver.scenario.scenario import Scenario

FORMAT = "mockserver-sandbox"
VERSION = 1
SLICE = 100
"""Rows that are written in one go: others wait no longer than that takes."""

_MUCH = 10_000
"""Signs that are looked at closely in one go."""

PARTS = (
    *("format", "version", "secrets", "seed", "profile", "assumptions", "clock", "counters", "schedule", "rules"),
    *("origin", "tables", "records", "scenarios", "salt"),
)
"""What a document may have at its top."""

Document = dict[str, Any]

APART: Mapping[str, str] = {
    "assumed": "written as profile and overrides",
    "cards": "grows again from the rows; its salt is a secret",
    "charter": "seed, scenarios and rule counters are written, settings are the server's",
    "deliveries": "tells what was told; a copy tells nobody anything twice",
    "director": "written as counters",
    "horizon": "follows from the clock",
    "ids": "written as counters",
    "inboxes": "tells what arrived, not what is",
    "journal": "tells what happened, not what is",
    "key": "names the sandbox; a document can be imported under any key",
    "now": "follows from the clock",
    "own": "written as profile and overrides",
    "origin": "written as it is",
    "public_key": "follows from the key",
    "schedule": "written as its entries in order",
    "setup": "tells what the calls answered with which it was opened; what they made is written",
    "turn": "is over",
    "used": "orders the list of sandboxes, and changes no answer of one",
    "watch": "judges what the client did, not what is",
    "warned": "keeps a person from being told twice, and changes no answer",
}
"""Parts of a sandbox that are no tables and no records, and what becomes of them in a document."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Counters of one rule, as ``Director.tallies`` tells them; of each key how often it was seen and fired."""

    text: str
    calls: int
    hits: int
    exhausted: int
    first: Micros | None
    keys: dict[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Tallies:
    """Counters of all rules, and when the first was asked."""

    first: Micros | None = None
    rules: dict[str, Tally] = field(default_factory=dict)


PLAIN: Mapping[str, Any] = {"scripts": dict[str, dict[int, ProviderOutcome]]}
"""Parts that are plain values, and their types."""


def export(box: Sandbox, *, secrets: bool) -> Document:
    """The sandbox as plain data; card numbers and ccv only with ``secrets``."""
    return at_once(export_in_slices(box, secrets=secrets))


def export_in_slices(box: Sandbox, *, secrets: bool) -> Slices[Document]:
    """The same, with a rest after each piece of work, in which the sandbox may change: the document is that of the
    beginning."""
    entries = sorted(box.schedule.entries)
    rows = table_rows()
    taken = {name: each(in_two_steps(row, secrets=secrets).take, getattr(box, name)) for name, row in rows.items()}
    document = _frame(box, secrets=secrets)
    document["schedule"]["entries"] = entries
    document["tables"].update(taken)
    yield from _write(entries, writer(Entry, secrets=secrets))
    for name, row in rows.items():
        steps = in_two_steps(row, secrets=secrets)
        yield from _write(taken[name], steps.write)
        for part, write in steps.lists.items():
            for one in taken[name]:
                yield from _write(one[part], write)
    return document


def _write(items: list[Any], write: Writer) -> Iterator[None]:
    """Put plain data in the place of what was taken, with a rest after each slice, and after rows with much to mask."""
    rested, effort = 0, EFFORT.signs
    for number, item in enumerate(items, 1):
        items[number - 1] = write(item)
        if number - rested >= SLICE or EFFORT.signs - effort > _MUCH:
            rested, effort = number, EFFORT.signs
            yield


def _frame(box: Sandbox, *, secrets: bool) -> Document:
    """All of a document but what there may be very much of."""
    document: Document = {
        "format": FORMAT,
        "version": VERSION,
        "secrets": secrets,
        "origin": box.origin,
        "seed": box.charter.seed,
        "profile": box.assumed.profile.value,
        "assumptions": {key: ROWS[key].kind.show(box.assumed[ROWS[key]]) for key in sorted(box.assumed.overrides)},
        "clock": writer(Clock, secrets=secrets)(_timeless(box.clock)),
        "counters": dict(sorted(box.ids.counters.items())),
        "schedule": {"order": box.schedule.order, "entries": []},
        "rules": box.director.tallies(),
        "tables": {},
        "records": {name: writer(kind, secrets=secrets)(getattr(box, name)) for name, kind in _records(box).items()},
        "scenarios": carried(box.charter.scenarios, secrets=secrets),
    }
    if secrets:
        document["salt"] = box.cards.salt
    return document


def _timeless(clock: Clock) -> Clock:
    """A clock that stands needs no machine time; without it equal stories export equal bytes."""
    return replace(clock, real=0) if clock.mode is ClockMode.MANUAL else clock


def restore(key: str, charter: Charter, document: object, real: Micros) -> Sandbox:
    """A sandbox as a document describes it, under any key; its scenarios are those of ``charter``, whatever the
    document says.

    Raises ``ForeignDocument`` (90) for anything that this version did not write, naming the place.
    """
    try:
        return _restored(key, charter, _known(document), real)
    except Misfit as misfit:
        raise _foreign(*misfit.faults) from None


def imported(
    key: str,
    in_force: Charter,
    document: object,
    real: Micros,
    charter_of: Callable[[Sequence[Scenario]], Charter],
) -> Sandbox:
    """The same for a document that anybody may have written, under the scenarios that it carries; one without any
    leaves those in force. Raises ``ForeignDocument`` (90) also for what makes no sense, all faults at once."""
    box = restore(key, _charter(in_force, _known(document), charter_of), document, real)
    try:
        soundness.check(box, _known(document)["rules"])
    except Misfit as misfit:
        raise _foreign(*misfit.faults) from None
    return box


def _charter(in_force: Charter, document: Document, charter_of: Callable[[Sequence[Scenario]], Charter]) -> Charter:
    if "scenarios" not in document:
        return in_force
    try:
        given = _read(list[Carried], document, "scenarios")
        return charter_under(given, in_force, charter_of, secrets=document.get("secrets") is True)
    except Misfit as misfit:
        raise _foreign(*misfit.faults) from None
    except Refused as refused:
        raise ForeignDocument(refused.code, refused.details) from None


def rules_not_in_force(box: Sandbox, document: Document) -> list[str]:
    """Rules whose counters a document holds and which are not in force here, or not in the same words."""
    known = box.director.tallies()["rules"]
    return sorted(name for name in document["rules"].get("rules", {}) if name not in known)


@cache
def table_rows() -> Mapping[str, type]:
    """The tables of a sandbox and the class of their rows, in the order of ``tables``."""
    found: dict[str, type] = {}
    for name in Sandbox.__slots__:
        make = getattr(tables, name, None)
        if make is not None:
            found[name] = get_args(get_type_hints(make)["return"])[0]
    return found


def _records(box: Sandbox) -> dict[str, Any]:
    values = {name: getattr(box, name) for name in Sandbox.__slots__ if name not in APART and name != "clock"}
    return {**PLAIN, **{name: type(value) for name, value in values.items() if is_dataclass(value)}}


def _known(document: object) -> Document:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise _foreign(("Format", f"wanted a state document of this product, which says format: {FORMAT}"))
    if document.get("version") != VERSION:
        raise _foreign(("Version", f"wanted version {VERSION} of the state document"))
    unknown = [name for name in document if name not in PARTS]
    if unknown:
        raise _foreign(*((mask_start(name, 40), f"unknown field{nearest(name, PARTS)}") for name in unknown))
    return document


def _restored(key: str, charter: Charter, document: Document, real: Micros) -> Sandbox:
    assumed = _assumed(document)
    seed = _seed(document.get("seed"))
    box = Sandbox(key, charter if charter.seed == seed else replace(charter, seed=seed), real)
    box.origin = _read(str, document, "origin")
    box.own = assumed
    box.assumed = assumed
    if "salt" in document:
        box.cards = CardBook(_read(str, document, "salt"))
    box.clock = _read(Clock, document, "clock")
    if not 1 <= box.clock.rate <= FASTEST:
        raise _foreign(("Clock.rate", f"got {box.clock.rate}, wanted a whole number from 1 to {FASTEST}"))
    box.now = box.clock.read(real)
    box.ids.counters.update(_read(dict[str, int], document, "counters"))
    schedule = _read(dict[str, object], document, "schedule")
    box.schedule.order = _read(int, schedule, "order", "schedule")
    # A sorted list is a heap.
    box.schedule.entries = sorted(_read(list[Entry], schedule, "entries", "schedule", book=box.cards))
    _fill(box, _read(dict[str, object], document, "tables"))
    # A clock that runs may have been read on a machine whose own is ahead: rows stay in the order of their adding.
    box.now = max(box.now, *(table.rows[-1].added for name in table_rows() if (table := getattr(box, name)).rows))
    records = _read(dict[str, object], document, "records")
    for name, kind in _records(box).items():
        setattr(box, name, _read(kind, records, name, "records", book=box.cards))
    _read(Tallies, document, "rules")
    box.director.restore(document["rules"])
    return box


def _seed(given: object) -> int:
    """A seed may have more digits than a JSON reader gives as an ``int``."""
    if isinstance(given, bool) or not isinstance(given, int | Decimal) or not 0 <= given < 2**63 or given % 1:
        raise _foreign(("Seed", "wanted a whole number, 0 to 2^63 - 1"))
    return int(given)


def _fill(box: Sandbox, given: Mapping[str, object]) -> None:
    if given.keys() != table_rows().keys():
        raise _foreign(("Tables", f"wanted {', '.join(table_rows())}"))
    faults: list[tuple[str, str]] = []
    for name, row in table_rows().items():
        table: Table[Any] = getattr(tables, name)()
        try:
            items = _read(list[row], given, name, "tables", book=box.cards)  # type: ignore[valid-type]
        except Misfit as misfit:
            faults += misfit.faults
            continue
        for item in items:
            table.add(item)
        setattr(box, name, table)
    if faults:
        raise Misfit(*faults[:MOST_FAULTS])


def _assumed(document: Document) -> Assumed:
    try:
        return Assumed(_read(Profile, document, "profile"), _read(dict[str, object], document, "assumptions"))
    except Refused as refused:
        raise ForeignDocument(refused.code, refused.details) from None


_NO_CARDS = CardBook("")


def _read(annotation: Any, values: Mapping[str, Any], name: str, *above: str, book: CardBook = _NO_CARDS) -> Any:
    if name not in values:
        raise _foreign((".".join((*above, name)), "missing, a state document has it"))
    try:
        return reader(annotation)(values[name], book)
    except Misfit as misfit:
        raise Misfit(*misfit.within(".".join((*above, name)))) from None


def _foreign(*faults: tuple[str, str]) -> ForeignDocument:
    return ForeignDocument(Code.VALIDATION_ERROR, {place[:1].upper() + place[1:]: words for place, words in faults})
