"""The tools that run a command: ``mockserver explore`` in a folder that ``--allow`` names
(docs/mcp.md).

What the tools are given must stay inside those folders: where a command runs, its program unless it
is one of the PATH, every file that its words name, and what is written. Which words of a command
are files nobody but its program knows, so every word is checked in each way in which it may be read
as a path, and refused if one of them leads out. The program itself may do whatever the user of this
command may: a test suite cannot be locked in by reading its words.
"""

import asyncio
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from mockserver.adapters.exit_codes import Exit
from mockserver.adapters.local_server import child_environment
from mockserver.adapters.scenario_files import files_of
from mockserver.commands.explore import explore
from mockserver.domain.masking import mask_start
from mockserver.domain.record import record
from mockserver.explore.kept import Before, NoReport
from mockserver.mcp.tools import Arguments, Schema, Tool, ToolRefused, argument, listed, masked

OUT = "explored"
"""The folder of reports, in the folder of the command."""

_OWN = ("url", "admin_token", "out", "replay", "baseline", "fixed", "form", "command")
"""Parameters of the command that the tools give themselves."""

_OPTIONS = {
    parameter.opts[0].removeprefix("--"): parameter
    for parameter in explore.params
    if isinstance(parameter, click.Option) and parameter.name not in _OWN
}
"""The options that the tools offer, by their names without the hyphens: a new option of the command
is a new argument of the tools."""

_COMMANDS = ("books", "restart", "reconcile")
"""Options that are commands too."""

_MASKED = "***"
"""What stands in a report where a word held a card number or a key."""

_CELL_OPTIONS = {"replay": "--replay", "check_fix": "--fixed"}
"""The option by which each tool that is about one cell names it."""
_CELL = re.compile(r"seed-\d{1,10}|[\w.]+#\d+[\w.#+]*/\w[\w.+]*")
"""The name of a cell. ``--replay`` takes files too, which an agent must not name by it."""


@record
class Folders:
    """The folders of ``--allow``, resolved: no tool reads, writes or runs anything elsewhere.

    Every text that a tool is given goes through ``check_text``, whatever its argument means: one
    that names no file today may name one tomorrow."""

    allowed: Sequence[Path]

    def folder(self, path: str) -> Path:
        """Where a command runs, read from the first folder on. Raises ``ToolRefused``."""
        self.check_text(path, self.allowed[0], "folder")
        folder = _real(self.allowed[0] / path)
        if not os.path.isdir(folder):
            raise self._outside("folder", path)
        out = folder / OUT
        # What is written through a link goes elsewhere.
        has_links = out.is_dir() and any(entry.is_symlink() for entry in out.iterdir())
        if out.is_symlink() or has_links:
            raise ToolRefused(
                f"folder: {out} is or holds a symbolic link; remove it: reports are written there"
            )
        return folder

    def check_text(self, text: str, folder: Path, name: str) -> None:
        """Raise ``ToolRefused`` for a text that names a file elsewhere, read from ``folder`` on;
        ``name`` is that of its argument."""
        if not _is_encodable(text):
            raise ToolRefused(
                f"{name}: got a text with a character that no path and no command may have"
            )
        if any(self._leaves(reading, folder) for reading in _readings(text)):
            raise self._outside(name, text)

    def check_command(self, words: Sequence[str], folder: Path, name: str) -> None:
        """Raise ``ToolRefused`` for a command whose program or files are elsewhere. The program
        alone may be one of the PATH: its other words are checked as any text."""
        if not words or not all(map(_is_encodable, words)):
            raise ToolRefused(
                f"{name}: wanted the words of a command, such as ['python', 'pay.py']"
            )
        program, *arguments = words
        if not self._is_allowed_program(program, folder):
            raise self._outside(name, program, "a program of the PATH, or ")
        for word in arguments:
            self.check_text(word, folder, name)

    def _is_allowed_program(self, program: str, folder: Path) -> bool:
        """Whether a program, as the first word of a command names it, is there and may be run."""
        if os.path.basename(program) == program:
            # A bare name is looked for in the PATH alone, as the system does that runs it.
            file = shutil.which(program)
            # It may find a pipe or a device, which nobody can run.
            return file is not None and os.path.isfile(file)
        path = folder / program
        return os.path.isfile(path) and self._may_run(path)

    def check_argument(self, text: str, folder: Path, name: str) -> None:
        """Raise ``ToolRefused`` for an argument that names a file elsewhere, or a folder in which
        the reader of scenarios would find one: by a link in it. The name of a shipped scenario
        names nothing elsewhere. A text may be a list, which the server parts at its commas and
        strips of blanks."""
        parts = [part.strip() for part in text.split(",")]
        for part in dict.fromkeys([text, *parts]):
            self._check_name(part, folder, name)

    def _check_name(self, text: str, folder: Path, name: str) -> None:
        """Raise ``ToolRefused`` for a name of a file, or of a folder with a file, elsewhere."""
        self.check_text(text, folder, name)
        if not os.path.isdir(folder / text):
            return
        try:
            files = [*files_of(str(folder / text))]
        except OSError as fault:
            raise ToolRefused(
                f"{name}: the folder '{mask_start(text, 200)}' cannot be read: {fault.strerror}"
            ) from None
        for file in files:
            self.check_text(str(file), folder, name)

    def _may_run(self, program: Path) -> bool:
        """Whether a program is inside, or inside a link to one of the PATH: the Python of a virtual
        environment is such a link, and runs the tests of most projects."""
        target = _real(program)
        if self._holds(target):
            return True
        if not self._holds(_real(program.parent)):
            return False
        path_folders = [_real(Path(folder)) for folder in os.get_exec_path()]
        return target.parent in path_folders

    def _leaves(self, word: str, folder: Path) -> bool:
        """Whether a word, read as a path, leads out of the folders."""
        # A shell, or a program like one, makes of it the home of the user.
        if word.startswith("~"):
            return True
        return not self._holds(_real(folder / word))

    def _holds(self, path: Path) -> bool:
        """Whether a path without links is in one of the folders."""
        return any(path.is_relative_to(folder) for folder in self.allowed)

    def _outside(self, name: str, word: str, also: str = "") -> ToolRefused:
        """The refusal of what is not there, or is elsewhere. It does not say which of the two: that
        would tell what there is elsewhere."""
        inside = ", ".join(map(str, self.allowed))
        return ToolRefused(
            f"{name}: got '{mask_start(word, 200)}', wanted {also}what is there and inside of "
            f"--allow: {inside}"
        )


