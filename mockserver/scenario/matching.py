"""The tests of ``when``: each is compiled once, and then says of an attempt what it has instead of
what the rule wants, or nothing.

A test is of one field. Its operators (``{gt: 5, lt: 10}``; a plain value means ``eq``) must all
hold. Each row of ``OPERATORS`` says how its operand is read and when a value passes; the values are
read from the attempt by the reader that ``paths`` has for the field, and compared as ``values``
says. A test that fails gives the ``Difference``, with the value as it came: most are never read, so
words are made of it when somebody asks.
"""

import operator
from collections.abc import Callable, Mapping
from dataclasses import field
from decimal import Decimal
from typing import Any, Generic, NamedTuple, TypeVar

from mockserver.domain.record import record
from mockserver.scenario.attempt import Attempt, Reader
from mockserver.scenario.operations import meaning_of
from mockserver.scenario.patterns import Pattern, Patterns, compile_pattern
from mockserver.scenario.values import Value, as_text, canonical, excerpt, text_operand

T = TypeVar("T")
"""What is made of the operand of an operator, so that nothing is read twice."""

_LONGEST_SEARCHED = 1_000
"""Characters of a text, and items of a list, that are searched: a client may send megabytes, which
every rule of a thousand would go through."""


def _number(value: object) -> Decimal | None:
    """The number that a value says, be it written as a text; None where it says none."""
    plain = canonical(value)
    if isinstance(plain, Decimal) and plain.is_finite():
        return plain
    return None


def _is_equal(got: object, wanted: Value) -> bool:
    return canonical(got) == wanted


def _differs(got: object, wanted: Value) -> bool:
    return canonical(got) != wanted


def _values(wanted: object) -> frozenset[Value]:
    """The operand of ``in``; no value would ever pass an empty list."""
    if not isinstance(wanted, list) or not wanted:
        raise ValueError(f"got {excerpt(wanted)}, wanted a list of values")
    return frozenset(map(canonical, wanted))


def _is_one_of(got: object, wanted: frozenset[Value]) -> bool:
    return canonical(got) in wanted


def _bound(wanted: object) -> Decimal:
    """The operand of a comparison."""
    limit = _number(wanted)
    if limit is None:
        raise ValueError(f"got {excerpt(wanted)}, wanted a number")
    return limit


class Range(NamedTuple):
    """The operand of ``between``: both numbers pass."""

    low: Decimal
    high: Decimal


def _bounds(wanted: object) -> Range:
    """The operand of ``between``, as a file writes it: a list of two numbers."""
    if not isinstance(wanted, list) or len(wanted) != 2:
        raise ValueError(
            f"got {excerpt(wanted)}, wanted a list of the lowest and the highest number, both "
            "included"
        )
    low, high = _bound(wanted[0]), _bound(wanted[1])
    if high < low:
        raise ValueError(
            f"got [{excerpt(wanted[0])}, {excerpt(wanted[1])}], wanted the lower one first"
        )
    return Range(low, high)


def _is_between(got: Decimal, wanted: Range) -> bool:
    return wanted.low <= got <= wanted.high


def _step(wanted: object) -> Decimal:
    """The operand of ``every``, by which numbers are divided: not 0."""
    step = _bound(wanted)
    if step < 1 or step % 1:
        raise ValueError(f"got {excerpt(wanted)}, wanted a whole number from 1 on")
    return step


def _is_multiple(got: Decimal, step: Decimal) -> bool:
    return got % step == 0


def _counts(holds: Callable[[Decimal, T], bool]) -> Callable[[object, T], bool]:
    """A comparison that only numbers can pass."""

    def holds_of_number(got: object, wanted: T) -> bool:
        number = _number(got)
        return number is not None and holds(number, wanted)

    return holds_of_number


def _begins_with(got: object, wanted: str) -> bool:
    return as_text(got).startswith(wanted)


def _ends_with(got: object, wanted: str) -> bool:
    return as_text(got).endswith(wanted)


class _Sought(NamedTuple):
    """The operand of ``contains``: as a part of a text, and as an item of a list, which may be
    written as another type."""

    part: str
    item: Value


