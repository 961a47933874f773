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
from typing import Any, NamedTuple, Protocol

from mockserver.adapters.scenario_files import read_text
from mockserver.domain.ids import digest
from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.config import SandboxConfig
from mockserver.engine.line_reading import plain_of, read_plain
from mockserver.engine.lines import line_of, write_any
from mockserver.scenario.parse import parse
from mockserver.scenario.problems import ScenarioRefused
from mockserver.scenario.scenario import Scenario
from mockserver.store.schema import SCENARIOS, SERVER, Commit, StoredRows, Unreadable

_BUILT_IN = "built-in "
_LONGEST = 300


class ShippedTexts(Protocol):
    """Where the scenarios of this version are."""

    def shipped(self) -> Sequence[tuple[str, str, str]]:
        """Name, file and text of each scenario that comes with the server."""
        ...


class Configs(Protocol):
    """What the server knows of scenarios: those in force for new sandboxes, and how a sandbox is
    under others."""

    @property
    def reader(self) -> ShippedTexts: ...

    @property
    def config(self) -> SandboxConfig: ...

    def config_of(self, scenarios: Sequence[Scenario], /) -> SandboxConfig: ...


class StoredScenarios:
    """The scenarios of one store. ``rows`` are the lines of ``SERVER``. Raises ``Unreadable``."""

    def __init__(self, rows: StoredRows, configs: Configs) -> None:
        self._configs = configs
        self._found = _lines_of(rows)
        """The lines that the file had when it was opened, by their places."""
        self._in_file = set(self._found)
        self._read: dict[str, Scenario] = {}

    def put(self, scenarios: Sequence[Scenario], commit: Commit) -> list[str]:
        """The places of some scenarios. A commit gets the lines that the file lacks, and no others:
        a text may have 2 MB, and every new sandbox under it would write it again."""
        places = []
        for scenario in scenarios:
            place, line = _kept(scenario)
            places.append(place)
            self._read.setdefault(place, scenario)
            if line is None:
                # A built-in one, of which every version has its own text.
                continue
            if place in self._in_file or place in commit.scenarios:
                continue
            commit.scenarios.add(place)
            commit.puts.append((SERVER, SCENARIOS, place, line))
        return places

    def written(self, commit: Commit) -> None:
        """A commit is in the file. Not before that are its scenarios known to be there: one that
        fails has written nothing, and the next must have their texts."""
        self._in_file |= commit.scenarios

    def config(self, places: Sequence[str]) -> SandboxConfig:
        """The config of the server under the scenarios of some places: the very one of new
        sandboxes, when they are the same, so that a reload of files counts here too. Raises
        ``LookupError`` for a scenario that the store lacks or this version refuses."""
        scenarios = tuple(self._scenario(place) for place in places)
        of_server = self._configs.config
        if scenarios == of_server.scenarios:
            return of_server
        return self._configs.config_of(scenarios)

    def _scenario(self, place: str) -> Scenario:
        """The scenario of a place: as the server has it, as it was read before, or read now."""
        if place not in self._read:
            # Those that the server has read are the same value in all sandboxes.
            for scenario in self._configs.config.scenarios:
                self._read.setdefault(_kept(scenario).place, scenario)
        if place not in self._read:
            self._read[place] = self._parsed(place)
        return self._read[place]

    def _parsed(self, place: str) -> Scenario:
        """Read the scenario of a place. The version that has taken it may have refused less: a
        sandbox goes on all the same, as long as this one can make sense of it. Raises
        ``LookupError``."""
        if place.startswith(_BUILT_IN):
            shipped = {name: text for name, _, text in self._configs.reader.shipped()}
            name = place.removeprefix(_BUILT_IN)
            return replace(read_text(shipped[name], name), builtin=True)
        # As ``_kept`` has written it.
        name, file, text_or_source = plain_of(self._found[place])
        try:
            if isinstance(text_or_source, str):
                return replace(read_text(text_or_source, file, was_taken=True), name=name)
            # It came as a map, by a control call: without lines, so faults name none.
            source: Any = read_plain(object, text_or_source, CardRegistry(""))
            return parse(source, {}, file=file, name=name, was_taken=True)
        except ScenarioRefused as refused:
            raise LookupError(f"scenario {name}: {refused}") from None


class _Kept(NamedTuple):
    """The place of a scenario, and the line that the file has there: None of a built-in one, which
    every version brings along."""

    place: str
    line: bytes | None


def _kept(scenario: Scenario) -> _Kept:
    """How a scenario is kept. One that came as a map has no text, and its plain data are kept."""
    if scenario.builtin:
        return _Kept(_BUILT_IN + scenario.name, None)
    text_or_source = scenario.text or write_any(scenario.source)
    line = line_of([scenario.name, scenario.file, text_or_source])
    return _Kept(digest("scenario", line).hex(), line)


def _lines_of(rows: StoredRows) -> dict[str, bytes]:
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
