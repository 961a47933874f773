"""How objects are listed: what a parameter and a sort may be, what those of a request ask for,
pages and bounds. The lists themselves are in ``searches``; what finds and orders the rows is
``indexed_table``.

A list is data: a ``Search`` names the table, the parameters and the fields to sort by. A parameter
is a function that adds to a ``Query`` what its value asks for, in one of two ways. Where an index
knows the value, the query names the index (``found_by``, ``in_state``): such rows are found at
once. Anything else is a test of each row (``saying``, ``amount_beyond``). Some parameters are the
one or the other, as an assumption says (``text_parameter``).

All faults of a request are told at once: a parameter that cannot be read adds its fault and the
next one is looked at. Which assumptions a list rests on is noted by the step, as they are asked.

What always holds: a value that no row can have finds no row, and is no fault, but for words of
which there are few (states, fields to sort by): a misspelt one is refused with the nearest.

Sources: docs/spec/published-facts.md, 3; assumptions ``paging.*``, ``sort``, ``search.*``.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import field
from decimal import Decimal
from enum import StrEnum
from operator import attrgetter, contains
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from mockserver.domain.clock import Micros
from mockserver.domain.errors import Faults, nearest
from mockserver.domain.record import record
from mockserver.domain.states import Presence
from mockserver.engine.indexed_table import Holds, Query, Table, TableRow
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import Step

R = TypeVar("R", bound=TableRow)

Sort: TypeAlias = Callable[[Any], Any] | None
"""What rows are sorted by; None leaves them in the order of their adding."""

Sorts: TypeAlias = Mapping[str, Sort | Mapping[str, Callable[[Any], Any]]]
"""What they may be sorted by, by the field; of the status of charges for each word that shows
authorised ones."""

Words: TypeAlias = Callable[[Any], Iterable[str | None]]
"""The texts of a row that a parameter looks at; None where the row lacks one."""


class Parameter(Protocol):
    """Adds to a query what a given value asks for, or a fault of it."""

    def __call__(self, step: Step, value: Any, query: Query[Any], faults: Faults, /) -> None: ...


@record
class Search(Generic[R]):
    """How one kind of object is listed. ``sorts`` are the fields that ``SortBy`` may name, in any
    letter case. With ``hides_removed`` those in use are found, all only with the parameter
    ``include_removed``."""

    table: Callable[[Sandbox], Table[R]]
    sorts: Sorts
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    hides_removed: bool = False


def found_by(**indexes: str) -> Mapping[str, Parameter]:
    """Rows that an index, given by the name of its parameter, finds by the value."""
    return {name: _by_index(index, in_capitals=False) for name, index in indexes.items()}


def found_by_capitals(**indexes: str) -> Mapping[str, Parameter]:
    """The same where the index has words in capital letters, such as currencies, and clients write
    them in any."""
    return {name: _by_index(index, in_capitals=True) for name, index in indexes.items()}


def _by_index(index: str, *, in_capitals: bool) -> Parameter:
    """A parameter whose rows an index finds by the value."""

    def add(step: Step, value: Any, query: Query[Any], faults: Faults) -> None:
        indexed: Hashable = value.upper() if in_capitals else value
        query.equal.append((index, (indexed,)))

    return add


# What is not there is sorted as if it were empty: None cannot be compared with texts or numbers.


def sorted_by_text(**paths: str) -> Mapping[str, Sort]:
    """Rows in the order of the texts at dotted paths, capital letters first."""

    def sort(path: str) -> Sort:
        text_at = attrgetter(path)

        def text(row: object) -> str:
            return text_at(row) or ""

        return text

    return {name: sort(path) for name, path in paths.items()}


def sorted_by_name(**paths: str) -> Mapping[str, Sort]:
    """The same for texts that people write: in any letter case."""

    def sort(path: str) -> Sort:
        text_at = attrgetter(path)

        def small_letters(row: object) -> str:
            text: str = text_at(row) or ""
            return text.lower()

        return small_letters

    return {name: sort(path) for name, path in paths.items()}


def sorted_by_number(**paths: str) -> Mapping[str, Sort]:
    """The same for amounts and instants."""

    def sort(path: str) -> Sort:
        number_at = attrgetter(path)

        def number(row: object) -> Decimal | int:
            return number_at(row) or 0

        return number

    return {name: sort(path) for name, path in paths.items()}


def saying(words: Words) -> Parameter:
    """Rows of whose words one has the value in it, in any letter case."""

    def read(row: Any) -> str:
        present = [word for word in words(row) if word]
        return _APART.join(present).lower()

    def add(step: Step, value: str, query: Query[Any], faults: Faults) -> None:
        query.where.append(Holds(read, contains, value.lower()))

    return add


_APART = "\udc00"
"""Half of a surrogate pair: no text that is taken has one, so that no value goes over it from one
word to the next."""


def words_of(*paths: str) -> Words:
    """What reads the texts of a row at dotted paths."""
    readers = [attrgetter(path) for path in paths]

    def words(row: object) -> tuple[str | None, ...]:
        return tuple(read(row) for read in readers)

    return words


def _in_small(words: Words) -> Callable[[Any], tuple[str, ...]]:
    """The same words in small letters."""

    def small_letters(row: object) -> tuple[str, ...]:
        return tuple(word.lower() for word in words(row) if word is not None)

    return small_letters


def _begins(words: tuple[str, ...], value: str) -> bool:
    return any(word.startswith(value) for word in words)


def _is_one_of(words: tuple[str | None, ...], value: str) -> bool:
    return value in words


def text_parameter(
    key: str,
    words: Words,
    *,
    exact: str | None = None,
    any_case: str | None = None,
) -> Parameter:
    """Rows of whose words one fits the value, in the way that an assumption says.

    ``exact``: it is the value; ``any_case``: it is, but for letter case; ``prefix``: it begins with
    the value; ``contains``: it has the value in it; the last two in any letter case. The parameters
    ``exact`` and ``any_case`` name the index that finds such rows at once, where there is one.
    """
    in_small, contained = _in_small(words), saying(words)

    def add(step: Step, value: str, query: Query[Any], faults: Faults) -> None:
        way = step.assume(key)
        if way == "contains":
            contained(step, value, query, faults)
        elif way == "prefix":
            query.where.append(Holds(in_small, _begins, value.lower()))
        elif way == "exact" and exact is not None:
            query.equal.append((exact, (value,)))
        elif way == "exact":
            query.where.append(Holds(words, _is_one_of, value))
        elif any_case is not None:
            query.equal.append((any_case, (value.lower(),)))
        else:
            query.where.append(Holds(in_small, _is_one_of, value.lower()))

    return add


amount_of = attrgetter("amount")
"""The amount of a charge or a subscription: lists are sorted and bounded by the same."""


def amount_beyond(
    exclusive: Callable[[Any, Any], bool], inclusive: Callable[[Any, Any], bool]
) -> Parameter:
    """Rows with an amount above or below the value (assumption ``search.bounds``)."""

    def add(step: Step, bound: Any, query: Query[Any], faults: Faults) -> None:
        takes_bound = step.assume("search.bounds") == "inclusive"
        is_beyond = inclusive if takes_bound else exclusive
        query.where.append(Holds(amount_of, is_beyond, bound))

    return add


def in_state(words: Mapping[str, StrEnum], allowed: str, index: str) -> Parameter:
    """Rows in the state that a word names, in any letter case. Adds a fault (90) for any other
    word."""
    by_fold = {word.lower(): state for word, state in words.items()}

    def add(step: Step, word: str, query: Query[Any], faults: Faults) -> None:
        state = by_fold.get(word.lower())
        query.equal.append((index, (state,)))
        if state is None:
            hint = nearest(word, words)
            faults.wrong("Status", f"got '{word[:40]}', wanted one of {allowed}{hint}")

    return add


def query_of(step: Step, wanted: Search[R], given: Mapping[str, Any]) -> Query[R]:
    """What the given parameters ask for. Raises ``Invalid`` (90) for a bad value, page or sort."""
    faults = Faults()
    query: Query[R] = Query(0)
    for name, add in wanted.parameters.items():
        value = given.get(name)
        if value is not None:
            add(step, value, query, faults)
    if wanted.hides_removed and not given.get("include_removed"):
        query.equal.append(("state", (Presence.ACTIVE,)))
    query.after, query.before = _window(step, given.get("added_after"), given.get("added_before"))
    query.limit, query.skip = _limit_and_skip(step, given, faults)
    query.descending = step.assume("paging.order") == "newest_first"
    sort_by, sort_order = given.get("sort_by"), given.get("sort_order")
    if sort_by or sort_order:
        ignores = step.assume("sort") == "ignore"
        if sort_order:
            query.descending = _is_descending(query, sort_order, faults, ignores=ignores)
        if sort_by:
            query.sort = _sort(step, sort_by, wanted.sorts, faults, ignores=ignores)
    faults.refuse()
    return query


def _is_descending(query: Query[Any], sort_order: str, faults: Faults, *, ignores: bool) -> bool:
    """Whether the highest come first; with ``ignores`` a word that is not known changes nothing."""
    word = sort_order.lower()
    if word not in _ORDERS and not ignores:
        faults.wrong("SortOrder", f"got '{sort_order[:20]}', wanted asc or desc")
    return _ORDERS.get(word, query.descending)


def _window(
    step: Step, after: Micros | None, before: Micros | None
) -> tuple[Micros | None, Micros | None]:
    """Bounds of the time of adding as ``Query`` takes them, exclusive: inclusive ones (assumption
    ``search.bounds``) are a microsecond wider."""
    if after is None and before is None:
        return None, None
    if step.assume("search.bounds") == "inclusive":
        if after is not None:
            after -= 1
        if before is not None:
            before += 1
    return after, before


def _limit_and_skip(step: Step, given: Mapping[str, Any], faults: Faults) -> tuple[int, int]:
    """How many rows the page has, and how many it leaves out before them."""
    most = step.assume("paging.maximum")
    limit = given.get("limit")
    if limit is None:
        limit = min(step.assume("paging.default"), most)
    skip = given.get("skip") or 0
    if not 1 <= limit <= most:
        faults.wrong("Limit", f"got {limit}, wanted 1 to {most}")
    if skip < 0:
        faults.wrong("Skip", f"got {skip}, wanted 0 or more")
    return limit, skip


_ORDERS: Mapping[str, bool] = {"desc": True, "descending": True, "asc": False, "ascending": False}


def _sort(step: Step, sort_by: str, known: Sorts, faults: Faults, *, ignores: bool) -> Sort:
    """What rows are sorted by; with ``ignores`` a field that is not known is none."""
    name = sort_by.lower()
    if name == "none":
        return None
    if name not in known and not ignores:
        allowed = f"{', '.join(known)}{nearest(sort_by, known)}"
        faults.wrong("SortBy", f"got '{sort_by[:40]}', wanted one of {allowed}")
    sort = known.get(name)
    if isinstance(sort, Mapping):
        # The status of charges: its order follows from the word that authorised ones show.
        return sort[step.assume("charge.status.authorised")]
    return sort
