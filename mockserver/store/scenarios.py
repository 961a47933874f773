"""The scenarios of stored sandboxes.

A sandbox goes on under the scenarios that it had, whatever files the server has now, so their texts
are in the store: each once for all sandboxes, under the digest of its line (its *place*), since a
thousand sandboxes of a CI run under the same file. Built-in scenarios are not: they are those of
the running version, whatever version has written the file.

A scenario that is in memory already is the same value for all sandboxes under it: to read one takes
milliseconds, and its rules much memory.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from mockserver.domain.ids import digest
from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.config import SandboxConfig
from mockserver.engine.lines import line_of, plain_of, read_plain, write_any
from mockserver.scenario.parse import parse
from mockserver.scenario.problems import ScenarioRefused
from mockserver.scenario.scenario import Scenario
from mockserver.store.schema import SCENARIOS, SERVER, Commit, StoredRows, Unreadable

_BUILT_IN = "built-in "
_LONGEST = 300


class ScenarioTexts(Protocol):
    """What reads texts of scenarios."""

    def read_text(self, text: str, name: str, /) -> Scenario:
        """The scenario of a text. Raises ``ScenarioRefused``."""
        ...

    def shipped(self) -> Sequence[tuple[str, str, str]]:
        """Name, file and text of each scenario that comes with the server."""
        ...


class Configs(Protocol):
    """What the server knows of scenarios: those in force for new sandboxes, and how a sandbox is
    under others."""

    @property
    def reader(self) -> ScenarioTexts: ...

    @property
    def config(self) -> SandboxConfig: ...

    def config_of(self, scenarios: Sequence[Scenario], /) -> SandboxConfig: ...


class StoredScenarios:
    """The scenarios of one store. ``rows`` are the lines of ``SERVER``. Raises ``Unreadable``."""

    def __init__(self, rows: StoredRows, configs: Configs) -> None:
        self._configs = configs
        self._texts = _texts_of(rows)
        self._read: dict[str, Scenario] = {}

    def put(self, scenarios: Sequence[Scenario], commit: Commit) -> list[str]:
        """Let a commit have the texts of some scenarios: their places."""
        places = []
        for scenario in scenarios:
            place = self._place_of(scenario)
            places.append(place)
            if place in self._texts:
                commit.puts.append((SERVER, SCENARIOS, place, self._texts[place]))
        return places

    def config(self, places: Sequence[str]) -> SandboxConfig:
        """The config of the server under the scenarios of some places: that in force for new
        sandboxes, when they are the same. Raises ``LookupError`` for a scenario that the store
        lacks or this version refuses."""
        scenarios = tuple(self._scenario(place) for place in places)
        of_server = self._configs.config
        if scenarios == of_server.scenarios:
            return of_server
        return self._configs.config_of(scenarios)

    def _place_of(self, scenario: Scenario) -> str:
        """The place of a scenario, and from now on the store knows its text."""
        if scenario.builtin:
            return _BUILT_IN + scenario.name
        text = scenario.text or write_any(scenario.source)
        line = line_of([scenario.name, scenario.file, text])
        place = digest("scenario", line).hex()
        self._texts.setdefault(place, line)
        self._read.setdefault(place, scenario)
        return place

    def _scenario(self, place: str) -> Scenario:
        """The scenario of a place: as the server has it, as it was read before, or read now."""
        if place not in self._read:
            # Those that the server has read are the same value in all sandboxes.
            for scenario in self._configs.config.scenarios:
                self._read.setdefault(self._place_of(scenario), scenario)
        if place not in self._read:
            self._read[place] = self._parsed(place)
        return self._read[place]

    def _parsed(self, place: str) -> Scenario:
        """Read the scenario of a place. Raises ``LookupError``."""
        reader = self._configs.reader
        if place.startswith(_BUILT_IN):
            shipped = {name: text for name, _, text in reader.shipped()}
            name = place.removeprefix(_BUILT_IN)
            return replace(reader.read_text(shipped[name], name), builtin=True)
        name, file, text = plain_of(self._texts[place])
        try:
            if isinstance(text, str):
                return replace(reader.read_text(text, file), name=name)
            source: Any = read_plain(object, text, CardRegistry(""))
            return parse(source, {}, file=file, name=name)
        except ScenarioRefused as refused:
            raise LookupError(f"scenario {name}: {refused}") from None


def _texts_of(rows: StoredRows) -> dict[str, bytes]:
    """The lines of scenarios by their places. Raises ``Unreadable``."""
    if SCENARIOS not in rows:
        return {}
    stored = rows[SCENARIOS]
    for line in stored.texts:
        try:
            _name, _file, _text = plain_of(line)
        except (ValueError, TypeError) as fault:
            raise Unreadable(f"{SCENARIOS}: {fault}"[:_LONGEST]) from None
    return {str(place): line for place, line in zip(stored.numbers, stored.texts, strict=True)}
