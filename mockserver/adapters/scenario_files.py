"""Scenario files: finds them by path, folder or shipped name, reads them, and watches them for
changes.

A file is read in two steps: the text becomes plain data with the place of each part
(``strict_yaml``), and the data a scenario (``scenario.parse``), whose faults are told by those
places. What the first step makes of the one file that every server reads, the test values, is kept
beside this module (``PREPARED``): so a server without scenarios of its own starts without the
reader of YAML.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cache, partial
from pathlib import Path
from typing import Any

from mockserver.domain.errors import nearest
from mockserver.scenario.parse import parse
from mockserver.scenario.problems import MOST_BYTES, Positions, ScenarioProblem, ScenarioRefused
from mockserver.scenario.scenario import Scenario, ScenarioReader

SUFFIXES = (".yaml", ".yml", ".json")
TEST_VALUES = "test-values"
_SCHEMAS = "*.schema.json"
_SCHEMA = "scenario.schema.json"

_PACKAGE = Path(__file__).resolve().parent.parent
# In a checkout they are beside the package.
_SHIPPED = next(filter(Path.is_dir, (_PACKAGE / "_scenarios", _PACKAGE.parent / "scenarios")))


def load(names_or_paths: Sequence[str], *, test_values: bool) -> list[Scenario]:
    """The scenarios of files, folders and shipped names in the order given, the built-in test
    values last. Raises ``ScenarioRefused`` with the problems of every file; an empty folder is
    allowed."""
    scenarios: list[Scenario] = []
    problems: list[ScenarioProblem] = []
    for name in names_or_paths:
        try:
            for path in files_of(name):
                # A folder may have the test values too: the built-in ones count, and come last.
                is_built_in = test_values and path.stem == TEST_VALUES
                if not is_built_in:
                    scenarios.append(read_file(path))
        except ScenarioRefused as refused:
            problems += refused.problems
        except OSError as problem:
            problems.append(
                ScenarioProblem(name, 1, 1, "", f"the folder cannot be read: {problem.strerror}")
            )
    if test_values:
        scenarios.append(builtin_test_values())
    if problems:
        raise ScenarioRefused(problems)
    return scenarios


def read_file(path: Path) -> Scenario:
    """The scenario of one file. Raises ``ScenarioRefused``."""
    try:
        written = bounded(path, MOST_BYTES).decode("utf-8")
        # One text on every system: its rules count on where only the ends of lines differ.
        text = written.replace("\r\n", "\n").replace("\r", "\n")
    except (OSError, ValueError) as problem:
        if isinstance(problem, UnicodeDecodeError):
            words = "it is not UTF-8 text"
        else:
            words = getattr(problem, "strerror", None) or str(problem)
        raise ScenarioRefused(
            [ScenarioProblem(str(path), 1, 1, "", f"the file cannot be read: {words}")]
        ) from None
    return read_text(text, str(path))


def bounded(path: Path, most: int) -> bytes:
    """The bytes of a regular file of at most so many: a pipe might never end, and a large file fill
    the memory. Raises ``OSError``, ``ValueError`` for any other."""
    if not path.is_file() and path.exists():
        raise ValueError("it is not a regular file")
    with path.open("rb") as file:
        read = file.read(most + 1)
    if len(read) > most:
        raise ValueError(f"it has over {most // 1_000_000} MB, wanted at most that")
    return read


def read_text(text: str, name: str, *, was_taken: bool = False) -> Scenario:
    """The scenario of a YAML or JSON text; ``name`` stands for the file, ``was_taken`` says that a
    sandbox has it from a version that may have refused less. Raises ``ScenarioRefused``."""
    from mockserver.adapters.strict_yaml import read

    data, places = read(text, name)
    scenario = parse(data, places, file=name, name=_stem(name), was_taken=was_taken)
    return replace(scenario, text=text)


def builtin_test_values() -> Scenario:
    """The test values, from ``PREPARED``: what the reader of YAML has made of their file."""
    reading: dict[str, Any] = json.loads(PREPARED.read_bytes(), parse_float=Decimal)
    places: Positions = {
        ("rules", index): (line, column) for index, (line, column) in enumerate(reading["places"])
    }
    path = _SHIPPED / f"{TEST_VALUES}.yaml"
    scenario = parse(
        reading["data"], places, file=str(path), name=TEST_VALUES, builtin=True, is_shipped=True
    )
    return replace(scenario, text=path.read_text("utf-8"))


@cache
def shipped() -> list[tuple[str, str, str]]:
    """Name, description and text of every scenario that comes with the product, by name."""
    from mockserver.adapters.strict_yaml import read

    scenarios = []
    for path in _shipped_files():
        text = path.read_text("utf-8")
        # The head says both, and is read in a fraction of the time of the whole.
        head, _ = read(text.partition("\nrules:")[0], path.name)
        scenarios.append((head["name"], head["description"], text))
    return scenarios


def schema_text() -> str:
    """The JSON Schema of scenario files as it comes with the product."""
    return (_SHIPPED / _SCHEMA).read_text("utf-8")


def shipped_file(name: str) -> Path:
    """The file of a scenario that comes with the product. Raises ``ScenarioRefused`` with the
    nearest name."""
    known = {path.stem: path for path in _shipped_files()}
    if name not in known:
        hint = nearest(name, known) or "; `mockserver scenarios` prints all"
        message = f"got '{name}', which is not a file, a folder or a shipped scenario{hint}"
        raise ScenarioRefused([ScenarioProblem(name, 1, 1, "", message)])
    return known[name]


def _stem(name: str) -> str:
    """The name of a scenario that has none, from its file: such as stand in an address."""
    safe = re.sub(r"[^A-Za-z0-9._-]", "-", Path(name).stem)
    return safe.strip("._-")[:100] or "scenario"


def _shipped_files() -> list[Path]:
    """The scenarios that come with the product, in the order in which they are printed."""
    return sorted(_SHIPPED.glob("*.yaml"))


def files_of(name: str) -> Iterator[Path]:
    """The files that one argument means: a file, all files of a folder by name, or a shipped
    scenario."""
    path = Path(name)
    if path.is_dir():
        for child in sorted(path.iterdir()):
            is_scenario = child.suffix in SUFFIXES and not child.match(_SCHEMAS)
            if is_scenario and child.is_file():
                yield child
        return
    if path.suffix in SUFFIXES or path.exists() or len(path.parts) > 1:
        yield path
        return
    yield shipped_file(name)


Files = partial(ScenarioReader, read_text, shipped, schema_text)
"""The scenarios that a function gives, and those of texts and of the product."""


def stamps(names_or_paths: Sequence[str]) -> dict[str, tuple[int, int]]:
    """The time and the size of each scenario file: others when a file was written, added or
    removed. A watching server compares them, and reads the files when they differ. What
    cannot be looked at has zeros, which no readable file has."""
    seen: dict[str, tuple[int, int]] = {}
    for name in names_or_paths:
        try:
            for path in files_of(name):
                status = path.stat()
                seen[str(path)] = (status.st_mtime_ns, status.st_size)
        except (OSError, ScenarioRefused):
            seen[name] = (0, 0)
    return seen


PREPARED = Path(__file__).with_name("prepared_reading.json")


def prepared(data: Mapping[str, Any], positions: Positions) -> str:
    """The content of the file ``PREPARED``. Of the places only those of rules are kept: the test
    values have no other faults to tell, and journals name the line of a rule."""
    places = [positions["rules", index] for index in range(len(data["rules"]))]
    return json.dumps({"places": places, "data": data}, default=float, separators=(",", ":")) + "\n"