def _sought(wanted: object) -> _Sought:
    """The operand of ``contains``, read once for both."""
    return _Sought(text_operand(wanted), canonical(wanted))


def _contains(got: object, wanted: _Sought) -> bool:
    """In a list an item that is equal, in a text a part of it."""
    if isinstance(got, (list, tuple)):
        return any(canonical(item) == wanted.item for item in got[:_LONGEST_SEARCHED])
    return wanted.part in as_text(got)[:_LONGEST_SEARCHED]


def _matches(got: object, wanted: Pattern) -> bool:
    """A field that is absent matches nothing, not even a pattern of any text."""
    if got is None:
        return False
    return wanted.fullmatch(as_text(got)[:_LONGEST_SEARCHED]) is not None


def _presence(wanted: object) -> bool:
    """The operand of ``exists``."""
    if not isinstance(wanted, bool):
        raise ValueError(f"got {excerpt(wanted)}, wanted true or false")
    return wanted


def _is_there(got: object, wanted: bool) -> bool:
    """Null is an absent field: clients of the service write either."""
    return (got is not None) is wanted


@record
class Operator(Generic[T]):
    """One word of a test: how an explanation puts it, what is made of its operand (``ValueError``
    for a senseless one), and when a value passes; ``sign`` is a shorter way to put it, ``searches``
    says that it goes through a text or a list."""

    words: str
    operand: Callable[[object], T]
    holds: Callable[[object, T], bool]
    sign: str = ""
    searches: bool = False

    def check(self, operand: T) -> Callable[[object], bool]:
        """Whether a value passes, by an operand as ``operand`` makes it."""
        holds = self.holds

        def passes(got: object) -> bool:
            return holds(got, operand)

        return passes


OPERATORS: Mapping[str, Operator[Any]] = {
    "eq": Operator("", canonical, _is_equal, "= "),
    "ne": Operator("anything but ", canonical, _differs),
    "in": Operator("one of ", _values, _is_one_of),
    "gt": Operator("more than ", _bound, _counts(operator.gt), "> "),
    "above": Operator("more than ", _bound, _counts(operator.gt), "> "),
    "gte": Operator("at least ", _bound, _counts(operator.ge), ">= "),
    "below": Operator("less than ", _bound, _counts(operator.lt), "< "),
    "lt": Operator("less than ", _bound, _counts(operator.lt), "< "),
    "lte": Operator("at most ", _bound, _counts(operator.le), "<= "),
    "every": Operator("a multiple of ", _step, _counts(_is_multiple)),
    "between": Operator("between ", _bounds, _counts(_is_between)),
    "starts_with": Operator("a text beginning with ", text_operand, _begins_with),
    "ends_with": Operator("a text ending with ", text_operand, _ends_with),
    "contains": Operator("something containing ", _sought, _contains, searches=True),
    "matches": Operator("a text wholly matching ", compile_pattern, _matches, searches=True),
    "exists": Operator("existing: ", _presence, _is_there),
}


class Words(str):
    """What a rule got, where that is no value of a field: it stands in an explanation as it is."""

    __slots__ = ()


@record
class Difference:
    """The first test that an attempt failed: which field, what the rule wanted, what it got, as it
    came. Few are ever read, so words are made when one is."""

    field: str
    wanted: str
    got: object

    def __str__(self) -> str:
        got = self.got if isinstance(self.got, Words) else excerpt(self.got)
        return f"{self.field}: wanted {self.wanted}, got {got}"


