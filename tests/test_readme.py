"""README.md is run: every command prints what it says there, and its tables are those of the code."""

from __future__ import annotations

import re
import shutil
import sys

import pytest

from tools import docs

README = docs.README.read_text("utf-8")
FENCES = re.compile(r"^(?P<before>[^\n]*)\n```(?P<language>\w+)\n", re.MULTILINE)


@pytest.mark.skipif(sys.platform == "win32", reason="the commands are those of a POSIX shell")
@pytest.mark.skipif(not shutil.which("curl"), reason="the commands use curl")
def test_every_command_prints_what_the_readme_says() -> None:
    assert docs.difference(README) == ""


def test_every_block_says_how_it_is_checked() -> None:
    tables = {"mermaid"}
    unchecked = [
        found["language"]
        for found in FENCES.finditer(README)
        if found["language"] not in tables and not re.match(r"<!-- (serve|run|file|shown): ", found["before"])
    ]
    assert unchecked == []
    assert len(docs.BLOCK.findall(README)) >= 10


def test_a_command_that_prints_something_else_is_found() -> None:
    told = "<!-- run: a -->\n```console\n$ echo one; \\\n  echo two\none\nthree\n```\n"
    changes = docs.difference(told)
    assert "-three" in changes
    assert "+two" in changes
    assert docs.difference(told.replace("three", "two")) == ""


def test_a_table_that_is_not_the_codes_is_found() -> None:
    assert "+| option |" in docs.difference("<!-- table: settings -->\nold\n<!-- end -->")


def test_a_server_that_does_not_start_is_told() -> None:
    with pytest.raises(docs.Untrue, match="--profile: got 'x'"):
        docs.difference("<!-- serve: a -->\n```sh\nmockserver --profile x\n```\n")
