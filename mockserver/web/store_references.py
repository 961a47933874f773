"""The scenarios that the sandboxes in a store refer to."""

from dataclasses import replace
from typing import Any

from mockserver.domain.ids import digest
from mockserver.engine.codec import read_plain, write_plain
from mockserver.engine.config import SandboxConfig
from mockserver.scenario.parse import parse
from mockserver.scenario.problems import ScenarioRefused
from mockserver.scenario.scenario import Scenario
from mockserver.store.row_codec import json_text
from mockserver.store.schema import SERVER, Commit, StoredRows, Unreadable
from mockserver.web.directory import Directory

_PART, _BUILT_IN = "scenarios", "built-in "
_LONGEST = 300


class StoreReferences:
    """The ``PersistenceContext`` of one server.

    The file has the text of each scenario once for all sandboxes, by its digest; built-in scenarios
    are those of the running version. ``rows`` are those of the world ``SERVER``, ``unwritten``
    those that are not in the file yet. Raises ``Unreadable``.
    """

    def __init__(self, rows: StoredRows, directory: Directory) -> None:
        self._directory = directory
        self._stored = _scenarios(rows)
        self._made: dict[str, Scenario] = {}
        self.unwritten: list[tuple[int, str, int, bytes]] = []

    def note_written(self, commit: Commit) -> None:
        written = set(commit.puts) if self.unwritten else set()
        self.unwritten = [row for row in self.unwritten if row not in written]

    def place_of(self, scenario: Scenario) -> str:
        """The place of a scenario in the store; the next commit writes a new one."""
        if scenario.builtin:
            return _BUILT_IN + scenario.name
        text: object = scenario.text or write_plain(scenario.source)
        stored = [scenario.name, scenario.file, text]
        place = digest("scenario", json_text(stored)).hex()
        self._made.setdefault(place, scenario)
        if place not in self._stored:
            self._stored[place] = stored
            self.unwritten.append((SERVER, _PART, len(self._stored), json_text([place, stored])))
        return place

    def scenario(self, place: str) -> Scenario:
        """The scenario of a place. Raises ``LookupError`` for one that the store lacks or this
        version refuses."""
        if place not in self._made:
            for known in self._directory.config.scenarios:
                self._made.setdefault(self.place_of(known), known)
        if place not in self._made:
            self._made[place] = self._read(place)
        return self._made[place]

    def _read(self, place: str) -> Scenario:
        if place.startswith(_BUILT_IN):
            shipped = {name: text for name, _, text in self._directory.reader.shipped()}
            name = place.removeprefix(_BUILT_IN)
            return replace(self._directory.reader.read_text(shipped[name], name), builtin=True)
        name, file, text = self._stored[place]
        try:
            if isinstance(text, str):
                return replace(self._directory.reader.read_text(text, file), name=name)
            return parse(read_plain(text), {}, file=file, name=name)
        except ScenarioRefused as refused:
            raise LookupError(f"scenario {name}: {refused}") from None

    def config(self, scenarios: list[Scenario]) -> SandboxConfig:
        """The config of the server under some scenarios: that in force for new sandboxes, when they
        are the same."""
        present = self._directory.config
        return (
            present
            if tuple(scenarios) == present.scenarios
            else self._directory.config_of(scenarios)
        )


def _scenarios(rows: StoredRows) -> dict[str, Any]:
    """Name, file and text of the scenarios in a store, by their places. Raises ``Unreadable``."""
    try:
        listed = list(rows.get(_PART, ()))
    except ValueError as fault:
        raise Unreadable(f"{_PART}: {fault}"[:_LONGEST]) from None
    for number, row in listed:
        if not isinstance(row, list) or [type(place) for place in row] != [str, list]:
            raise Unreadable(f"row {number} of {_PART}: {row!r}"[:_LONGEST])
    return {place: stored for _, (place, stored) in listed}
