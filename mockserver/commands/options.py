"""Options of the commands: rows of ``options.csv``, as those of a server are of
``settings.csv``."""

import os
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import click

from mockserver.books.shop_rows import mapping_of
from mockserver.commands.completion import offered
from mockserver.domain.clock import SECOND, Micros, parse_duration
from mockserver.domain.invariants import Invariant
from mockserver.domain.masking import mask_start
from mockserver.domain.record import read_grouped, record
from mockserver.findings.catalogue import kind_of
from mockserver.scenario.operations import operations_like
from mockserver.settings import Settings, read_address

F = TypeVar("F", bound=Callable[..., Any])


def _by(read: Callable[[Any], Any]) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """A callback that reads the value of an option with ``read``, whose ``ValueError`` says what is
    wrong with it. The text is kept too, so that the command can tell the user how to give it
    again."""

    def value(ctx: click.Context, param: click.Parameter, text: Any) -> Any:
        _texts_of(ctx)[param.name or ""] = text
        if text is None:
            return None
        try:
            return read(text)
        except ValueError as fault:
            raise click.BadParameter(str(fault)) from None

    return value


def _texts_of(ctx: click.Context) -> dict[str, Any]:
    """The texts of the options of a command of which it has other values, by name."""
    texts: dict[str, Any] = ctx.meta.setdefault("mockserver.texts", {})
    return texts


def given_again(ctx: click.Context, names: Collection[str]) -> Iterator[str]:
    """The words by which the user has given some options of this command, to give them again."""
    for param in ctx.command.params:
        name = param.name or ""
        if (
            name not in names
            or ctx.get_parameter_source(name) is not click.core.ParameterSource.COMMANDLINE
        ):
            continue
        value = _texts_of(ctx).get(name, ctx.params[name])
        for text in value if param.multiple else [value]:
            yield param.opts[0]
            yield str(text)


def _duration(text: str) -> Micros:
    length = parse_duration(text)
    if not length:
        raise ValueError("got 0, wanted a duration above 0")
    return length


def _books(text: str) -> list[str]:
    """What gives the shop's books: the words of a command, or an address alone. Raises
    ``ValueError``."""
    scheme, mark, _ = text.partition("://")
    if not mark or not scheme.isalpha():
        return _words(text)
    if scheme.lower() not in ("http", "https") or not _names_a_host(text):
        raise ValueError(
            f"got '{mask_start(text, 200)}', wanted a command, or an http or https address"
        )
    return [text]


def _names_a_host(address: str) -> bool:
    try:
        parts = urlsplit(address)
        # Raises for a part of the name that is empty or too long.
        host = (parts.hostname or "").encode("idna")
        return bool(host) and parts.port != 0 and not any(map(str.isspace, address))
    except ValueError:
        return False


def _header_text(text: str) -> str:
    """A text that a header can hold. Raises ``ValueError``."""
    if not (text and text.isascii() and text.isprintable()):
        raise ValueError("wanted a text of ASCII characters that is not empty")
    return text


def _operations(patterns: str) -> frozenset[str]:
    return frozenset().union(*(operations_like(one.strip()) for one in patterns.split(",")))


def _faults(text: str) -> Any:
    # Commands that look something up need nothing else of the models of scenarios.
    from mockserver.explore.fault_table import faults_of

    return faults_of(text)


def _stored(texts: Sequence[str]) -> dict[str, str]:
    """Values of stored objects by their paths. Raises ``ValueError``."""
    # Commands that look something up need nothing else of the models of scenarios.
    from mockserver.scenario.explain import stored_values

    given = dict[str, str]()
    for text in texts:
        path, is_given, value = text.partition("=")
        if not is_given:
            raise ValueError(
                f"got '{mask_start(text, 60)}', wanted a path and its value, such as "
                "charge.status=Authorised"
            )
        if path in given:
            raise ValueError(f"got '{mask_start(path, 60)}' twice, wanted it once")
        given[path] = value
    stored_values(given)
    return given


def _words(text: str) -> list[str]:
    """A command as its words. Raises ``ValueError``."""
    try:
        words = shlex.split(text)
    except ValueError as fault:
        raise ValueError(f"got '{text}': {fault}") from None
    if not words:
        raise ValueError("got an empty text, wanted a command")
    return words


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _exit_codes(text: str) -> list[int]:
    """Exit codes, parted by commas. Raises ``ValueError``."""
    codes = [word.strip() for word in text.split(",")]
    bad = next((word for word in codes if not word.isdecimal() or not 0 < int(word) < 256), None)
    if bad is not None:
        raise ValueError(f"got '{bad[:40]}', wanted exit codes from 1 to 255, parted by commas")
    return [int(word) for word in codes]


_READ: Mapping[str, Mapping[str, Any]] = {
    "text": {},
    "texts": {"multiple": True},
    "flag": {"is_flag": True},
    "whole number": {"type": int},
    "path": {"type": click.Path(path_type=Path)},
    "file": {"type": click.Path(exists=True, dir_okay=False, path_type=Path)},
    "folder": {"type": click.Path(file_okay=False, path_type=Path)},
    "folders": {"multiple": True, "type": click.Path(exists=True, file_okay=False, path_type=Path)},
    "address": {"callback": _by(read_address)},
    "header text": {"callback": _by(_header_text)},
    "duration": {"callback": _by(_duration)},
    "seconds": {"callback": _by(lambda text: _duration(text) / SECOND)},
    "operations": {"callback": _by(_operations)},
    "faults": {"callback": _by(_faults)},
    "words": {"callback": _by(_words)},
    "books": {"callback": _by(_books)},
    "exit codes": {"callback": _by(_exit_codes)},
    "invariants": {
        "multiple": True,
        "callback": _by(lambda texts: [Invariant(text) for text in texts]),
    },
    "stored values": {"multiple": True, "callback": _by(_stored)},
    "states": {"multiple": True, "callback": _by(mapping_of)},
    "finding": {"callback": _by(lambda name: kind_of(name).name)},
}
"""How options are read, by the words of the table."""

_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "": {"required": False},
    "required": {"required": True},
    "cores": {"default": _cores, "show_default": "cores"},
    "address of serve": {"default": Settings().address, "show_default": True},
    "seed of serve": {"default": Settings().seed, "show_default": True},
}
"""Defaults that are not their own text."""


@record
class _Row:
    """One option of a command; ``variable`` of the environment gives its value too."""

    command: str
    option: str
    reads: str
    default: str
    metavar: str
    variable: str
    help: str


@cache
def _rows() -> Mapping[str, Sequence[_Row]]:
    return read_grouped("options", _Row, Path(__file__).parent)


def options(command: str) -> Callable[[F], F]:
    """What gives a function the options of a command, in the order of the table."""

    def given(function: F) -> F:
        for row in reversed(_rows()[command]):
            said: dict[str, Any] = {
                "metavar": row.metavar or None,
                "envvar": row.variable or None,
                "help": row.help,
            }
            said |= {"shell_complete": offered} if row.reads in ("text", "texts") else {}
            said |= _DEFAULTS.get(row.default) or {"default": row.default, "show_default": True}
            function = click.option(*row.option.split(), **said, **_read(row.reads))(function)
        return function

    return given


def _read(reads: str) -> Mapping[str, Any]:
    if reads.startswith("one of "):
        return {"type": click.Choice(reads.split()[2:])}
    low, is_range, high = reads.partition(" to ")
    return {"type": click.IntRange(int(low), int(high))} if is_range else _READ[reads]
