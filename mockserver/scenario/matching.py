"""What a rule may test, and the tests of ``when``: each is compiled once and then says why an
attempt differs from what it wants, or nothing.

Equality is that of canonical values: amounts as exact decimals, numeric text included (``"1.50"``
is 1.5, ``"015"`` is a text); ``true`` and ``false`` equal the words; an absent field and null are
the same. Everything else is compared as text, exactly; a word that is spelt in several ways is
itself in each of them. A ``Kind`` says how the values of a field are read, and what a test may want
of them.
"""

import json
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from decimal import Decimal
from enum import Enum, StrEnum
from typing import Any, TypeAlias

from mockserver.domain.cards import CardNumber
from mockserver.domain.clock import Micros, duration_text, parse_duration
from mockserver.domain.errors import nearest
from mockserver.domain.masking import LONGEST_CARD_TEXT, mask_start
from mockserver.domain.reading import SpelledWord, choice_of, flag_of, number_of
from mockserver.domain.record import mutable, record
from mockserver.scenario.operations import meaning_of

Stage = StrEnum("Stage", "CONNECT UPLOAD ARRIVAL PROVIDER")
"""When a rule is asked: as a connection is made, as the body of a request is sent, as the request
has arrived, as a provider is asked to act."""


UnderWay: TypeAlias = tuple[str, Callable[[str], object]]
"""Another call of the sandbox: its operation, and what resolves its paths of stored values."""


@mutable
class Attempt:
    """The facts that ``when`` and ``key`` may name.

    ``op`` is the operation; ``also`` a second name of the same step (a batch row is a
    ``charge.create`` and a ``batch.row``). ``request`` has camelCase keys and exact decimals;
    ``headers`` lower-case names. ``state`` resolves a dotted path such as ``charge.status`` to a
    stored value, or None. ``subject`` is the default counting key: the card, method or object in
    question; ``row`` the number of a batch's row, from 1; ``bank_account`` the account number that
    is finally charged, whatever the source; ``call`` the number of the request among those of its
    operation in the sandbox, from 1, None where no request came in; ``connection`` the one on which
    it came; ``under_way`` gives the other calls that are not answered yet.
    """

    op: str
    now: Micros
    also: str | None = None
    source: str | None = None
    provider: str | None = None
    attempt: int = 1
    card: CardNumber | None = None
    request: Mapping[str, object] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    state: Callable[[str], object] = lambda path: None
    subject: str | None = None
    row: int | None = None
    bank_account: str | None = None
    call: int | None = None
    connection: str | None = None
    under_way: Callable[[], Iterable[UnderWay]] = tuple


Value: TypeAlias = Decimal | str | None
Reader: TypeAlias = Callable[[Attempt], object]

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,30})(?:\.[0-9]{1,30})?")
_BEGINS_NUMBER = frozenset("-0123456789")
_LONGEST_EXCERPT = 80
_LONGEST_SEARCHED = 1_000
"""Characters of a text, and items of a list, that are searched."""

_LONGEST_PATTERN = 200
MOST_OF_PATTERNS = 500_000
"""Instructions of RE2 to which the patterns of one file or call may compile: a second's work.
``\\p{L}`` takes 500."""

_MOST_OF_PATTERN = 1 << 20
"""Bytes that one may take: some 60,000 instructions."""

_OF_REFUSED = MOST_OF_PATTERNS // 10
"""Instructions that count for a pattern that is refused: it may have been nearly as much work."""

_BEYOND = (
    " of RE2 (no look-around, back-references, atomic groups, or repetition of more than 1000)"
)


def canonical(value: object) -> Value:
    """The form in which values are compared and indexed."""
    match value:
        case str():
            if isinstance(value, SpelledWord):
                return value.plain
            # Most texts are words, which need no closer look.
            if value[:1] not in _BEGINS_NUMBER:
                return value
            return Decimal(value) if _NUMBER.fullmatch(value) else value
        case None | Decimal():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return Decimal(value)
        case _:
            return str(value)


def json_text(value: object) -> str:
    """The JSON text of plain data; decimals keep their digits."""
    match value:
        case Decimal():
            return format(value, "f")
        case Mapping():
            return (
                "{"
                + ",".join(f"{json.dumps(str(key))}:{json_text(one)}" for key, one in value.items())
                + "}"
            )
        case list() | tuple():
            return "[" + ",".join(json_text(one) for one in value) + "]"
        case _:
            return json.dumps(value)


