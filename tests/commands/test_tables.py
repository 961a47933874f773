"""Tables of the command line: wrapped to a terminal, one line for each row in a pipe."""

from __future__ import annotations

import io
import sys

import pytest

from mockserver.commands.tables import show

ROWS = [{"name": "declined", "meaning": "the issuer says no " * 5}, {"name": "paid", "meaning": "[bold] is a word"}]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def printed(monkeypatch: pytest.MonkeyPatch, out: io.StringIO, *, header: bool = True) -> list[str]:
    for name, value in {"COLUMNS": "40", "TERM": "xterm", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", out)
    show(ROWS, header=header)
    return [line.rstrip() for line in out.getvalue().splitlines()]


def test_a_table_fits_a_terminal_and_nothing_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = printed(monkeypatch, Terminal(), header=False)
    assert max(map(len, lines)) <= 40
    assert " ".join(line[10:] for line in lines).split() == f"{ROWS[0]['meaning']} {ROWS[1]['meaning']}".split()


def test_a_pipe_gets_one_line_for_each_row(monkeypatch: pytest.MonkeyPatch) -> None:
    assert printed(monkeypatch, io.StringIO()) == [
        "name      meaning",
        f"declined  {ROWS[0]['meaning']}".rstrip(),
        "paid      [bold] is a word",
    ]
