"""What is shipped: the wheel holds every file of the product, and the image is made of what is
there."""

import os
import re
import subprocess
import sys
import tomllib
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from mockserver import __version__
from mockserver.settings import SETTINGS
from tests import needs

ROOT = Path(__file__).resolve().parents[1]
IMAGE = (ROOT / "Dockerfile").read_text("utf-8")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return ZipFile(built)


@pytest.mark.slow
@needs.DEEP
@pytest.mark.parametrize(
    "words", [("uvx", "--from"), ("pipx", "run", "--spec")], ids=["uvx", "pipx"]
)
def test_the_wheel_runs_by_the_name_of_the_distribution(
    words: tuple[str, ...], wheel: ZipFile, tmp_path: Path
) -> None:
    program = needs.find_program(
        words[0], os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    )
    places = {
        name: str(tmp_path / name)
        for name in ("UV_CACHE_DIR", "UV_TOOL_DIR", "PIPX_HOME", "PIPX_BIN_DIR")
    }
    command = [program, *words[1:], str(wheel.filename), "payfurl-mockserver"]
    said = subprocess.run(
        [*command, "version"],
        env={**os.environ, **places},
        check=True,
        capture_output=True,
        text=True,
    )
    assert said.stdout.strip() == __version__
    refused = subprocess.run(
        [*command, "serv"], env={**os.environ, **places}, capture_output=True, text=True
    )
    assert (refused.returncode, "No such command 'serv'" in refused.stderr) == (2, True)


def files(folder: str) -> set[str]:
    """Every file below a folder of the checkout, by its path in it."""
    found = (
        path
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    )
    return {path.relative_to(ROOT / folder).as_posix() for path in found}


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_package_and_the_library(wheel: ZipFile) -> None:
    names = set(wheel.namelist())
    wanted = {f"mockserver/{name}" for name in files("mockserver")}
    wanted |= {f"mockserver/_scenarios/{name}" for name in files("scenarios")}
    wanted |= {f"mockserver/_docs/{name}" for name in files("docs") if name.endswith(".md")}
    assert wanted - names == set()
    assert {"mockserver/py.typed", "mockserver/_scenarios/scenario.schema.json"} <= names


@pytest.mark.slow
def test_the_wheel_holds_nothing_else(wheel: ZipFile) -> None:
    own = re.compile(r"mockserver/|payfurl_mockserver-[^/]+\.dist-info/")
    strangers = [name for name in wheel.namelist() if not own.match(name)]
    assert strangers == []


@pytest.mark.slow
def test_the_wheel_says_what_it_is(wheel: ZipFile) -> None:
    (metadata,) = (name for name in wheel.namelist() if name.endswith("METADATA"))
    fields = Parser().parsestr(wheel.read(metadata).decode())
    assert (fields["Name"], fields["License-Expression"]) == ("payfurl-mockserver", "MIT")
    assert fields["Requires-Python"] == ">=3.11"
    assert fields.get_payload().startswith("# mockserver\n")
    points = wheel.read(metadata.replace("METADATA", "entry_points.txt")).decode()
    assert (
        "\nmockserver = mockserver.__main__:main\npayfurl-mockserver = mockserver.__main__:main\n"
        in points
    )
    assert "[pytest11]\nmockserver = mockserver.pytest_plugin" in points


def test_the_image_copies_what_is_there_and_not_ignored() -> None:
    kept = {
        line[1:]
        for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines()
        if line.startswith("!")
    }
    copied = [
        word
        for line in re.findall(r"^COPY (?!--from)(.*) \S+$", IMAGE, re.MULTILINE)
        for word in line.split()
    ]
    lock = "deploy/requirements.lock"
    assert (
        {"pyproject.toml", "README.md", "LICENSE", "mockserver", "scenarios", "docs", lock}
        == set(copied)
        == kept
    )
    assert [word for word in copied if not (ROOT / word).exists()] == []


def test_the_image_pins_every_dependency_with_hashes_and_its_base() -> None:
    lock = (ROOT / "deploy" / "requirements.lock").read_text("utf-8")
    pinned = dict(re.findall(r"^([a-z0-9-]+)==(\S+) \\$", lock, re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for line in project["dependencies"] + project["optional-dependencies"]["otel"]:
        wanted = Requirement(line)
        assert wanted.specifier.contains(pinned[canonicalize_name(wanted.name)]), line
    assert lock.count("--hash=sha256:") >= len(pinned)
    assert "://" not in lock
    assert "--require-hashes -r requirements.lock" in IMAGE
    bases = re.findall(r"^FROM (\S+)", IMAGE, re.MULTILINE)
    assert len(set(bases)) == 1
    assert re.fullmatch(r"python:\d+\.\d+\.\d+-slim-\w+", bases[0])


def test_the_image_sets_only_variables_that_are_read() -> None:
    known = {row.variable for row in SETTINGS}
    assert set(re.findall(r"\bMOCKSERVER_\w+", IMAGE)) <= known
    assert "MOCKSERVER_HOST=0.0.0.0" in IMAGE


def test_the_image_runs_without_rights_and_stops_at_the_usual_signal() -> None:
    lines = IMAGE.splitlines()
    assert "USER 65532:65532" in lines
    assert "STOPSIGNAL SIGTERM" in lines
    assert lines[-1] == 'ENTRYPOINT ["mockserver"]'
    assert any(
        line.startswith("HEALTHCHECK") and line.endswith('CMD ["mockserver", "healthcheck"]')
        for line in lines
    )


def test_the_check_script_installs_as_the_image_does() -> None:
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    for step in (
        "pip wheel",
        "--no-deps",
        "--wheel-dir",
        "pip install",
        "payfurl_mockserver-*.whl",
    ):
        assert step in IMAGE
        assert step in script