def excerpt(value: object) -> str:
    """A value for an explanation: short, and with anything that looks like a card number masked."""
    if value is None:
        return "nothing"
    text = text_excerpt(plain_text(value))
    return f"'{text}'" if isinstance(value, str) else text


def plain_text(value: object) -> str:
    """The whole text of a value that is there, as it came."""
    is_json = isinstance(value, Mapping | list | tuple | Decimal | bool)
    return json_text(value) if is_json else str(value)


def text_excerpt(text: str) -> str:
    """The beginning of a text as an explanation shows it, masked."""
    masked = mask_start(text, _LONGEST_EXCERPT + 1)
    is_short = len(masked) <= _LONGEST_EXCERPT
    return masked if is_short else masked[: _LONGEST_EXCERPT - 3] + "..."


LONGEST_LOOKED_AT = _LONGEST_EXCERPT + 1 + LONGEST_CARD_TEXT
"""Characters of a text that decide what ``text_excerpt`` shows of it."""


def _number(value: object) -> Decimal | None:
    plain = canonical(value)
    return plain if isinstance(plain, Decimal) and plain.is_finite() else None


def _values(wanted: object) -> frozenset[Value]:
    if not isinstance(wanted, list) or not wanted:
        raise ValueError(f"got {excerpt(wanted)}, wanted a list of values")
    return frozenset(map(canonical, wanted))


def _bound(wanted: object) -> Decimal:
    limit = _number(wanted)
    if limit is None:
        raise ValueError(f"got {excerpt(wanted)}, wanted a number")
    return limit


def _bounds(wanted: object) -> tuple[Decimal, Decimal]:
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
    return low, high


def _step(wanted: object) -> Decimal:
    step = _bound(wanted)
    if step < 1 or step % 1:
        raise ValueError(f"got {excerpt(wanted)}, wanted a whole number from 1 on")
    return step


def _counts(holds: Callable[[Decimal, Any], bool]) -> Callable[[object, Any], bool]:
    """A comparison that only numbers can pass."""
    return lambda got, wanted: (number := _number(got)) is not None and holds(number, wanted)


def _text(wanted: object) -> str:
    if isinstance(wanted, bool) or not isinstance(wanted, (str, int, Decimal)) or wanted == "":
        raise ValueError(f"got {excerpt(wanted)}, wanted a text")
    return as_text(wanted)


def as_text(got: object) -> str:
    """A value as tests of texts see it; decimals keep their digits."""
    if got is None:
        return ""
    return json_text(got) if isinstance(got, bool | Decimal) else str(got)


def _contains(got: object, wanted: tuple[str, Value]) -> bool:
    text, same = wanted
    if isinstance(got, (list, tuple)):
        return any(canonical(one) == same for one in got[:_LONGEST_SEARCHED])
    return text in as_text(got)[:_LONGEST_SEARCHED]


@mutable
class Patterns:
    """Compiles the patterns of one file or call, as many as may be: others wait meanwhile. ``size``
    counts their instructions."""

    size: int = 0

    def compile(self, wanted: object) -> Any:
        """What matches a pattern. Raises ``ValueError``."""
        if self.size >= MOST_OF_PATTERNS:
            raise ValueError(
                "the patterns before this one are as large as all together may be "
                f"({MOST_OF_PATTERNS:,} instructions "
                "of RE2): write fewer classes such as \\p{L} and fewer repetitions such as {1,200}"
            )
        self.size += _OF_REFUSED
        made = _pattern(wanted)
        self.size += made.programsize - _OF_REFUSED
        return made


def _pattern(wanted: object) -> Any:
    text = _text(wanted)
    if len(text) > _LONGEST_PATTERN:
        raise ValueError(
            f"got a pattern of {len(text)} characters, at most {_LONGEST_PATTERN} are allowed"
        )
    # No pattern keeps RE2 busy: its time is in proportion to the text.
    import re2

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _MOST_OF_PATTERN
    try:
        return re2.compile(text, options)
    except re2.error as problem:
        why = problem.args[0].decode(errors="replace")
        if "too large" in why:
            raise ValueError(
                f"got {excerpt(text)}, which is too large a regular expression: repeat less in it"
            ) from None
        raise ValueError(
            f"got {excerpt(text)}, which is not a regular expression{_BEYOND}: {why}"
        ) from None


