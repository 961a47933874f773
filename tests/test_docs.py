"""The documentation is run: every command prints what it says there, and its tables are those of
the code."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from mockserver.settings import Settings, unknown_variables
from tests import needs, warm
from tests.rows import at_row
from tools import derived, docs, tables

TEXTS = {page: page.read_text("utf-8") for page in docs.PAGES}
README = TEXTS[docs.README]
EVERYTHING = "\n".join(TEXTS.values())
WRITTEN = docs.TABLE.sub("", EVERYTHING)
BIGGEST_README = 9_000
FENCES = re.compile(r"^(?P<before>[^\n]*)\n```(?P<language>\w+)\n", re.MULTILINE)


@pytest.mark.skipif(sys.platform == "win32", reason="the commands are those of a POSIX shell")
@needs.program("curl")
@pytest.mark.slow
@pytest.mark.parametrize("page", docs.PAGES, ids=lambda page: page.name)
def test_every_command_prints_what_the_pages_say(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docs, "PYTHON", warm.python())
    assert docs.difference(page.read_text("utf-8")) == ""


def test_every_block_says_how_it_is_checked() -> None:
    drawn = {"mermaid"}
    unchecked = [
        found["language"]
        for found in FENCES.finditer(WRITTEN)
        if found["language"] not in drawn
        and not re.match(r"<!-- (serve|run|file|shown): ", found["before"])
    ]
    assert unchecked == []
    assert len(docs.BLOCK.findall(EVERYTHING)) >= 40


def test_every_curl_that_sends_a_file_to_the_control_api_names_its_type() -> None:
    commands = re.findall(r"\bcurl\b(?:[^`\n]|\n {2,})*", EVERYTHING)
    sent = [command for command in commands if re.search(r" (-d|--data\S*|-T) ", command)]
    assert [command for command in sent if "content-type" not in command] == []


def test_a_command_that_prints_something_else_is_found() -> None:
    told = "<!-- run: a -->\n```console\n$ echo one; \\\n  echo two\none\nthree\n```\n"
    changes = docs.difference(told)
    assert "-three" in changes
    assert "+two" in changes
    assert docs.difference(told.replace("three", "two")) == ""


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.name)
def test_every_table_is_what_the_code_prints(page: Path) -> None:
    assert docs.tabled(TEXTS[page]) == TEXTS[page], "python -m tools.docs --tables prints it"


def test_nothing_of_the_product_is_read_before_its_files_are_printed() -> None:
    said = (
        "import sys, tools.docs; print([name for name in sys.modules if "
        "name.startswith('mockserver')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", said], cwd=docs.ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_a_table_that_is_not_the_codes_is_found() -> None:
    assert "+| option |" in docs.difference("<!-- table: settings -->\nold\n<!-- end -->")


def test_every_table_is_shown_once() -> None:
    assert sorted(re.findall(r"<!-- table: ([\w-]+) -->", EVERYTHING)) == sorted(tables.PRINT)


@pytest.mark.parametrize("name", ["commands", "tools", "unseen"])
def test_no_text_of_a_row_ends_the_table_or_the_block_that_it_stands_in(name: str) -> None:
    printed = tables.PRINT[name]()
    fences = re.findall("(?m)^```(?:text)?$", printed)
    assert fences == ["```text", "```"] * (len(fences) // 2)
    assert (printed.count("```"), printed.count("<!--")) == (len(fences), 0)


@pytest.mark.parametrize("path", derived.FILES)
def test_every_file_that_is_printed_from_code_is_what_the_code_prints(path: str) -> None:
    assert (docs.ROOT / path).read_text("utf-8") == derived.FILES[path](), (
        "python -m tools.derived prints it"
    )


def test_every_file_that_a_page_names_is_there() -> None:
    named = set(
        re.findall(
            r"(?<!__admin/)(?<!payfurl[-/])\b(?:mockserver|tests|tools|scenarios)/[\w./-]*\w",
            EVERYTHING,
        )
    )
    assert len(named) > 50
    assert sorted(path for path in named if not (docs.ROOT / path).exists()) == []


def test_a_server_that_does_not_start_is_reported() -> None:
    with pytest.raises(docs.Untrue, match="--profile: got 'x'"):
        docs.difference("<!-- serve: a -->\n```sh\nmockserver --profile x\n```\n")


def shown(language: str, text: str = EVERYTHING) -> list[str]:
    """The blocks of a language that are shown and not run."""
    return [
        found["text"]
        for found in docs.BLOCK.finditer(text)
        if (found["kind"], found["language"]) == ("shown", language)
    ]


def test_recipes_set_only_variables_that_are_read() -> None:
    recipes = [yaml.safe_load(text) for text in shown("yaml")]
    compose, stored = recipes[0]["services"], recipes[1]["services"]
    workflow = recipes[2]["jobs"]["test"]["services"]
    pipeline = {
        name: text
        for name, text in recipes[3]["test"]["variables"].items()
        if name.startswith("MOCKSERVER_")
    }
    given = {
        **compose["mockserver"]["environment"],
        **stored["mockserver"]["environment"],
        **workflow["mockserver"]["env"],
        **pipeline,
    }
    assert len(given) >= 3
    assert unknown_variables(given) == []
    Settings.load({}, given)


def test_recipes_agree_with_the_image() -> None:
    compose, stored, workflow, pipeline = (yaml.safe_load(text) for text in shown("yaml"))
    assert (
        pipeline["test"]["variables"]["PAYMENTS_URL"]
        == f"http://{pipeline['test']['services'][0]['alias']}:4111"
    )
    image = (docs.ROOT / "Dockerfile").read_text("utf-8")
    assert re.search(r"^EXPOSE 4111 5001$", image, re.MULTILINE)
    assert compose["services"]["mockserver"]["ports"] == ["127.0.0.1:4111:4111"]
    assert workflow["jobs"]["test"]["services"]["mockserver"]["ports"] == ["4111:4111"]
    assert compose["services"]["mockserver"]["volumes"][0].split(":")[1] == "/scenarios"
    assert "MOCKSERVER_SCENARIO=/scenarios" in image
    assert stored["services"]["mockserver"]["volumes"][0].split(":")[1] == "/data"
    assert re.search(r"^VOLUME /data$", image, re.MULTILINE)
    assert "HEALTHCHECK" in image
    assert compose["services"]["shop"]["depends_on"]["mockserver"]["condition"] == "service_healthy"


def test_python_that_is_not_run_is_python() -> None:
    blocks = shown("python")
    assert len(blocks) == 2
    for block in blocks:
        compile(block, "page", "exec")


def test_the_commands_of_the_beginning_are_those_that_the_check_script_runs() -> None:
    first, second = (text.strip() for text in shown("sh", README))
    script = (docs.ROOT / ".ci" / "run").read_text("utf-8")
    assert "README.md" in script
    assert first.endswith("/bin/mockserver")
    assert second.endswith("/bin/python -m pytest")


def links(page: Path) -> list[Path]:
    """The files that a page links to or shows."""
    found = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", TEXTS[page])
    return [(page.parent / target).resolve() for target in found]


def test_every_link_leads_somewhere() -> None:
    for page in docs.PAGES:
        with at_row(page.name):
            assert [str(target) for target in links(page) if not target.exists()] == []


def test_every_link_of_the_site_leads_to_one_of_its_pages() -> None:
    needs.library("mkdocs")
    from tools import site

    for page in docs.PAGES:
        with at_row(page.name):
            shown = site.LINK.sub(site.link, TEXTS[page])
            targets = {
                target.partition("#")[0]
                for _, target in site.LINK.findall(shown)
                if ":" not in target
            }
            there = {*site.TOP.values(), ""}
            assert [
                one for one in sorted(targets - there) if not (docs.ROOT / "docs" / one).exists()
            ] == []


def test_the_check_script_sees_what_the_site_warns_of() -> None:
    [command] = re.findall(r"-m mkdocs build.*", (docs.ROOT / ".ci" / "run").read_text("utf-8"))
    assert "-q" not in command
    assert (
        yaml.load((docs.ROOT / "mkdocs.yml").read_text("utf-8"), yaml.BaseLoader)["strict"]
        == "true"
    )


def test_the_readme_is_short_and_leads_to_every_page() -> None:
    assert len(README.encode()) < BIGGEST_README
    assert set(docs.PAGES) - {docs.README} <= set(links(docs.README))


def test_every_picture_is_small_and_shown() -> None:
    there = [
        path for path in (docs.ROOT / "docs" / "screenshots").iterdir() if path.suffix == ".png"
    ]
    assert set(there) <= {target for page in docs.PAGES for target in links(page)}
    assert [path.name for path in there if path.stat().st_size > 150_000] == []


TESTS = docs.ROOT / "tests"
ABOUT_TESTS = (TESTS / "README.md").read_text("utf-8")


def test_the_page_about_the_tests_names_every_folder() -> None:
    rows = re.findall(r"(?m)^\| (`\w+`(?:, `\w+`)*) \|", ABOUT_TESTS)
    named = sorted(re.findall(r"\w+", " ".join(rows)))
    folders = sorted({path.parent.relative_to(TESTS).parts[0] for path in TESTS.glob("*/*.py")})
    assert named == folders


def test_the_words_of_a_rule_find_its_test() -> None:
    names = re.findall(r"def (test_\w+)", "".join(map(Path.read_text, TESTS.rglob("test_*.py"))))
    words = re.findall("`([^`]+)`", ABOUT_TESTS.partition("| rule | words |")[2])
    words.remove("GatewayDelete")
    assert len(words) > 20
    assert [word for word in words if not any(re.search(word, name) for name in names)] == []
