"""The scenario that comes with the server is read ahead: just what the reader of YAML makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mockserver.adapters import scenario_files
from mockserver.adapters.scenario_files import TEST_VALUES, load, shipped_file
from mockserver.adapters.strict_yaml import read

TEXT = shipped_file(TEST_VALUES).read_text("utf-8")


def test_what_is_prepared_is_what_is_read() -> None:
    document = read(TEXT, TEST_VALUES)
    found = scenario_files.prepared_reading(TEXT)
    assert found is not None, "python -m tools.docs prepares it again"
    data, places = found
    assert repr(data) == repr(document.data)
    assert places == {place: document.positions[place] for place in places}
    assert len(places) == len(load([], test_values=True)[0].rules)


def test_a_scenario_that_has_changed_is_read_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert scenario_files.prepared_reading(TEXT + "\n") is None
    known = load([], test_values=True)[0]
    other = tmp_path / "other.json"
    other.write_text(scenario_files.PREPARED.read_text("utf-8").replace('{"digest":"', '{"digest":"0'))
    monkeypatch.setattr(scenario_files, "PREPARED", other)
    assert load([], test_values=True)[0].rules == known.rules
