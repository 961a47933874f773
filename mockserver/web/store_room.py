"""What a kept sandbox refers to outside of itself: operations by name, scenarios by place, the config of the server."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

import orjson

from mockserver.domain.clock import Micros
from mockserver.domain.codes import Code
from mockserver.domain.errors import NotKept
from mockserver.domain.ids import digest
from mockserver.engine.codec import read_plain, write_plain
from mockserver.engine.config import Beginning, SandboxConfig
from mockserver.engine.kept.commits import SERVER, Commit, KeptFile, KeptSandbox, Row, Unreadable
from mockserver.engine.kept.forms import Forms
from mockserver.engine.kept.keeping import BEGINNING, DamagedSandbox, Keeping, kept_beginning, kept_sandbox
from mockserver.engine.kept.parts import KeptRow
from mockserver.engine.sandbox import Sandbox
from mockserver.scenario.parse import parse
from mockserver.scenario.problems import ScenarioRefused
from mockserver.scenario.scenario import Scenario
from mockserver.web.directory import Directory
from mockserver.web.operation import OperationEndpoint
from mockserver.wire.base import Body
from mockserver.wire.fields import Fields, FieldsKind

_PART = "scenarios"
_FIELDS = "fields"
_BUILT_IN = "built-in "
_LONGEST = 300

WAIT = 5
"""Seconds that a client is asked to wait whose request the store could not take."""


class StoreRoom:
    """The surroundings of the kept sandboxes of one server (``engine.kept.keeping.Surroundings``).

    The texts of scenarios are kept once for all sandboxes, by a digest; the built-in ones are those of the version that
    serves. ``rows`` are those of the world ``SERVER``. Raises ``Unreadable``.
    """

    def __init__(self, rows: Iterable[Row], directory: Directory) -> None:
        self._directory = directory
        self._operations: dict[str, OperationEndpoint] = {}
        self._kept: dict[str, Any] = {}
        self._made: dict[str, Scenario] = {}
        self._new: list[tuple[int, str, int, bytes]] = []
        parts = self.by_part(rows)
        for _, (place, kept) in _listed(parts, _PART):
            self._kept[place] = kept
        self._fields = {name: (number, tuple(names)) for number, (name, names) in _listed(parts, _FIELDS)}
        self.forms = Forms(tuple((name, names) for name, (_, names) in self._fields.items()))

    def know(self, operations: Iterable[OperationEndpoint]) -> None:
        """The operations of the server."""
        self._operations = {_name(operation): operation for operation in operations}

    def take_new(self, commit: Commit) -> None:
        """Put into a commit the scenarios and the names of fields that the file lacks by now."""
        while self.forms.new:
            name = self.forms.new.pop()
            number, known = self._fields.get(name, (len(self._fields), ()))
            names = self.forms.fields[name]
            if names != known:
                self._fields[name] = number, names
                self._new.append((SERVER, _FIELDS, number, self.text([name, names])))
        commit.puts += self._new

    def taken(self, commit: Commit) -> None:
        """A commit is in the file."""
        written = set(commit.puts) if self._new else set()
        self._new = [row for row in self._new if row not in written]

    def text(self, value: object) -> bytes:
        """The JSON text of plain data. Raises ``TypeError`` for what is none."""
        try:
            return orjson.dumps(value)
        except TypeError:
            # Halves of surrogate pairs, which header names and queries may hold, and numbers beyond 64 bits.
            return json.dumps(value, separators=(",", ":")).encode()

    def by_part(self, rows: Iterable[Row]) -> dict[str, Sequence[KeptRow]]:
        """The rows of each part, in the order of their numbers. What is no JSON raises ``ValueError`` when it is
        read."""
        found: dict[str, Sequence[KeptRow]] = {}
        for part, kept in groupby(rows, itemgetter(0)):
            _, numbers, texts = zip(*kept, strict=True)
            found[part] = _Rows(numbers, texts)
        return found

    def name_of(self, endpoint: object) -> str | None:
        """The name of an operation; None for what is none."""
        return _name(endpoint) if isinstance(endpoint, OperationEndpoint) else None

    def endpoint(self, name: str | None) -> object:
        """The operation of a name."""
        return self._operations.get(name) if name is not None else None

    def write(self, request: Mapping[str, object], *, is_named: bool) -> object:
        """The fields of a request: how they are read, where the journal has the text and the name of the operation."""
        if isinstance(request, Fields):
            return list(request.kind) if is_named else write_plain(dict(request))
        return write_plain(request)

    def read(self, kept: object, endpoint: object, raw: bytes, query: bytes) -> Mapping[str, object]:
        """The same fields again."""
        if isinstance(kept, dict):
            plain: Mapping[str, object] = read_plain(kept)
            return plain
        [is_body, commas] = kept if isinstance(kept, list) else (True, False)
        route = endpoint.route if isinstance(endpoint, OperationEndpoint) else None
        model = (route.body if is_body else route.query) if route is not None else None
        return Fields(model or Body, raw if is_body else query, FieldsKind(is_body, commas))

    def place_of(self, scenario: Scenario) -> str:
        """Where the store keeps a scenario; it goes there with the next commit."""
        if scenario.builtin:
            return _BUILT_IN + scenario.name
        text: object = scenario.text or write_plain(scenario.source)
        kept = [scenario.name, scenario.file, text]
        place = digest("scenario", self.text(kept)).hex()
        self._made.setdefault(place, scenario)
        if place not in self._kept:
            self._kept[place] = kept
            self._new.append((SERVER, _PART, len(self._kept), self.text([place, kept])))
        return place

    def scenario(self, place: str) -> Scenario:
        """The scenario of a place. Raises ``LookupError`` for one that is not kept, or that this version refuses."""
        if place not in self._made:
            for known in self._directory.config.scenarios:
                self._made.setdefault(self.place_of(known), known)
        if place not in self._made:
            self._made[place] = self._read(place)
        return self._made[place]

    def sandbox(self, kept: KeptSandbox, file: KeptFile, real: Micros) -> tuple[Sandbox, Keeping]:
        """The sandbox that is kept; a large one takes seconds. Raises ``NotKept`` (43) for rows that cannot be read."""
        with _readable():
            return kept_sandbox(kept.key, self.by_part(file.rows(kept.world)), self, real)

    def beginnings(self, some: Iterable[KeptSandbox], file: KeptFile) -> dict[str, Beginning]:
        """How sandboxes began, by key; their content is not read. Raises ``NotKept`` (43)."""
        found = {}
        for kept in some:
            with _readable():
                rows = chain.from_iterable(file.rows(kept.world, part) for part in BEGINNING)
                found[kept.key] = kept_beginning(self.by_part(rows), self)
        return found

    def _read(self, place: str) -> Scenario:
        if place.startswith(_BUILT_IN):
            shipped = {name: text for name, _, text in self._directory.reader.shipped()}
            name = place.removeprefix(_BUILT_IN)
            return replace(self._directory.reader.read_text(shipped[name], name), builtin=True)
        name, file, text = self._kept[place]
        try:
            if isinstance(text, str):
                return replace(self._directory.reader.read_text(text, file), name=name)
            return parse(read_plain(text), {}, file=file, name=name)
        except ScenarioRefused as refused:
            raise LookupError(f"scenario {name}: {refused}") from None

    def config(self, scenarios: list[Scenario]) -> SandboxConfig:
        """The config of the server under some scenarios: that in force for new sandboxes, when they are the same."""
        present = self._directory.config
        return present if tuple(scenarios) == present.scenarios else self._directory.config_of(scenarios)


@contextlib.contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except (Unreadable, DamagedSandbox) as damage:
        words = f"what the store holds of this sandbox cannot be read: {damage}"
        raise NotKept(Code.TRANSACTION_ERROR, {"Store": words}, WAIT) from None


def _listed(parts: Mapping[str, Sequence[KeptRow]], part: str) -> Sequence[KeptRow]:
    """The rows of a part of the world ``SERVER``, each of a text and a list. Raises ``Unreadable``."""
    try:
        listed = list(parts.get(part, []))
    except ValueError as fault:
        raise Unreadable(f"{part}: {fault}"[:_LONGEST]) from None
    for number, row in listed:
        if not isinstance(row, list) or [type(place) for place in row] != [str, list]:
            raise Unreadable(f"row {number} of {part}: {row!r}"[:_LONGEST])
    return listed


def _name(operation: OperationEndpoint) -> str:
    return f"{operation.route.method} {operation.route.path}"


class _Rows(Sequence[KeptRow]):
    """Rows of one part, whose texts become plain data one by one when they are asked for: together they take ten times
    the memory."""

    def __init__(self, numbers: Sequence[int], texts: Sequence[bytes]) -> None:
        self._numbers = numbers
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, place: Any) -> Any:
        return self._numbers[place], _plain(self._texts[place])


def _plain(text: bytes) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        try:
            return json.loads(text)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None
