"""A report compared with an earlier one, and a cell that is fixed."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mockserver.cli import main
from mockserver.explore.kept import Before, NoReport
from mockserver.explore.verdicts import Verdict
from tests import warm

slow = pytest.mark.slow
CORPUS = Path(__file__).parents[1] / "corpus"
LOST, DECLINED = "charge.create#1/lost_answer", "charge.create#1/declined_soft"


def explore(url: str, folder: Path, shop: str, *given: str) -> Result:
    there = [
        "explore",
        "--url",
        url,
        "--out",
        str(folder / "explored"),
        "--faults",
        "lost_answer,declined_soft",
    ]
    return CliRunner().invoke(main, [*there, *given, "--", *warm.python(), str(CORPUS / shop)])


def report(folder: Path, **verdicts: str) -> Path:
    """An earlier report, as older versions wrote it too."""
    file = folder / "before.json"
    cells = [
        {"point": "charge.create#1", "fault": fault, "verdict": is_}
        for fault, is_ in verdicts.items()
    ]
    file.write_text(json.dumps({"cells": cells}))
    return file


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"cells": [1]}', '{"cells": [{"name": "a", "verdict": "lost"}]}']
)
def test_what_is_no_report_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "report.json").write_text(text)
    with pytest.raises(NoReport, match="is no report"):
        Before.read(tmp_path / "report.json")


def test_a_cell_that_was_not_tried_is_not_known(tmp_path: Path) -> None:
    before = Before.read(report(tmp_path, lost_answer="unsafe"))
    assert (before.verdict(LOST), before.verdict(DECLINED)) == (Verdict.UNSAFE, None)


@slow
@pytest.mark.parametrize(
    ("was", "code", "said"),
    [
        ("unsafe", 0, "0 better, 0 worse"),
        ("survived", 1, "0 better, 1 worse"),
        ("not tried", 1, "0 better, 0 worse"),
    ],
)
def test_what_is_no_worse_than_before_is_let_pass(
    url: str, tmp_path: Path, was: str, code: int, said: str
) -> None:
    before = report(tmp_path, **({} if was == "not tried" else {"lost_answer": was}))
    done = explore(
        url, tmp_path, "falls_back.py", "--baseline", str(before), "--faults", "lost_answer"
    )
    assert (done.exit_code, said in done.output) == (code, True), done.output


@slow
def test_what_got_better_shows_in_the_table(url: str, tmp_path: Path) -> None:
    before = report(tmp_path, lost_answer="unsafe", declined_soft="failed")
    done = explore(url, tmp_path, "falls_back_careful.py", "--baseline", str(before))
    assert done.exit_code == 0
    assert "survived (was UNSAFE)" in done.output
    assert f"compared with {before}: 2 better, 0 worse" in done.output


@slow
@pytest.mark.parametrize(("shop", "code"), [("falls_back.py", 1), ("falls_back_careful.py", 0)])
def test_a_receipt_says_what_was_and_what_is(
    url: str, tmp_path: Path, shop: str, code: int
) -> None:
    before = report(tmp_path, lost_answer="unsafe", declined_soft="survived")
    done = explore(url, tmp_path, shop, "--baseline", str(before), "--fixed", LOST)
    assert done.exit_code == code, done.output
    lines = done.stdout.splitlines()
    assert lines[0] == ("not fixed: " if code else "fixed: ") + LOST
    assert lines[1] == "tried:  lost_answer at charge.create#1: it has happened, connection reset"
    assert lines[2] == f"before: unsafe, not done in time ({before})"
    assert lines[3].startswith(
        "now:    unsafe, exit code 0: double-charge" if code else "now:    survived, exit code 0"
    )


@slow
def test_only_what_was_unsafe_can_be_fixed(url: str, tmp_path: Path) -> None:
    before = report(tmp_path, lost_answer="unsafe", declined_soft="survived")
    done = explore(url, tmp_path, "falls_back.py", "--baseline", str(before), "--fixed", DECLINED)
    words = " ".join(done.stderr.split())
    assert (done.exit_code, f"which was survived in {before}; unsafe there: {LOST}" in words) == (
        2,
        True,
    ), done.stderr
