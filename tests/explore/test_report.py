"""Reports of an exploration, and what its folder keeps, made from cells as they come."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mockserver.commands.reports import REPORTS, explored
from mockserver.domain.figures import NAMES
from mockserver.domain.record import replace
from mockserver.explore import report
from mockserver.explore.baseline import Baseline
from mockserver.explore.exploration import Exploration
from mockserver.explore.failures import FAULTS, InjectionPoint
from mockserver.explore.fault_table import Injection, Trial
from mockserver.explore.kept import CELLS, Cell, ExplorationFolder, OtherExploration
from mockserver.explore.run_end import Reference
from mockserver.explore.run_money import RunMoney
from mockserver.explore.verdicts import Verdict, judged
from tests.explore.after import after

TWICE = {
    "finding": "double-charge",
    "severity": "error",
    "title": "The customer was charged twice",
    "why": "<b>money</b>",
    "advice": "Look first.",
}


def cell(
    point: str, fault: str, found: Verdict, code: int | None = 0, *findings: dict[str, str]
) -> Cell:
    name = "--".join(
        f"{at.replace('#', '-')}-{by}"
        for at, by in zip(point.split("+"), fault.split("+"), strict=True)
    )
    kept = found is not Verdict.SURVIVED
    return Cell(
        file=name,
        point=point,
        fault=fault,
        verdict=found,
        exit=code,
        seconds=0.25,
        findings=findings,
        timeline="POST /charge/card  201",
        calls=(("charge.create", 1, True),),
        scenario="version: 1\n" if kept else "",
        output="it printed \x1b[31m</pre><script>" if kept else "",
    )


MADE = {
    **dict.fromkeys(NAMES, 0),
    "reference": "order-1",
    "subscription": None,
    "currency": "AUD",
    "peak": 20,
    "charges": [],
}
"""An order without money."""


@pytest.fixture
def made() -> Exploration:
    calls = (
        (InjectionPoint("charge.create", 1, True), 201),
        (InjectionPoint("charge.get", 1), 200),
    )
    return Exploration(
        command=["sh", "pay it.sh"],
        seed=7,
        baseline=Baseline(calls, 0.5, is_manual=False, reference=Reference(RunMoney(()))),
        cells=[
            cell("charge.create#1", "declined_soft", Verdict.FAILED, 4),
            cell("charge.create#1", "lost_answer", Verdict.UNSAFE, 0, TWICE),
            cell("charge.get#1", "lost_answer", Verdict.SURVIVED),
            cell("charge.get#1", "too_slow", Verdict.HUNG, None),
            cell("charge.create#1+charge.get#1", "lost_request+lost_answer", Verdict.FAILED, 1),
        ],
        left_out=[Trial((Injection(InjectionPoint("charge.get", 1), FAULTS["rate_limited"]),))],
    )


@pytest.fixture
def files(made: Exploration, tmp_path: Path) -> dict[str, Path]:
    kept = ExplorationFolder(tmp_path, ["a"], 1, "30s")
    return {one.name: path for one in made.cells if (path := kept.scenario_of(one)) is not None}


def test_the_summary_says_where_money_could_not_be_compared(made: Exploration) -> None:
    words = "two runs without any fault moved different money: only findings and books judge"
    assert words not in report.text(made)
    made.baseline = replace(made.baseline, reference=Reference())
    assert words in report.text(made)


def test_the_summary_says_which_money_differed(made: Exploration) -> None:
    usual, other = ({**MADE, "captured": amount} for amount in (20, 25))
    first, second = (RunMoney([order], "2031-01-01T00:00:00Z") for order in (usual, other))
    assert Reference.of(first, first).unlike == ""
    made.baseline = replace(made.baseline, reference=Reference.of(first, second))
    words = "(order-1: captured 20.00 AUD, then captured 25.00 AUD)"
    assert words in report.text(made)


def test_doubts_that_are_alike_but_for_the_fault_are_told_once(made: Exploration) -> None:
    void, stays = "charge.void#1", "20.00 AUD of order-1 stay held"
    faults = ("lost_request", "cut_answer", "declined_soft")
    doubts = [cell(void, fault, Verdict.DOUBTFUL) for fault in faults]
    made.cells += [replace(doubt, money=(stays,)) for doubt in doubts]
    made.cells.append(replace(cell(void, "pending", Verdict.DOUBTFUL), money=("another",)))
    made.cells.append(replace(cell("charge.void#2", "pending", Verdict.DOUBTFUL), money=(stays,)))
    lines = report.text(made).splitlines()
    assert sum(line.startswith("doubtful  charge.void") for line in lines) == 3
    place = next(nr for nr, line in enumerate(lines) if f"{void}/lost_request" in line)
    assert lines[place + 1 : place + 3] == [
        f"    {stays}",
        "    so are 2 more: cut_answer, declined_soft",
    ]
    [row] = [
        line for line in report.markdown(made).splitlines() if f"`{void}/lost_request`" in line
    ]
    assert row.endswith("so are 2 more: cut_answer, declined_soft |")


def test_harm_is_told_cell_by_cell(made: Exploration) -> None:
    made.cells += [
        cell("charge.void#1", fault, Verdict.UNSAFE) for fault in ("pending", "challenge")
    ]
    lines = report.text(made).splitlines()
    assert sum("charge.void#1/" in line for line in lines if line.startswith("UNSAFE ")) == 2


def test_money_of_runs_that_failed_is_added_up(made: Exploration) -> None:
    failed = [cell for cell in made.cells if cell.verdict is Verdict.FAILED]
    assert "--books would judge them" not in report.text(made)
    made.cells[made.cells.index(failed[0])] = replace(failed[0], taken={"AUD": "129"})
    words = f"{len(failed)} failed, 129.00 AUD taken in 1: --books would judge them"
    assert words in report.text(made).splitlines()


def test_the_tables_say_what_their_verdicts_mean_and_no_others(made: Exploration) -> None:
    said = "doubtful = exit code 0, and less money or elsewhere: only the books can say (--books)"
    assert said not in report.text(made)
    made.cells[2] = replace(made.cells[2], verdict=Verdict.DOUBTFUL)
    for told in (report.text(made), report.markdown(made)):
        [line] = [line for line in told.splitlines() if said in line]
        assert line.startswith("verdicts: UNSAFE = money moved wrongly")
        assert line.endswith("; . = not tried")
        assert {
            part.split(" = ")[0].lower()
            for part in line.removeprefix("verdicts: ").split("; ")[:-1]
        } == {cell.verdict for cell in made.cells}


def test_every_verdict_has_words_for_a_table() -> None:
    [line, _] = report.legend(set(Verdict))
    assert line.count(" = ") == len(Verdict) + 1
    assert report.legend([]) == []


def test_the_report_of_a_swarm_says_how_many_calls_were_struck_that_only_a_recovery_makes(
    made: Exploration,
) -> None:
    words = "struck beyond the calls of the run without a fault: 2"
    assert words not in report.text(made)
    drawn = cell(
        "charge.get#1+charge.get#2+charge.refund#1", "+".join(["lost_answer"] * 3), Verdict.FAILED
    )
    made.cells = [replace(drawn, file="seed-7")]
    assert words in report.text(made).splitlines()


def test_why_books_could_not_be_read_is_said_where_the_command_was_content(
    made: Exploration,
) -> None:
    made.cells[0] = replace(made.cells[0], exit=0, money=["--books: exit code 1"])
    lines = report.text(made).splitlines()
    (place,) = (
        place
        for place, line in enumerate(lines)
        if line.startswith("failed  charge.create#1/declined_soft ")
    )
    assert lines[place + 1] == "    --books: exit code 1"


def test_text_is_a_table_for_each_place_and_a_list_of_what_needs_a_look(made: Exploration) -> None:
    lines = report.text(made).splitlines()
    assert lines == [
        "provider         declined_soft",
        "charge.create#1  failed",
        "",
        "answer           lost_answer  too_slow",
        "charge.create#1  UNSAFE       .",
        "charge.get#1     survived     hung",
        "",
        "verdicts: UNSAFE = money moved wrongly, or an error was found; hung = not done in time; "
        "failed = ended with an error: it noticed; survived = the money is right; . = not tried",
        "",
        "UNSAFE  charge.create#1/lost_answer                            exit 0            "
        "double-charge",
        "hung    charge.get#1/too_slow                                  not done in time",
        "failed  charge.create#1/lost_request+charge.get#1/lost_answer  exit 1",
        "",
        "To see one alone: mockserver explore --replay charge.create#1/lost_answer -- sh 'pay "
        "it.sh'",
        "",
        "5 runs with faults at 2 calls: 1 survived, 2 failed, 1 hung, 1 unsafe",
        "failures covered: 5 of 45, 11 %",
        "not tried (--budget): 1: charge.get#1/rate_limited",
    ]


WARNED = {
    **TWICE,
    "finding": "blind-retry",
    "severity": "warning",
    "about": {"charge": "c1"},
    "evidence": [],
    "count": 1,
}


def test_warnings_are_said_once_with_the_runs_that_have_them(made: Exploration) -> None:
    made.cells = [replace(one, findings=[WARNED]) for one in made.cells[2:4]]
    assert (
        "warning   blind-retry in 2 of 2 runs: charge.get#1/lost_answer"
        in report.text(made).splitlines()
    )
    assert (
        "- warning: `blind-retry` in 2 of 2 runs: `charge.get#1/lost_answer`"
        in report.markdown(made).splitlines()
    )


def test_what_the_books_excuse_is_noted(made: Exploration) -> None:
    said = "the books agree: customer paid 22.00 AUD for order-1 of 20.00 AUD"
    made.cells = [replace(made.cells[2], money=[said]), made.cells[0]]
    told = f"{said} in 1 of 2 runs: charge.get#1/lost_answer (--invariant)"
    assert f"note      {told}" in report.text(made).splitlines()
    assert (
        f"- note: {said} in 1 of 2 runs: `charge.get#1/lost_answer` (`--invariant`)"
        in report.markdown(made)
    )


def test_markdown_lists_what_needs_a_look_and_folds_the_matrix_away(made: Exploration) -> None:
    made.cells[1] = replace(made.cells[1], money=["a | b <i>"])
    lines = report.markdown(made).splitlines()
    assert lines[0] == "## Every failure, tried"
    assert (
        "| UNSAFE | `charge.create#1/lost_answer` | exit 0 | double-charge<br>a \\| b &lt;i> |"
        in lines
    )
    assert lines.index("<details><summary>The matrix</summary>") < lines.index(
        "| charge.get#1 | survived | hung |"
    )


def test_verdicts_that_no_finding_explains_are_findings_for_ci(made: Exploration) -> None:
    lost = {**TWICE, "about": {"charge": "c1"}, "evidence": [], "count": 1}
    made.cells[1] = replace(made.cells[1], findings=[lost])
    made.cells[2] = replace(
        made.cells[2], verdict=Verdict.DOUBTFUL, money=["order-1: paid 0.00 AUD"]
    )
    rows = report.rows(made)
    assert [(row["finding"], row["severity"], row["about"]["cell"]) for row in rows] == [
        ("double-charge", "error", "charge.create#1/lost_answer"),
        ("explore-hung", "error", "charge.get#1/too_slow"),
        ("explore-doubtful", "warning", "charge.get#1/lost_answer"),
    ]
    run = json.loads(REPORTS["sarif"](rows))["runs"][0]
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert [ids[result["ruleIndex"]] for result in run["results"]] == [
        row["finding"] for row in rows
    ]
    told = REPORTS["github"](rows).splitlines()
    assert [line.partition(" ")[0] for line in told] == ["::error", "::error", "::warning"]
    assert "order-1: paid 0.00 AUD" in told[2]


def test_json_is_as_promised(made: Exploration, files: dict[str, Path]) -> None:
    data = json.loads(report.as_json(made, files))
    assert data["command"] == ["sh", "pay it.sh"]
    assert data["seed"] == 7
    assert data["baseline"] == {
        "calls": [
            {"point": "charge.create#1", "status": 201},
            {"point": "charge.get#1", "status": 200},
        ],
        "seconds": 0.5,
    }
    assert data["cells"][1] == {
        "name": "charge.create#1/lost_answer",
        "point": "charge.create#1",
        "fault": "lost_answer",
        "verdict": "unsafe",
        "exit": 0,
        "findings": ["double-charge"],
        "money": [],
        "seconds": 0.25,
        "scenario": str(files["charge.create#1/lost_answer"]),
    }
    assert [(one["exit"], one["scenario"] is None) for one in data["cells"][2:4]] == [
        (0, True),
        (None, False),
    ]
    assert {row["op"]: row["failures"]["lost_answer"] for row in data["coverage"]["map"]} == {
        "charge.create": "unsafe",
        "charge.get": "survived",
    }
    assert data["left_out"] == [{"point": "charge.get#1", "fault": "rate_limited", "why": "budget"}]


def test_junit_fails_what_is_at_or_above_the_level(
    made: Exploration, files: dict[str, Path]
) -> None:
    for least, failures in ((Verdict.UNSAFE, "1"), (Verdict.HUNG, "2"), (Verdict.FAILED, "4")):
        suite = ElementTree.fromstring(explored(made, files, least))[0]
        assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == (
            "6",
            failures,
            "1",
        )


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        self.links += [given["href"] or ""] if "href" in given else []
        self.ids += [given["id"] or ""] if "id" in given else []
        assert not given.keys() & {"src", "onclick", "style"}


def test_the_page_needs_no_network_and_no_script_and_every_cell_leads_to_its_story(
    made: Exploration,
) -> None:
    text = report.page(made)
    page = Page(text)
    assert not {"script", "img", "link", "iframe"} & set(page.tags)
    assert not re.search(r"https?://|@import|url\(", text)
    assert "default-src &#39;none&#39;" in text or "default-src 'none'" in text
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert {f"#{one.file}" for one in made.cells} <= set(page.links)
    assert page.tags.count("section") == len(made.cells)
    assert "&lt;/pre&gt;&lt;script&gt;" in text
    assert "prefers-color-scheme: dark" in text


@pytest.mark.parametrize(
    ("code", "severity", "has_fired", "wanted"),
    [
        (0, "warning", True, Verdict.SURVIVED),
        (3, "note", True, Verdict.FAILED),
        (-9, "warning", True, Verdict.FAILED),
        (None, "warning", True, Verdict.HUNG),
        (0, "error", True, Verdict.UNSAFE),
        (None, "error", True, Verdict.UNSAFE),
        (0, "note", False, Verdict.NOT_REACHED),
        (1, "note", False, Verdict.NOT_REACHED),
        (0, "error", False, Verdict.UNSAFE),
    ],
)
def test_verdicts(code: int | None, severity: str, has_fired: bool, wanted: Verdict) -> None:
    end = after([{"finding": "wrong-state", "severity": severity}])
    assert judged(code, end, Reference(), has_books=False, has_fired=has_fired).verdict is wanted


def test_a_name_that_leads_out_of_the_folder_is_refused(made: Exploration, tmp_path: Path) -> None:
    kept = ExplorationFolder(tmp_path / "out", ["a"], 1, "30s")
    kept.begin()
    kept.keep(made.cells[0])
    cells = tmp_path / "out" / CELLS
    cells.write_text(cells.read_text().replace('"file": "', '"file": "../'))
    precious = tmp_path / f"{made.cells[0].file}.yaml"
    precious.touch()
    with pytest.raises(OtherExploration):
        ExplorationFolder(tmp_path / "out", ["b"], 1, "30s").begin()
    assert precious.exists()


def test_verdicts_have_an_order() -> None:
    assert Verdict.UNSAFE.reaches(Verdict.HUNG)
    assert Verdict.FAILED.reaches(Verdict.FAILED)
    assert not Verdict.NOT_REACHED.reaches(Verdict.FAILED)


def test_what_is_kept_is_there_again(made: Exploration, tmp_path: Path) -> None:
    kept = ExplorationFolder(tmp_path / "out", ["a"], 1, "30s")
    kept.begin()
    for one in made.cells:
        kept.keep(one)
    assert [one.name for one in ExplorationFolder(tmp_path / "out", ["a"], 1, "30s").resume()] == [
        one.name for one in made.cells
    ]
    assert len(list((tmp_path / "out").glob("*.yaml"))) == 4
    ExplorationFolder(tmp_path / "out", ["b"], 1, "30s").begin()
    assert [path.name for path in (tmp_path / "out").iterdir()] == [CELLS]


def test_what_commands_printed_is_kept_where_they_did_not_survive(
    made: Exploration, tmp_path: Path
) -> None:
    kept = ExplorationFolder(tmp_path, ["a"], 1, "30s")
    kept.begin()
    for one in made.cells:
        kept.keep(one)
    kept_of = [one for one in made.cells if one.verdict is not Verdict.SURVIVED]
    assert {path.name for path in tmp_path.glob("*.log")} == {f"{one.file}.log" for one in kept_of}
    assert (kept.folder / f"{kept_of[0].file}.log").read_text() == kept_of[0].output


def test_a_card_number_in_the_command_is_in_no_report(made: Exploration, tmp_path: Path) -> None:
    made.command = ["pay", "4111111111111111"]
    kept = ExplorationFolder(tmp_path, made.command, 1, "30s")
    kept.begin()
    shown = [(tmp_path / CELLS).read_text(), report.as_json(made, {}), report.text(made)]
    assert all("4111********1111" in one and "4111111111111111" not in one for one in shown)
    assert "--replay charge.create#1/lost_answer -- pay" in shown[2]
    assert kept.resume() == []


def test_one_folder_is_for_one_exploration_at_a_time(tmp_path: Path) -> None:
    with (
        ExplorationFolder(tmp_path, ["a"], 1, "30s").claimed(),
        pytest.raises(OtherExploration, match="another exploration is at work in"),
        ExplorationFolder(tmp_path, ["a"], 1, "30s").claimed(),
    ):
        pass
    with ExplorationFolder(tmp_path, ["a"], 1, "30s").claimed():
        pass


def test_a_line_that_was_cut_is_forgotten(made: Exploration, tmp_path: Path) -> None:
    kept = ExplorationFolder(tmp_path, ["a"], 1, "30s")
    kept.begin()
    kept.keep(made.cells[0])
    path = tmp_path / CELLS
    path.write_text(path.read_text() + '{"name": "charge.cre')
    assert [one.name for one in kept.resume()] == [made.cells[0].name]
    kept.keep(made.cells[1])
    assert len(kept.resume()) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not a file of an exploration"),
        ("[]\n", "is not a file of an exploration"),
        ("\xff\n", "is not a file of an exploration"),
        ("no json\n", "is not a file of an exploration; remove it or choose another --out"),
        (
            '{"command": ["b"], "seed": 1, "client timeout": "30s"}\n',
            "is of another command: it has ['b'], now ['a']",
        ),
        (
            '{"command": ["a"], "seed": 1, "client timeout": "30s"}\n{"name": 5}\n',
            "is not a file of an exploration",
        ),
        (
            '{"command": ["a"], "seed": 1, "client timeout": "30s", "server": ["--profile", '
            '"sdk"]}\n',
            "is of another server: it has ['--profile', 'sdk'], now None",
        ),
    ],
)
def test_what_another_left_is_not_resumed(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / CELLS).write_text(text, "latin-1")
    with pytest.raises(OtherExploration, match=re.escape(words)):
        ExplorationFolder(tmp_path, ["a"], 1, "30s").resume()
