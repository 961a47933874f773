"""What is written for coding agents: the section of AGENTS.md, the configuration of the page, and
the site's texts."""

import json
import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from mockserver.cli import main
from tests import needs, warm

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "mcp.md").read_text("utf-8")
SECTION = (ROOT / "mockserver" / "commands" / "agents.md").read_text("utf-8")
CAREFUL = """
import os
import httpx

BODY = {
    "amount": 20, "currency": "AUD", "reference": "order-1", "providerId": "a26c371f-94f6-40da-add2-28ec8e9da8ed",
    "paymentInformation": {"cardNumber": "4111111111111111", "expiryDate": "12/40", "ccv": "123"},
}
headers = {"x-secretkey": os.environ["MOCKSERVER_SECRET_KEY"]}
with httpx.Client(base_url=os.environ["MOCKSERVER_URL"], headers=headers, timeout=1, trust_env=False) as shop:
    for _ in range(3):
        try:
            found = shop.get("/charge", params={"reference": "order-1"}).json()["charges"]
            if found or shop.post("/charge/card", json=BODY).json()["status"] == "SUCCESS":
                break
        except (httpx.HTTPError, ValueError, KeyError):
            continue
    else:
        raise SystemExit(1)
"""


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def init(*words: str) -> Result:
    return CliRunner().invoke(main, ["init", "--agents", *words])


def test_the_section_is_short_and_written_once() -> None:
    assert len(SECTION.splitlines()) <= 40
    assert init().output == "wrote the section of mockserver in AGENTS.md\n"
    assert Path("AGENTS.md").read_text("utf-8") == SECTION
    assert (init().output, Path("AGENTS.md").read_text("utf-8")) == (
        "AGENTS.md has it already\n",
        SECTION,
    )
    assert [path.name for path in Path().iterdir()] == ["AGENTS.md"]


@pytest.mark.parametrize(
    "own", [b"# Ours\n", b"# Ours", b"# Ours\r\n\r\nb\r\n", b"", "é\n".encode()]
)
def test_other_text_stays_byte_for_byte(own: bytes) -> None:
    file = Path("AGENTS.md")
    file.write_bytes(own)
    assert init().exit_code == 0
    written = file.read_bytes()
    assert written.startswith(own)
    assert written.endswith(SECTION.encode())
    older = written.replace(b"Payments are tested", b"Once we tested") + b"\n## More\r\n"
    file.write_bytes(older)
    assert init().exit_code == 0
    assert file.read_bytes() == written + b"\n## More\r\n"


@pytest.mark.parametrize(
    ("own", "words"),
    [(SECTION.splitlines()[0].encode() + b"\nmine\n", "wanted"), (b"\xff\xfe", "not UTF-8")],
)
def test_a_file_that_cannot_be_understood_stays(own: bytes, words: str) -> None:
    Path("AGENTS.md").write_bytes(own)
    done = init()
    assert (done.exit_code, words in done.output) == (2, True)
    assert Path("AGENTS.md").read_bytes() == own


def test_a_folder_of_that_name_and_a_scenario_beside_it_are_refused() -> None:
    assert init("webhook-twice").exit_code == 2
    Path("AGENTS.md").mkdir()
    assert init().exit_code == 2


@pytest.mark.slow
def test_what_the_section_says_to_run_runs(tmp_path: Path) -> None:
    (tmp_path / "pay.py").write_text(CAREFUL)
    [block] = re.findall(r"```sh\n(.*?)```", SECTION, re.DOTALL)
    lines = block.splitlines()
    assert len(lines) == 7
    for line in lines:
        words = line.replace("COMMAND", shlex.join([*warm.python(), "pay.py"])).partition(" > ")
        process = subprocess.run(
            [*warm.python(), "-m", *shlex.split(words[0])],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode == 0, (line, process.stdout, process.stderr)
        if words[2]:
            (tmp_path / words[2]).write_text(process.stdout)
    assert "UNSAFE" not in (tmp_path / "explored" / "report.json").read_text("utf-8")


@pytest.mark.slow
def test_what_the_section_names_of_the_fixture_is_there(mockserver: Any) -> None:
    named = re.findall(r"`mockserver\.(\w+(?:\.\w+)?)", SECTION)
    assert set(named) >= {"url", "secret_key", "scenario", "clock.advance"}
    for path in named:
        found = mockserver
        for name in path.split("."):
            found = getattr(found, name)


def test_the_configuration_of_the_page_starts_the_command() -> None:
    [text] = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    [server] = json.loads(text)["mcpServers"].values()
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert server["command"] in scripts["scripts"]
    assert scripts["optional-dependencies"]["mcp"]
    assert "/path/to/mockserver[mcp]" in PAGE
    done = CliRunner().invoke(main, [*server["args"], "--help"])
    assert (done.exit_code, "--allow DIR" in done.output) == (0, True)


class _Reader(yaml.SafeLoader):
    """Reads mkdocs.yml, which names functions too."""


_Reader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: suffix)


def test_the_site_has_its_pages_as_texts_for_agents() -> None:
    needs.library("mkdocs")
    from tools.site import TOP, agents_files

    config = yaml.load((ROOT / "mkdocs.yml").read_text("utf-8"), _Reader)
    docs = ROOT / "docs"
    texts = {
        path.relative_to(docs).as_posix(): path.read_text("utf-8") for path in docs.rglob("*.md")
    }
    texts |= {page: (ROOT / name).read_text("utf-8") for name, page in TOP.items()}
    made = agents_files(config["nav"], texts, config["site_description"])
    assert made["llms.txt"].startswith("# mockserver\n\n> A local, stateful sandbox")
    listed = re.findall(r"^- \[[^\]]+\]\((.+?)\.html\)", made["llms.txt"], re.MULTILINE)
    assert sorted(f"{name}.md" for name in listed) == sorted(texts)
    assert (
        "- [Run any command](run.html): `mockserver run -- COMMAND` starts a server"
        in made["llms.txt"]
    )
    assert [name for name, text in texts.items() if text.strip() not in made["llms-full.txt"]] == []
