"""What the shell offers for a parameter of a command: the words of a choice, the names of shipped
scenarios, files.

Source: docs/cli.md.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_WORDS = re.compile(r"\w+(\|\w+)+")
"""A metavar that lists the allowed words, such as ``text|json``; names of kinds, such as FILE, are
in capitals."""


def offered(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The words of a choice; for a scenario, and for every argument, the names of shipped
    scenarios; files where none of these fits, and nothing for a text that only the user knows, such
    as a key."""
    from click.shell_completion import CompletionItem

    words: list[str] = []
    metavar = param.metavar or ""
    takes_scenario = param.name == "scenario" or isinstance(param, click.Argument)
    if takes_scenario:
        from mockserver.adapters.scenario_files import shipped

        words = [name for name, *_ in shipped()]
    elif _WORDS.fullmatch(metavar) and metavar.islower():
        words = metavar.split("|")
    elif "FILE" not in metavar and "DIR" not in metavar:
        return []
    suggestions = [word for word in words if word.startswith(incomplete)]
    if not suggestions:
        # The shell itself completes names of files.
        return [CompletionItem(incomplete, type="file")]
    return [CompletionItem(word) for word in suggestions]
