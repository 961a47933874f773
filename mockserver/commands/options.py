"""Options of the commands: rows of ``options.csv``, as those of a server are of ``settings.csv``.

A row says in words how its option is read; ``_READ`` has what they mean to click. A reader is a
function of the text that gives the value, or raises ``ValueError`` with what is wrong: so each is
written, and tested, without click.

click gives a command the values alone. Some commands must also print themselves so that they can be
given again (``given_again``), and ``2m30s`` cannot be told from its number of microseconds. So the
callback of such an option notes the text too, in ``Context.meta``, which click has for what belongs
to one invocation (``_texts_of``).
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
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

if TYPE_CHECKING:
    from mockserver.explore.failures import Fault

F = TypeVar("F", bound=Callable[..., Any])


Callback: TypeAlias = Callable[[click.Context, click.Parameter, Any], Any]
"""What click calls with the text of an option, a tuple of texts of one that may be given more than
once, or None; it gives the value."""


def _read_by(read: Callable[[Any], object]) -> Callback:
    """A callback that reads the text of an option with ``read``, whose ``ValueError`` says what is
    wrong with it, and notes the text for ``given_again``."""

    def callback(ctx: click.Context, param: click.Parameter, text: Any) -> object:
        # None where the option was not given and has no default.
        _texts_of(ctx)[param.name or ""] = text
        if text is None:
            return None
        try:
            return read(text)
        except ValueError as fault:
            raise click.BadParameter(str(fault)) from None

    return callback


def _texts_of(ctx: click.Context) -> dict[str, Any]:
    """The texts of the options that were read by ``_read_by``, by name."""
    texts: dict[str, Any] = ctx.meta.setdefault("mockserver.texts", {})
    return texts


def given_again(ctx: click.Context, names: Collection[str]) -> Iterator[str]:
    """The words by which the user has given the options of these names, to give them again. What
    has its default, or comes from the environment, will come from there again."""
    for param in ctx.command.params:
        name = param.name or ""
        source = ctx.get_parameter_source(name)
        if name not in names or source is not click.core.ParameterSource.COMMANDLINE:
            continue
        # What was not read by ``_read_by`` is its own text.
        given = _texts_of(ctx).get(name, ctx.params[name])
        texts = given if param.multiple else [given]
        for text in texts:
            yield param.opts[0]
            yield str(text)


def _duration(text: str) -> Micros:
    """A duration in which something may happen, so not 0. Raises ``ValueError``."""
    length = parse_duration(text)
    if not length:
        raise ValueError("got 0, wanted a duration above 0")
    return length


def _books(text: str) -> list[str]:
    """What gives the shop's books: the words of a command, or an address alone. Raises
    ``ValueError``."""
    scheme, mark, _ = text.partition("://")
    # The words of a command may hold an address too: then more than a scheme stands before it.
    if not mark or not scheme.isalpha():
        return _words(text)
    if scheme.lower() not in ("http", "https") or not _names_a_host(text):
        raise ValueError(
            f"got '{mask_start(text, 200)}', wanted a command, or an http or https address"
        )
    return [text]


def _names_a_host(address: str) -> bool:
    """Whether an address can be called at all, so that a slip is refused now and not after the
    first run, as books that cannot be had."""
    if any(map(str.isspace, address)):
        return False
    try:
        parts = urlsplit(address)
        # Raises for a part of the name that is empty or too long.
        host = (parts.hostname or "").encode("idna")
        # Nothing listens at port 0. A port that is no number raises.
        return bool(host) and parts.port != 0
    except ValueError:
        return False


def _header_text(text: str) -> str:
    """A key or a token, which goes into a header of each call, so a text that one can hold. Raises
    ``ValueError``."""
    can_be_sent = text.isascii() and text.isprintable()
    if not text or not can_be_sent:
        raise ValueError("wanted a text of ASCII characters that is not empty")
    return text


def _operations(patterns: str) -> frozenset[str]:
    """The operations that globs name, parted by commas. Raises ``ValueError``."""
    named: set[str] = set()
    for glob in patterns.split(","):
        named |= operations_like(glob.strip())
    return frozenset(named)


def _faults(text: str) -> list[Fault]:
    """The faults of an exploration that a text names. Raises ``ValueError``."""
    # Commands that look something up need nothing else of the models of scenarios.
    from mockserver.explore.fault_table import faults_of

    return faults_of(text)


def _stored(texts: Sequence[str]) -> dict[str, str]:
    """Values of stored objects by their paths. Raises ``ValueError``."""
    # Commands that look something up need nothing else of the models of scenarios.
    from mockserver.scenario.explain import stored_values

    values: dict[str, str] = {}
    for text in texts:
        path, equals_sign, value = text.partition("=")
        if not equals_sign:
            raise ValueError(
                f"got '{mask_start(text, 60)}', wanted a path and its value, such as "
                "charge.status=Authorised"
            )
        if path in values:
            raise ValueError(f"got '{mask_start(path, 60)}' twice, wanted it once")
        values[path] = value
    # Raises for a path that there is not, which no rule would ever see.
    stored_values(values)
    return values


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
    """The processors that this process may use, where the system says so, else all: as many runs go
    on at once as can without waiting for each other."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _exit_codes(text: str) -> list[int]:
    """Exit codes, parted by commas. 0 is none of them: it says that the command has succeeded.
    Raises ``ValueError``."""
    codes = []
    for word in map(str.strip, text.split(",")):
        is_code = word.isdecimal() and 0 < int(word) < 256
        if not is_code:
            raise ValueError(
                f"got '{word[:40]}', wanted exit codes from 1 to 255, parted by commas"
            )
        codes.append(int(word))
    return codes