def _presence(wanted: object) -> bool:
    if not isinstance(wanted, bool):
        raise ValueError(f"got {excerpt(wanted)}, wanted true or false")
    return wanted


@record
class Operator:
    """One word of a test: how an explanation puts it, what is made of its operand (``ValueError``
    for a senseless one), and when a value passes; ``sign`` is a shorter way to put it, ``searches``
    says that it goes through a text or a list."""

    words: str
    operand: Callable[[object], Any]
    holds: Callable[[object, Any], bool]
    sign: str = ""
    searches: bool = False

    def check(self, operand: Any) -> Callable[[object], bool]:
        """Whether a value passes, by an operand as ``operand`` makes it."""
        return lambda got: self.holds(got, operand)


OPERATORS: Mapping[str, Operator] = {
    "eq": Operator("", canonical, lambda got, wanted: canonical(got) == wanted, "= "),
    "ne": Operator("anything but ", canonical, lambda got, wanted: canonical(got) != wanted),
    "in": Operator("one of ", _values, lambda got, wanted: canonical(got) in wanted),
    "gt": Operator("more than ", _bound, _counts(operator.gt), "> "),
    "above": Operator("more than ", _bound, _counts(operator.gt), "> "),
    "gte": Operator("at least ", _bound, _counts(operator.ge), ">= "),
    "below": Operator("less than ", _bound, _counts(operator.lt), "< "),
    "lt": Operator("less than ", _bound, _counts(operator.lt), "< "),
    "lte": Operator("at most ", _bound, _counts(operator.le), "<= "),
    "every": Operator("a multiple of ", _step, _counts(lambda got, wanted: got % wanted == 0)),
    "between": Operator(
        "between ", _bounds, _counts(lambda got, wanted: wanted[0] <= got <= wanted[1])
    ),
    "starts_with": Operator(
        "a text beginning with ", _text, lambda got, wanted: as_text(got).startswith(wanted)
    ),
    "ends_with": Operator(
        "a text ending with ", _text, lambda got, wanted: as_text(got).endswith(wanted)
    ),
    "contains": Operator(
        "something containing ",
        lambda wanted: (_text(wanted), canonical(wanted)),
        _contains,
        searches=True,
    ),
    "matches": Operator(
        "a text wholly matching ",
        _pattern,
        lambda got, wanted: (
            got is not None and wanted.fullmatch(as_text(got)[:_LONGEST_SEARCHED]) is not None
        ),
        searches=True,
    ),
    "exists": Operator("existing: ", _presence, lambda got, wanted: (got is not None) is wanted),
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
    operands: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def wants_presence(self) -> bool:
        """Whether it wants the field to be there and nothing else."""
        return self.operators == (("exists", "true"),)

    @property
    def searches(self) -> int:
        """How many of its checks search."""
        return sum(OPERATORS[word].searches for word, _ in self.operators)

    def difference(self, attempt: Attempt) -> Difference | None:
        """What the attempt has instead; None when it has what is wanted."""
        return self.difference_of(self.read(attempt))

    def difference_of(self, got: object) -> Difference | None:
        """The same for a value already read."""
        for check, (word, operand) in zip(self.checks, self.operators, strict=True):
            if not check(got):
                return Difference(self.path, OPERATORS[word].words + operand, got)
        return None

    def __str__(self) -> str:
        name = self.path.removeprefix("request.")
        said = ((OPERATORS[word], operand) for word, operand in self.operators)
        return " and ".join(f"{name} {one.sign or one.words}{operand}" for one, operand in said)

    def holds(self, got: object) -> bool:
        """Whether a value already read is what is wanted."""
        return all(check(got) for check in self.checks)


def compile_test(
    name: str, wanted: object, read: Reader = lambda attempt: None, patterns: Patterns | None = None
) -> FieldTest:
    """A test from the file: a plain value, or a map of operators; ``read`` is of those that are
    asked about attempts, ``patterns`` compiles those of all tests of the file or call. Raises
    ``ValueError`` when it makes no sense."""
    operators = wanted if isinstance(wanted, dict) else {"eq": wanted}
    if not operators:
        raise ValueError(f"wanted a value or at least one of {', '.join(OPERATORS)}")
    made = {word: OPERATORS[word].operand for word in operators} | {
        "matches": (patterns or Patterns()).compile
    }
    operands = {word: made[word](operand) for word, operand in operators.items()}
    checks = tuple(OPERATORS[word].check(operand) for word, operand in operands.items())
    said = tuple((word, _operand(operand)) for word, operand in operators.items())
    equals = None
    if operators.keys() == {"eq"}:
        equals = frozenset((canonical(operators["eq"]),))
    elif operators.keys() == {"in"}:
        equals = _values(operators["in"])
    return FieldTest(name, read, said, checks, equals, operands)


def _operand(operand: object) -> str:
    if isinstance(operand, list):
        return (
            "["
            + ", ".join(excerpt(one) for one in operand[:10])
            + (", ..." if len(operand) > 10 else "")
            + "]"
        )
    return excerpt(operand)


def known_operators(wanted: object) -> None:
    """Raise ``ValueError`` for an operator that does not exist, or an operand that no test can
    have."""
    if isinstance(wanted, list):
        raise ValueError("got a list, wanted a value or a map such as {in: [...]}")
    for word, operand in wanted.items() if isinstance(wanted, dict) else ():
        if word not in OPERATORS:
            parted = (
                " - a comma ends the number before it: write it without"
                if word[:1].isdigit()
                else ""
            )
            hint = parted or f"{meaning_of(word, OPERATORS)}, allowed: {', '.join(OPERATORS)}"
            raise ValueError(f"unknown test '{word[:60]}'{hint}")
        operands = (
            operand
            if word == "in" and isinstance(operand, list)
            else [operand]
            if word in _PLAIN
            else []
        )
        if any(isinstance(one, (list, dict)) for one in operands):
            raise ValueError(
                f"{word}: got {excerpt(operand)}, wanted "
                f"{'plain values' if word == 'in' else 'a plain value'}"
            )


_PLAIN = ("eq", "ne", "in")
ORDER = ("above", "gt", "gte", "below", "lt", "lte", "between")


@record
class Kind:
    """One way to read values. ``reading`` gives None for a value that it cannot read; ``words``
    says what is wanted, ``allowed`` the words that are, when they are few. ``is_ordered`` says that
    values can be more and less."""

    reading: Callable[[object], object]
    words: str
    allowed: tuple[str, ...] = ()
    is_ordered: bool = True

    def read(self, value: object) -> object:
        """A value of a request as the API reads it; one that it refuses stays as it is."""
        read = self.reading(value)
        return value if read is None else read

    def wanted(self, wanted: object) -> object:
        """A test, its operands read in the same way. Raises ``ValueError`` for one that no value
        can ever meet."""
        if not isinstance(wanted, dict):
            return self._operand(wanted)
        for word in ORDER:
            if word in wanted and not self.is_ordered:
                raise ValueError(
                    f"got {word}, and {self.words} is neither more nor less than another"
                )
        known = _PLAIN + ORDER
        return {
            word: self._operand(operand) if word in known else operand
            for word, operand in wanted.items()
        }

    def _operand(self, value: object) -> object:
        if isinstance(value, list):
            return [self._operand(one) for one in value]
        read = self.reading(value)
        if read is None and value is not None:
            allowed = f", allowed: {', '.join(self.allowed)}" if self.allowed else ""
            raise ValueError(
                f"got {excerpt(value)}, wanted "
                f"{self.words}{allowed}{nearest(str(value), self.allowed)}"
            )
        return read


class Length(int):
    """A length of time in microseconds, shown as files say it."""

    def __str__(self) -> str:
        return duration_text(self)


def length_of(value: object) -> Length | None:
    """The length of time that a text says, None for anything else."""
    try:
        return Length(parse_duration(value)) if isinstance(value, str) else None
    except ValueError:
        return None


TEXT = Kind(lambda value: value, "a text")
NUMBER = Kind(number_of, "a number")
LENGTH = Kind(length_of, "a duration with its unit, such as 30d")
FLAG = Kind(flag_of, "true or false", is_ordered=False)


def choice(choices: type[Enum]) -> Kind:
    """The kind of a field that holds a member of an enumeration."""
    read = choice_of(choices)
    others: Mapping[str, Enum] = getattr(choices, "other_words", dict)()

    def reading(value: object) -> object:
        found = read(value)
        if found is None:
            return None
        return (
            SpelledWord(value, found.value)
            if isinstance(value, str) and value.lower() in others
            else found.value
        )

    return Kind(
        reading,
        "a known word",
        (*(str(member.value) for member in choices), *(word.capitalize() for word in others)),
        is_ordered=False,
    )
