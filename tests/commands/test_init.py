"""``mockserver init`` writes a scenario that works as it stands, and never over a file."""

from pathlib import Path

import pytest

from tests.running import run


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", [(), ("shop",), ("webhook-twice",), ("webhook-twice.yaml",)])
def test_what_is_written_passes_its_check_beside_its_schema(name: tuple[str, ...]) -> None:
    done = run("init", *name)
    assert done.exit_code == 0
    [path] = Path().glob("*.yaml")
    assert f"name: {path.stem}\n" in path.read_text("utf-8")
    assert path.read_text("utf-8").startswith(
        "# yaml-language-server: $schema=scenario.schema.json\n"
    )
    assert Path("scenario.schema.json").exists()
    checked = run("check", str(path))
    assert (checked.exit_code, ": ok" in checked.output) == (0, True)


def test_a_file_that_is_there_stays() -> None:
    Path("shop.yaml").write_text("mine")
    done = run("init", "shop")
    assert (done.exit_code, "shop.yaml exists" in done.output) == (2, True)
    assert Path("shop.yaml").read_text() == "mine"


def test_a_schema_of_something_else_stays() -> None:
    Path("scenario.schema.json").write_text("{}")
    assert run("init").exit_code == 2
    assert [path.name for path in Path().iterdir()] == ["scenario.schema.json"]


@pytest.mark.parametrize("name", ["../shop", "a b", "", "-", "x" * 101])
def test_a_name_that_is_no_name_is_refused(name: str) -> None:
    done = run("init", "--", name)
    assert (done.exit_code, "NAME" in done.output) == (2, True)
    assert list(Path().iterdir()) == []


def test_a_misspelt_name_is_told_the_nearest() -> None:
    assert "did you mean 'three-ds-passed'?" in run("init", "three-ds-pased").output
    assert "did you mean" not in run("init", "shop").output + run("init", "three-ds-passed").output


def test_the_schema_is_printed_or_written_to_a_file() -> None:
    written = run("schema", "--out", "schema.json")
    assert (written.exit_code, written.output) == (0, "wrote schema.json\n")
    assert Path("schema.json").read_text("utf-8") == run("schema").output


def test_a_schema_that_cannot_be_written_is_refused() -> None:
    refused = run("schema", "--out", "nowhere/schema.json")
    assert (refused.exit_code, "--out: nowhere/schema.json" in refused.output) == (2, True)