@record
class FieldTest:
    """All that a rule wants of one field: operators, each with its operand as explanations show it.
    ``equals`` are the canonical values when it wants plain equality, else None; ``operands`` are
    those of the operators, as compared."""

    path: str
    read: Reader = field(compare=False)
    operators: tuple[tuple[str, str], ...]
    checks: tuple[Callable[[object], bool], ...] = field(compare=False)
    equals: frozenset[Value] | None = None
    operands: Mapping[str, object] = field(default_factory=dict, hash=False)

    @property
    def wants_presence(self) -> bool:
        """Whether it wants the field to be there and nothing else."""
        return self.operators == (("exists", "true"),)

    @property
    def searches(self) -> int:
        """How many of its checks search: a sandbox takes only so many of them."""
        return sum(OPERATORS[word].searches for word, _ in self.operators)

    def difference(self, attempt: Attempt) -> Difference | None:
        """What the attempt has instead; None when it has what is wanted."""
        return self.difference_of(self.read(attempt))

    def difference_of(self, got: object) -> Difference | None:
        """What a value that was read has instead of what is wanted; None when it has that. The
        first check that fails says it."""
        for check, (word, operand) in zip(self.checks, self.operators, strict=True):
            if not check(got):
                return Difference(self.path, OPERATORS[word].words + operand, got)
        return None

    def __str__(self) -> str:
        name = self.path.removeprefix("request.")
        clauses = []
        for word, operand in self.operators:
            row = OPERATORS[word]
            clauses.append(f"{name} {row.sign or row.words}{operand}")
        return " and ".join(clauses)

    def holds(self, got: object) -> bool:
        """Whether a value already read is what is wanted."""
        return all(check(got) for check in self.checks)


def _read_nothing(attempt: Attempt) -> None:
    """Of a test that is asked about values which somebody else has read: a row of a batch, a member
    of an answer, how often a key was seen."""


def compile_test(
    name: str, wanted: object, read: Reader = _read_nothing, patterns: Patterns | None = None
) -> FieldTest:
    """A test from the file: a plain value, or a map of operators; ``read`` is of those that are
    asked about attempts, ``patterns`` compiles those of all tests of the file or call. Raises
    ``ValueError`` when it makes no sense."""
    operators = wanted if isinstance(wanted, dict) else {"eq": wanted}
    if not operators:
        raise ValueError(f"wanted a value or at least one of {', '.join(OPERATORS)}")
    if patterns is None:
        patterns = Patterns()
    operands: dict[str, Any] = {}
    for word, operand in operators.items():
        if word == "matches":
            # Patterns of one file share an allowance of work.
            operands[word] = patterns.compile(operand)
        else:
            operands[word] = OPERATORS[word].operand(operand)
    checks = tuple(OPERATORS[word].check(operand) for word, operand in operands.items())
    in_words = tuple((word, _operand_words(operand)) for word, operand in operators.items())
    # A plain equality can be looked up: an index finds the rules that have one.
    equals = None
    if operators.keys() == {"eq"}:
        equals = frozenset((operands["eq"],))
    elif operators.keys() == {"in"}:
        equals = operands["in"]
    return FieldTest(name, read, in_words, checks, equals, operands)


_MOST_LISTED = 10


def _operand_words(operand: object) -> str:
    """An operand as explanations show it: of a long list the beginning."""
    if not isinstance(operand, list):
        return excerpt(operand)
    items = [excerpt(item) for item in operand[:_MOST_LISTED]]
    if len(operand) > _MOST_LISTED:
        items.append("...")
    return f"[{', '.join(items)}]"


EQUALITY = ("eq", "ne", "in")
"""Operators whose operands are values of the field, of any kind."""

ORDER = ("above", "gt", "gte", "below", "lt", "lte", "between")
"""Operators whose operands are bounds of a number or a length of time."""


def check_operators(wanted: object) -> None:
    """Raise ``ValueError`` for an operator that does not exist, or an operand that no test can
    have. Done before operands are read as values of the field, whose refusals say less."""
    if isinstance(wanted, list):
        raise ValueError("got a list, wanted a value or a map such as {in: [...]}")
    if not isinstance(wanted, dict):
        return
    for word, operand in wanted.items():
        if word not in OPERATORS:
            hint = f"{meaning_of(word, OPERATORS)}, allowed: {', '.join(OPERATORS)}"
            if word[:1].isdigit():
                # YAML reads {gt: 1,000} as {gt: 1, "000": null}.
                hint = " - a comma ends the number before it: write it without"
            raise ValueError(f"unknown test '{word[:60]}'{hint}")
        if word not in EQUALITY:
            continue
        values, wanted_here = [operand], "a plain value"
        if word == "in":
            wanted_here = "plain values"
            if isinstance(operand, list):
                # What is no list is refused when the operand is read.
                values = operand
        if any(isinstance(value, (list, dict)) for value in values):
            raise ValueError(f"{word}: got {excerpt(operand)}, wanted {wanted_here}")
