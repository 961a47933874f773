"""Keeps README.md and docs/*.md true: runs what they show, rewrites what was printed, and prints
the tables.

    python -m tools.docs                     rewrite them, which takes minutes
    python -m tools.docs --tables            print the tables alone, in seconds: enough after most
                                             changes of the code
    python -m tools.docs docs/explore.md     rewrite that page alone
    python -m tools.docs --check             say what would change; exit code 1 when anything does

A comment right before a fenced block says what the block is:

    <!-- serve: demo -->            a `mockserver ...` line: started on a free port, in the session
                                    called demo
    <!-- run: demo -->              commands after `$ ` with what they print, run by one shell of
                                    that session
    <!-- file: demo shop.yaml -->   a file in the session's folder
    <!-- shown: reason -->          not run here; tests/test_docs.py says how each is checked

and `<!-- table: states -->` ... `<!-- end -->` encloses what is printed from the code.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOP = tuple(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG", "SECURITY"))
README = TOP[0]
PAGES = (*TOP, *sorted((ROOT / "docs").glob("*.md")))
PYTHON = [sys.executable]
"""The command that runs Python."""
PORT, TLS_PORT = "4111", "5001"
START_SECONDS = 30.0
SHELL_SECONDS = 300.0

BLOCK = re.compile(
    r"<!-- (?P<kind>serve|run|file|shown): (?P<what>[^\n]*?) "
    r"-->\n```(?P<language>\w+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
TABLE = re.compile(
    r"(?P<begin><!-- table: (?P<name>[\w-]+) -->)\n.*?(?P<end><!-- end -->)", re.DOTALL
)
# What differs from run to run: durations and the folder.
VOLATILE = [(re.compile(r"\bin \d+\.\d\ds\b"), "in 0.50s")]


class Untrue(Exception):
    """A command of a page cannot be run as it stands there."""


@dataclass(slots=True)
class Session:
    """A folder, a shell and perhaps a server, shared by the blocks of one name."""

    folder: Path
    shell: subprocess.Popen[str]
    server: subprocess.Popen[bytes] | None = None
    ports: dict[str, str] = field(default_factory=dict)
    commands: int = 0

    def serve(self, line: str) -> None:
        """Start the server that ``line`` shows, on a port of its own."""
        name, *options = line.split()
        if name != "mockserver" or self.server is not None:
            raise Untrue(
                f"wanted one line that begins with mockserver, once in a session, got: {line}"
            )
        port_file = self.folder / ".port"
        free = ["0" if option == TLS_PORT else option for option in options]
        with (self.folder / ".log").open("wb") as log:
            self.server = subprocess.Popen(
                [*PYTHON, "-m", "mockserver", *free, "--port", "0", "--port-file", str(port_file)],
                cwd=self.folder,
                env=environment(self.folder),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        end = time.monotonic() + START_SECONDS
        while not port_file.exists():
            if self.server.poll() is not None or time.monotonic() > end:
                raise Untrue(f"{line}: not ready: {(self.folder / '.log').read_text()}")
            time.sleep(0.02)
        self.ports[PORT] = port_file.read_text().strip()
        tls = re.search(r"tls on https://localhost:(\d+)", (self.folder / ".log").read_text())
        if tls is not None:
            self.ports[TLS_PORT] = tls[1]

    def run(self, command: str) -> str:
        """What the command prints, on both streams, with the port that the page shows."""
        if self.shell.stdin is None or self.shell.stdout is None:
            raise Untrue("the shell was started without pipes")
        self.commands += 1
        # The shell goes on after a command: a line of its own says where one has ended.
        mark = f"--end of command {self.commands}--"
        self.shell.stdin.write(f"{self.as_real(command)}\necho '{mark}'\n")
        self.shell.stdin.flush()
        printed = ""
        for line in self.shell.stdout:
            if mark in line:
                return self._as_shown(printed + line.replace(f"{mark}\n", ""))
            printed += line
        raise Untrue(f"the shell ended in: {command}\n{printed}")

    def as_real(self, shown: str) -> str:
        """A text of the page with the ports of this session."""
        for port, real in self.ports.items():
            shown = shown.replace(f":{port}", f":{real}")
        return shown

    def _as_shown(self, printed: str) -> str:
        """What was printed, with the ports of the page."""
        for shown, real in self.ports.items():
            printed = printed.replace(f":{real}", f":{shown}")
        return printed

    def close(self) -> None:
        """Stop what was started."""
        self.shell.kill()
        self.shell.communicate()
        if self.server is not None:
            self.server.terminate()
            self.server.wait(20)


@dataclass(slots=True)
class Sessions:
    """All sessions of one reading, by name."""

    folder: Path
    opened: dict[str, Session] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Session:
        if name not in self.opened:
            folder = self.folder / name
            folder.mkdir()
            shell = subprocess.Popen(
                # A command that never ends must not stop everything.
                ["timeout", str(SHELL_SECONDS), "bash", "--noprofile", "--norc"],
                cwd=folder,
                env=environment(folder),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            self.opened[name] = Session(folder, shell)
        return self.opened[name]

    def close(self) -> None:
        """Close them all."""
        for session in self.opened.values():
            session.close()


def environment(folder: Path) -> dict[str, str]:
    """An environment in which this checkout is installed, and no setting of the developer's
    counts."""
    commands = folder.parent / ".bin"
    if not commands.exists():
        commands.mkdir()
        for name, words in {"mockserver": "-m mockserver", "python": "", "python3": ""}.items():
            (commands / name).write_text(f'#!/bin/sh\nexec {shlex.join(PYTHON)} {words} "$@"\n')
            (commands / name).chmod(0o755)
    # Where these two are set pytest prints more, which is not what a reader sees.
    left_out = {"CI", "BUILD_NUMBER"}
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in left_out and not name.startswith(("MOCKSERVER_", "PYTEST_"))
    }
    kept |= {
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "COLUMNS": "100",
    }
    kept |= {"MOCKSERVER_DATA_DIR": str(folder.parent / ".data")}
    kept |= {"LC_ALL": "C.UTF-8", "TZ": "UTC", "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    # A reader has no other plugins, and those of a developer take seconds to load.
    kept |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "mockserver.pytest_plugin"}
    return kept


def commands(text: str) -> Iterator[str]:
    """The commands of a console block. A line with an open quote or a backslash at its end goes on
    in the next."""
    command: list[str] = []
    for line in text.splitlines():
        if command or line.startswith("$ "):
            command.append(line if command else line[2:])
            text = "\n".join(command)
            if not line.endswith("\\") and closed(text):
                yield text
                command = []


def closed(command: str) -> bool:
    """Whether every quote of the command is closed."""
    try:
        shlex.split(command)
    except ValueError:
        return False
    return True


def steady(text: str) -> str:
    """``text`` with what differs from run to run replaced."""
    for pattern, words in VOLATILE:
        text = pattern.sub(words, text)
    return text


def tabled(page: str) -> str:
    """A page with every table printed again."""
    # Not before ``tools.derived`` has written: what is imported reads its files, once.
    from tools import tables

    def printed(table: re.Match[str]) -> str:
        return f"{table['begin']}\n{tables.PRINT[table['name']]()}\n{table['end']}"

    return TABLE.sub(printed, page)


def refreshed(page: str, folder: Path) -> str:
    """A page as it should be: every block run again in order, every table printed again."""
    sessions = Sessions(folder)

    def renew(block: re.Match[str]) -> str:
        what, text = block["what"], block["text"]
        match block["kind"]:
            case "serve":
                sessions[what].serve(text.strip())
            case "file":
                name, _, path = what.partition(" ")
                (sessions[name].folder / path).write_text(sessions[name].as_real(text))
            case "run":
                session = sessions[what]
                printed = "".join(
                    f"$ {command}\n{ended(session.run(command))}" for command in commands(text)
                )
                return block[0].replace(text, steady(printed))
        return block[0]

    try:
        return BLOCK.sub(renew, tabled(page))
    finally:
        sessions.close()


def ended(text: str) -> str:
    """``text`` with a line end, unless it is empty."""
    return text if not text or text.endswith("\n") else f"{text}\n"


def difference(page: str, name: str = "page") -> str:
    """What a rewriting would change, as a unified difference; empty when the page is true."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = refreshed(page, Path(folder))
    return "\n".join(
        difflib.unified_diff(page.splitlines(), wanted.splitlines(), name, "as it is", lineterm="")
    )


def main() -> int:
    """Rewrite the pages, or with ``--check`` only say what would change."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pages", nargs="*", type=Path, default=PAGES, help="these pages alone")
    parser.add_argument(
        "--tables", action="store_true", help="print the tables alone, and run no command"
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="change nothing, exit with 1 when something would change",
    )
    chosen = parser.parse_args()
    changes = ""
    if not chosen.check:
        subprocess.run([*PYTHON, "-m", "tools.derived"], cwd=ROOT, check=True)
    for page in map(Path.resolve, chosen.pages):
        text = page.read_text("utf-8")
        if chosen.check:
            changes += difference(text, str(page.relative_to(ROOT)))
        elif chosen.tables:
            page.write_text(tabled(text), "utf-8")
        else:
            with tempfile.TemporaryDirectory() as folder:
                page.write_text(refreshed(text, Path(folder)), "utf-8")
    print(changes)
    return 1 if changes else 0


if __name__ == "__main__":
    sys.exit(main())
