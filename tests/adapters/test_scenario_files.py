"""Finding, reading and watching scenario files."""

import os
from pathlib import Path

import pytest

from mockserver.adapters.scenario_files import load, read_file, shipped, stamps
from mockserver.scenario.problems import ScenarioRefused

GOOD = "version: 1\nrules: [{id: a, then: {approve: {}}}]\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.yaml", "a.yml", "c.json"):
        (tmp_path / name).write_text('{"version": 1}' if name.endswith("json") else GOOD)
    (tmp_path / "notes.txt").write_text("no scenario")
    (tmp_path / "x.schema.json").write_text("{}")
    return tmp_path


def test_a_folder_is_read_by_name(folder: Path) -> None:
    assert [scenario.name for scenario in load([str(folder)], test_values=False)] == ["a", "b", "c"]


def test_an_empty_folder_is_no_problem(tmp_path: Path) -> None:
    assert load([str(tmp_path)], test_values=False) == []


def test_order_is_as_given_and_test_values_come_last(folder: Path) -> None:
    names = [str(folder / "c.json"), str(folder / "a.yml")]
    found = load(names, test_values=True)
    assert [(scenario.name, scenario.builtin) for scenario in found] == [
        ("c", False),
        ("a", False),
        ("test-values", True),
    ]


def test_a_shipped_name() -> None:
    assert load(["test-values"], test_values=False)[0].name == "test-values"
    assert len(load(["test-values"], test_values=True)) == 1


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("test-valeus", "a shipped scenario - did you mean 'test-values'?"),
        ("missing.yaml", "the file cannot be read: No such file"),
        ("some/where", "the file cannot be read"),
    ],
)
def test_what_cannot_be_found(name: str, words: str) -> None:
    with pytest.raises(ScenarioRefused, match=words.replace("?", r"\?")):
        load([name], test_values=False)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ScenarioRefused, match="it is not UTF-8 text"):
        read_file(tmp_path / "a.yaml")


def test_what_is_reported_of_a_file_is_one_line_without_a_card_number_or_key(
    tmp_path: Path,
) -> None:
    (tmp_path / "a\nb.yaml").write_text('version: 1\nname: "\\e[31m4532015112830366\\nsk_shop"')
    with pytest.raises(
        ScenarioRefused, match=r"a\?b\.yaml:2:1: name: got '\?\[31m4532\*{8}0366\?sk_\*{3}', wanted"
    ):
        read_file(tmp_path / "a\nb.yaml")


def test_problems_of_all_files_are_reported_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("version: 2")
    (tmp_path / "b.yaml").write_text("version: 1\nseed: x")
    with pytest.raises(ScenarioRefused) as refused:
        load([str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml")], test_values=True)
    assert [Path(problem.file).name for problem in refused.value.problems] == ["a.yaml", "b.yaml"]


def test_shipped_scenarios_have_names_and_descriptions() -> None:
    found = shipped()
    assert "test-values" in [name for name, _, _ in found]
    assert [name for name, description, _ in found if not description] == []


def test_the_stamps_of_files_show_writing_adding_and_removing(folder: Path) -> None:
    names = [str(folder)]
    first = stamps(names)
    os.utime(folder / "a.yml", ns=(1, 1))
    touched = stamps(names)
    (folder / "d.yaml").write_text(GOOD)
    added = stamps(names)
    (folder / "d.yaml").unlink()
    assert first != touched != added
    assert stamps(names) == touched


def test_what_is_missing_has_a_stamp_too(tmp_path: Path) -> None:
    names = [str(tmp_path / "later.yaml"), "no-such-name"]
    before = stamps(names)
    assert stamps(names) == before
    (tmp_path / "later.yaml").write_text(GOOD)
    assert stamps(names) != before


def test_a_folder_that_cannot_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(folder: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(ScenarioRefused, match="the folder cannot be read: Permission denied"):
        load([str(tmp_path)], test_values=False)
