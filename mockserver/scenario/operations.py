"""Every operation that a rule can name, in one table, ``operations.csv``; the routes and the engine
use the same names.

``asks_provider`` says whether a provider is asked to act in it, and so whether provider-level
outcomes (approve, decline, latency ...) can strike there. ``foreign_words.csv`` has words that
people bring along from other tools and services, and what they are called here. Source:
docs/spec/service.md, Endpoints; docs/spec/published-facts.md, 1.1.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from mockserver.domain.errors import nearest, nearest_of
from mockserver.domain.record import read_table, record
from mockserver.domain.sources import SOURCE_WORDS


class _ForeignWord(NamedTuple):
    """A word of another tool, among words of what it is used, and its name ``here``."""

    among: str
    word: str
    here: str


_FOREIGN = read_table("foreign_words", _ForeignWord, Path(__file__).parent)


def _words(among: str) -> Mapping[str, str]:
    """The foreign words among some words of a scenario, each with its name here."""
    return {row.word: row.here for row in _FOREIGN if row.among == among}


FOREIGN_DECLINES = _words("decline")
FOREIGN_OPERATIONS = _words("operation")
VERBS = _words("verb")
"""Reasons of declines, operations and their verbs, as other services name them."""

_OWN_WORDS = ("sequence", "transport", "before_answer", "emit", "gt", "answer")
_FOREIGN_WORDS: Mapping[str, Mapping[str, str]] = {own: _words(own) for own in _OWN_WORDS}
"""Keys of a rule, an outcome, a webhook and a later step, operators of a test and places of a
transport fault, as other tools and people name them; by a word that only these have."""

_NAME = re.compile(r"'?(\w+)(?:: \w+)?'?")
"""What a foreign word is called here, where that is a name (with a value, as in ``exists: false``)
and not an explanation."""


def unknown_key(key: str, known: Sequence[str]) -> str:
    """What is said of a key that no part has: a slip of YAML, a word of another tool, the nearest
    key, or else all keys."""
    words = unspaced(key, known) or meaning_of(key, known)
    if not words:
        words = "; there is nothing more to say here: write {}"
        if known:
            words = f", allowed: {', '.join(known)}"
    return f"unknown key '{key[:60]}'{words}"


def meaning_of(word: str, known: Collection[str]) -> str:
    """What a word may mean that is not one of some known ones, as the end of a message. Which table
    of foreign words helps is told by what is known: each is under a word that only its part has."""
    foreign: Mapping[str, str] = {}
    for own_word, words in _FOREIGN_WORDS.items():
        if own_word in known:
            foreign = words
            break
    name = _NAME.fullmatch(foreign.get(word, ""))
    if name is not None and name[1] not in known:
        # Advice that would be refused next: no time that has passed is tested with ``eq``.
        foreign = {}
    return hint(word, foreign, known)


def unspaced(key: str, known: Sequence[str]) -> str:
    """The end of a message about a key that has its value in it, as YAML reads ``{op:charge.get}``;
    else empty."""
    if ":" not in key:
        return ""
    name = key.partition(":")[0]
    if name not in known:
        return ""
    return f" - a space is missing after '{name}:'"


def hint(word: str, foreign: Mapping[str, str], known: Collection[str]) -> str:
    """What a word that is not known may mean, as the end of a message: its name here, else the
    nearest known one."""
    ours = foreign.get(word)
    if ours is None:
        return nearest(word, known)
    # More than a word is an explanation, which has its own quotes.
    name = ours if " " in ours else f"'{ours}'"
    return f" - here it is {name}"


_LONGEST_GLOB = 60
_LONGEST_CALL = 200


@record
class Operation:
    """One operation: its name, a description, and its properties: each ``yes``, or empty.

    One that only ``reads`` changes nothing; a page has no members; what is not requested has no
    headers and no answer. One ``about_one`` object, which a path names or a webhook reports, is
    counted by it. One that ``takes_money`` makes a charge; a client asks for one that
    ``moves_money``, or promises to. One that ``notifies`` causes webhooks. ``deletable`` and
    ``expirable`` are the kind of object that can be removed, or ended, after it. ``state`` are the
    kinds of stored objects that it is about, that its request names, or that it makes: no other is
    there for a rule, or for an expectation of it.
    """

    name: str
    meaning: str
    asks_provider: str
    reads: str
    has_body: str
    is_page: str
    is_unrequested: str
    about_one: str
    takes_money: str
    moves_money: str
    notifies: str
    about_charge: str
    about_method: str
    deletable: str
    expirable: str
    state: str


_ROWS = read_table("operations", Operation, Path(__file__).parent)
OPERATIONS: Mapping[str, Operation] = {row.name: row for row in _ROWS}

SOURCES = (*SOURCE_WORDS, "payment_link", "batch", "subscription")
"""Where the money of a charge can come from (service document, What the service does, 3; scenario
key ``source``)."""

CONNECTION = "connection"
"""What rules for ``at: connect`` are asked about: a connection, which is not an operation."""

ALL_OPERATIONS = frozenset(OPERATIONS)
PROVIDER_OPERATIONS = frozenset(row.name for row in _ROWS if row.asks_provider)
READS = frozenset(row.name for row in _ROWS if row.reads)
BODIES = frozenset(row.name for row in _ROWS if row.has_body)
PAGES = frozenset(row.name for row in _ROWS if row.is_page)
UNREQUESTED = frozenset(row.name for row in _ROWS if row.is_unrequested)
ABOUT_ONE = frozenset(row.name for row in _ROWS if row.about_one)
TAKING = frozenset(row.name for row in _ROWS if row.takes_money)
MONEY = frozenset(row.name for row in _ROWS if row.moves_money)
NOTIFYING = frozenset(row.name for row in _ROWS if row.notifies)
ABOUT_A_CHARGE = frozenset(row.name for row in _ROWS if row.about_charge)
ABOUT_A_METHOD = frozenset(row.name for row in _ROWS if row.about_method)
DELETABLE = {row.name: row.deletable for row in _ROWS if row.deletable}
STATE: Mapping[str, frozenset[str]] = {row.name: frozenset(row.state.split()) for row in _ROWS}
EXPIRABLE = {row.name: row.expirable for row in _ROWS if row.expirable}


def operations_like(pattern: str, known: Collection[str] = ALL_OPERATIONS) -> frozenset[str]:
    """The operations, of some that are known, that a name or a glob (``charge.*``) means. Raises
    ``ValueError`` when it means none."""
    if pattern in known:
        return frozenset((pattern,))
    # A long pattern of many stars would keep the server busy, and no name is so long.
    if len(pattern) <= _LONGEST_GLOB:
        matching = frozenset(name for name in known if fnmatchcase(name, pattern))
        if matching:
            return matching
    pattern_start = pattern[:_LONGEST_GLOB]
    if "/" in pattern:
        # Other tools match requests by their path, and so do people who come from them.
        called = _operations_called(pattern[:_LONGEST_CALL])
        meant = "; `mockserver routes` prints that of each path"
        if called:
            meant = f" - here it is {called}"
        raise ValueError(f"got '{pattern_start}', and rules name operations, not paths{meant}")
    raise ValueError(
        f"got '{pattern_start}', wanted the name of an operation or a glob"
        f"{_operation_meant(pattern_start, known)}"
    )


def _operation_meant(pattern: str, known: Collection[str]) -> str:
    """Which operation is meant by a name that none has, as the end of a message: the same object
    with another verb, those of the object, or the nearest name."""
    subject, _, verb = pattern.partition(".")
    translated = f"{subject}.{VERBS.get(verb, '')}"
    if translated in known:
        return f" - here it is '{translated}'"
    verbs = sorted(name.partition(".")[2] for name in known if name.startswith(f"{subject}."))
    is_slip = nearest_of(verb, verbs) is not None
    if verbs and not is_slip and pattern not in FOREIGN_OPERATIONS:
        return f"; those of {subject} are {', '.join(verbs)}"
    names = sorted(known)
    if verb == "*":
        # A misspelt object of a glob is near to no name of an operation.
        names = sorted({f"{name.partition('.')[0]}.*" for name in known})
    return hint(pattern, FOREIGN_OPERATIONS, names) or "; `mockserver operations` prints all"


def _operations_called(call: str) -> str:
    """The operations that a call such as ``POST /charge/card`` asks for, of a path alone those of
    all its methods; empty where there is none. ``calls.txt`` has them, as the routes do."""
    method, _, path = call.strip().rpartition(" ")
    parts = path.partition("?")[0].strip("/").split("/")
    path_by_operation: dict[str, str] = {}
    for line in (Path(__file__).parent / "calls.txt").read_text("utf-8").splitlines():
        known_method, known_path, operation = line.split()
        if method and method.upper() != known_method:
            continue
        if _leads_along(parts, known_path.strip("/").split("/")):
            path_by_operation.setdefault(f"'{operation}'", known_path)
    # A path without ids means what it says: /charge/search is no charge of that id.
    exact = [name for name, known_path in path_by_operation.items() if "{" not in known_path]
    return " or ".join(exact or path_by_operation)


def _leads_along(parts: Sequence[str], known: Sequence[str]) -> bool:
    """Whether a path is one with such segments; any stands for one in braces."""
    if len(parts) != len(known):
        return False
    for part, known_part in zip(parts, known, strict=True):
        is_placeholder = known_part.startswith("{")
        if not is_placeholder and part.lower() != known_part.lower():
            return False
    return True
