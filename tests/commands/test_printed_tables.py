"""The commands that print tables print all of them: wrapped to a terminal, one line for each row in
a pipe."""

import io
import json
import sys

import pytest

from mockserver.assumptions import ROWS
from mockserver.commands.printed_tables import show
from mockserver.domain.states import TABLES, mermaid
from mockserver.web.routes import ROUTES
from tests.running import run


def test_states_prints_every_move_of_every_table() -> None:
    for profile, authorised in (("documented", "Authorised"), ("sdk", "AUTHORISE")):
        words = {"AUTHORISE": authorised}
        printed = {
            tuple(line.split()) for line in run("states", "--profile", profile).output.splitlines()
        }
        for name, table in TABLES.items():
            for state, moves in table.moves.items():
                before = words.get(state, state.value)
                wanted = {
                    (name, before, event.value, words.get(to, to.value))
                    for event, to in moves.items()
                }
                assert (wanted or {(name, before, "-", "(final)")}) <= printed
    assert "Authorised --> SUCCESS: captured" in run("states", "--mermaid", "charge").output


def test_states_of_one_subject_only() -> None:
    lines = run("states", "charge").output.splitlines()
    assert {line.split()[0] for line in lines} == {"subject", "charge"}


def test_states_as_mermaid_are_the_diagrams_of_the_tables() -> None:
    assert run("states", "--mermaid", "vault").output == f"%% vault\n{mermaid(TABLES['vault'])}\n"
    assert run("states", "--mermaid").output.count("stateDiagram-v2") == len(TABLES)


def test_states_of_an_unknown_subject_are_bad_usage() -> None:
    done = run("states", "chargee")
    assert (done.exit_code, "allowed: charge" in done.output) == (2, True)


def test_assumptions_prints_every_row_with_both_profiles() -> None:
    rows = {row["key"]: row for row in json.loads(run("assumptions", "--json").output)}
    assert list(rows) == list(ROWS)
    assert rows["response.created_status"]["documented"] == "201"
    assert rows["response.created_status"]["sdk"] == "200"
    assert [line.split()[0] for line in run("assumptions").output.splitlines()[1:]] == list(ROWS)


def test_routes_prints_every_operation() -> None:
    rows = json.loads(run("routes", "--json").output)
    assert [(row["method"], row["path"], row["op"]) for row in rows] == [
        (r.method, r.path, r.op) for r in ROUTES
    ]
    lines = run("routes").output.splitlines()
    assert [tuple(line.split()[:3]) for line in lines[1:]] == [
        (r.method, r.path, r.op) for r in ROUTES
    ]


SHOWN = [
    {"name": "declined", "meaning": "the issuer says no " * 5},
    {"name": "paid", "meaning": "[bold] is a word"},
]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def printed(monkeypatch: pytest.MonkeyPatch, out: io.StringIO, *, header: bool = True) -> list[str]:
    for name, value in {"COLUMNS": "40", "TERM": "xterm", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", out)
    show(SHOWN, header=header)
    return [line.rstrip() for line in out.getvalue().splitlines()]


def test_a_table_fits_a_terminal_and_nothing_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = printed(monkeypatch, Terminal(), header=False)
    assert max(map(len, lines)) <= 40
    assert (
        " ".join(line[10:] for line in lines).split()
        == f"{SHOWN[0]['meaning']} {SHOWN[1]['meaning']}".split()
    )


def test_a_pipe_gets_one_line_for_each_row(monkeypatch: pytest.MonkeyPatch) -> None:
    assert printed(monkeypatch, io.StringIO()) == [
        "name      meaning",
        f"declined  {SHOWN[0]['meaning']}".rstrip(),
        "paid      [bold] is a word",
    ]