def _readings(text: str) -> Iterator[str]:
    """The paths that a text may mean: itself, and what stands behind an option (--in=FILE, -iFILE,
    -i=FILE)."""
    yield text
    _, _, value = text.partition("=")
    yield value
    if text.startswith("-"):
        yield text[2:]


def _is_encodable(text: str) -> bool:
    """Whether a text can be handed to the operating system."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        # Half of a character, as JSON can hold.
        return False


def _real(path: Path) -> Path:
    """Where a path leads to, by all links, whether something is there or not."""
    return Path(os.path.realpath(path))


class JoinedServer(NamedTuple):
    """A server that runs already."""

    url: str
    admin_token: str | None


def explore_tools(folders: Folders, joined: JoinedServer | None) -> Sequence[Tool]:
    """The tools that run a command, against a server that is ``joined``, or else one of their
    own."""
    schemas = {name: _schema(option) for name, option in _OPTIONS.items()}

    # All take the same, and differ in the option by which they name a cell.
    def tool_of(name: str) -> Tool:
        async def run(arguments: Arguments) -> str:
            folder = folders.folder(str(arguments.get("folder", "")))
            if "command" not in arguments:
                # An agent repeats a cell by its name alone.
                arguments = {**_arguments_of_last(folder), **arguments}
            words = _checked_words(name, arguments, folder, folders)
            return await _explore(words, folder, joined)

        return listed(name, run, schemas, reads=False)

    return [tool_of(name) for name in ("explore", *_CELL_OPTIONS)]


def _arguments_of_last(folder: Path) -> Arguments:
    """The command of the last exploration of a folder, with the options on which it depends what a
    cell does, as a tool is given them: they are checked as if the agent had given them. Raises
    ``ToolRefused``."""
    try:
        report = Before.read(folder / OUT / "report.json")
    except (OSError, NoReport):
        raise ToolRefused(
            f"command is missing: {folder / OUT} holds no report of an exploration to take it from"
        ) from None
    if any(_MASKED in word for word in [*report.command, *report.options]):
        raise ToolRefused(
            "command is missing: the report masks a card number or a key in it, so give the "
            "command again"
        )
    arguments: dict[str, Any] = {"command": report.command}
    # A report has options as words, each followed by its value: none of these is a flag.
    for option, value in zip(report.options[::2], report.options[1::2], strict=False):
        name = option.removeprefix("--")
        # Such as --url: the server is that of the tools.
        if name not in _OPTIONS:
            continue
        if _OPTIONS[name].multiple:
            arguments.setdefault(name, []).append(value)
        else:
            arguments[name] = value
    return arguments


def _checked_words(name: str, arguments: Arguments, folder: Path, folders: Folders) -> list[str]:
    """The words that the arguments of a tool mean, behind ``mockserver explore``: options, then the
    command. Raises ``ToolRefused`` when they lead out of the folders."""
    _check(arguments, folder, folders)
    words = [f"--out={OUT}"]
    if "cell" in arguments:
        cell = str(arguments["cell"])
        if not _CELL.fullmatch(cell):
            raise ToolRefused(
                f"cell: got '{mask_start(cell, 100)}', wanted such as charge.create#1/lost_answer"
            )
        words.append(f"{_CELL_OPTIONS[name]}={cell}")
    for option in _OPTIONS:
        for value in _values(arguments.get(option, [])):
            if value is True:
                words.append(f"--{option}")
            elif value is not False:
                # In one word: a value that begins with a hyphen is no option.
                words.append(f"--{option}={value}")
    return [*words, "--", *map(str, arguments["command"])]


def _check(arguments: Arguments, folder: Path, folders: Folders) -> None:
    """The one check of all that a tool is given, before any of it is used: the folder has been
    checked already. Raises ``ToolRefused`` for the first that leads out of the folders."""
    for name, value in arguments.items():
        if name == "command":
            # As words: a shell is not asked, so none of them is taken apart.
            folders.check_command([str(word) for word in value], folder, name)
        elif name in _COMMANDS:
            folders.check_command(_words(str(value), name), folder, name)
        elif name != "folder":
            for text in _values(value):
                folders.check_argument(str(text), folder, name)


def _values(value: object) -> Sequence[object]:
    """The values of an argument, which may be given once or, as a list, more than once."""
    if isinstance(value, list):
        return value
    return [value]


def _schema(option: click.Option) -> Schema:
    """An option as the argument of a tool. What the command reads itself, as a duration, is a text
    here: it refuses in words that an agent can read."""
    kind = "string"
    if option.multiple:
        kind = "array"
    elif option.is_flag:
        kind = "boolean"
    elif isinstance(option.type, click.IntRange):
        kind = "integer"
    return argument(kind, option.help or "")


def _words(command: str, name: str) -> Sequence[str]:
    """A command as its words. Raises ``ToolRefused``."""
    try:
        return shlex.split(command)
    except ValueError as fault:
        raise ToolRefused(f"{name}: got '{mask_start(command, 100)}': {fault}") from None


async def _explore(words: Sequence[str], folder: Path, joined: JoinedServer | None) -> str:
    """What the command printed. It ends when nobody waits any more. Raises ``ToolRefused`` when it
    did not explore: what it found, good or bad, is an answer.

    In a process of its own, in a session of its own: it works in another folder, ends what it
    starts, and must not take standard input, over which the agent speaks."""
    # Without -P a module in the folder could stand in the place of ours.
    command = [sys.executable, "-P", "-m", "mockserver", "explore"]
    variables = child_environment()
    if joined is not None:
        command += ["--url", joined.url]
        if joined.admin_token:
            # In the environment, as everybody on the machine may read the words of a command.
            variables["MOCKSERVER_ADMIN_TOKEN"] = joined.admin_token
    process = await asyncio.create_subprocess_exec(
        *command,
        *words,
        cwd=folder,
        env=variables,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        printed, _ = await process.communicate()
    finally:
        if process.returncode is None:
            # It ends what it runs and then itself, as when somebody presses Ctrl-C.
            process.terminate()
    text = f"{masked(printed.decode('utf-8', 'replace'))}\nexit code {process.returncode}"
    if process.returncode not in (Exit.OK, Exit.FOUND):
        raise ToolRefused(text)
    return text