def _seconds(text: str) -> float:
    """A duration of real time, which Python counts in seconds."""
    return _duration(text) / SECOND


def _invariants(texts: Sequence[str]) -> list[Invariant]:
    return [Invariant(text) for text in texts]


def _finding(name: str) -> str:
    return kind_of(name).name


_READ: Mapping[str, Mapping[str, Any]] = {
    "text": {},
    "texts": {"multiple": True},
    "flag": {"is_flag": True},
    "whole number": {"type": int},
    "path": {"type": click.Path(path_type=Path)},
    "file": {"type": click.Path(exists=True, dir_okay=False, path_type=Path)},
    "folder": {"type": click.Path(file_okay=False, path_type=Path)},
    "folders": {"multiple": True, "type": click.Path(exists=True, file_okay=False, path_type=Path)},
    "address": {"callback": _read_by(read_address)},
    "header text": {"callback": _read_by(_header_text)},
    "duration": {"callback": _read_by(_duration)},
    "seconds": {"callback": _read_by(_seconds)},
    "operations": {"callback": _read_by(_operations)},
    "faults": {"callback": _read_by(_faults)},
    "words": {"callback": _read_by(_words)},
    "books": {"callback": _read_by(_books)},
    "exit codes": {"callback": _read_by(_exit_codes)},
    "invariants": {"multiple": True, "callback": _read_by(_invariants)},
    "stored values": {"multiple": True, "callback": _read_by(_stored)},
    "states": {"multiple": True, "callback": _read_by(mapping_of)},
    "finding": {"callback": _read_by(_finding)},
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
    """One option of a command; ``variable`` of the environment gives its value too. ``reads`` and
    ``default`` are words of ``_READ`` and ``_DEFAULTS``, or say themselves what they mean."""

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
    """A decorator that gives a function the options of a command, in the order of the table."""

    def with_options(function: F) -> F:
        # A decorator of click puts its option before those that are there.
        for row in reversed(_rows()[command]):
            function = click.option(*row.option.split(), **_attributes(row))(function)
        return function

    return with_options


def _attributes(row: _Row) -> dict[str, Any]:
    """What click must know of an option. A text may be completed, as its metavar may list words;
    what has another type is completed by click."""
    attributes: dict[str, Any] = {
        "metavar": row.metavar or None,
        "envvar": row.variable or None,
        "help": row.help,
    }
    if row.reads in ("text", "texts"):
        attributes["shell_complete"] = offered
    if row.default in _DEFAULTS:
        attributes |= _DEFAULTS[row.default]
    else:
        # Its own text.
        attributes |= {"default": row.default, "show_default": True}
    return {**attributes, **_reading(row.reads)}


def _reading(words: str) -> Mapping[str, Any]:
    """How click reads an option, by the words of the table: those of ``_READ``, ``one of text
    json``, or ``1 to 256``."""
    if words.startswith("one of "):
        return {"type": click.Choice(words.split()[2:])}
    low, between, high = words.partition(" to ")
    if between:
        return {"type": click.IntRange(int(low), int(high))}
    return _READ[words]
