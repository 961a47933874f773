"""Kinds of fields: how the API reads their values, and so what a test may want of them.

The API takes the amount ``"5.00"`` for 5 and the status ``1`` for its second word. A test compares
what the API understood, so both sides are read alike; an operand that cannot be read is a test that
no request passes, and is refused.
"""

from collections.abc import Callable, Mapping
from enum import Enum

from mockserver.domain.clock import duration_text, parse_duration
from mockserver.domain.errors import nearest
from mockserver.domain.reading import SpelledWord, choice_of, flag_of, number_of
from mockserver.domain.record import record
from mockserver.scenario.matching import EQUALITY, ORDER
from mockserver.scenario.values import excerpt


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
        """A value of a request as the API reads it."""
        reading = self.reading(value)
        if reading is None:
            # The API refuses it, but rules are asked before the body is checked.
            return value
        return reading

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
        of_kind = EQUALITY + ORDER
        operands: dict[str, object] = {}
        for word, operand in wanted.items():
            # That of ``contains`` or ``exists`` is no value of the field.
            operands[word] = self._operand(operand) if word in of_kind else operand
        return operands

    def _operand(self, value: object) -> object:
        """An operand as values of the kind are read. Raises ``ValueError``."""
        if isinstance(value, list):
            return [self._operand(item) for item in value]
        reading = self.reading(value)
        if reading is None and value is not None:
            allowed = f", allowed: {', '.join(self.allowed)}" if self.allowed else ""
            raise ValueError(
                f"got {excerpt(value)}, wanted "
                f"{self.words}{allowed}{nearest(str(value), self.allowed)}"
            )
        return reading


class Length(int):
    """A length of time in microseconds, shown as files say it."""

    def __str__(self) -> str:
        return duration_text(self)


def length_of(value: object) -> Length | None:
    """The length of time that a text says, None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        return Length(parse_duration(value))
    except ValueError:
        return None


def _as_it_came(value: object) -> object:
    """A text is compared as it was sent: nothing is to be read."""
    return value


TEXT = Kind(_as_it_came, "a text")
NUMBER = Kind(number_of, "a number")
LENGTH = Kind(length_of, "a duration with its unit, such as 30d")
FLAG = Kind(flag_of, "true or false", is_ordered=False)


def choice(choices: type[Enum]) -> Kind:
    """The kind of a field that holds a member of an enumeration."""
    member_of = choice_of(choices)
    other_words: Mapping[str, Enum] = getattr(choices, "other_words", dict)()

    def reading(value: object) -> object:
        """The word of the member that the API takes a value for; None where it refuses it."""
        member = member_of(value)
        if member is None:
            return None
        if isinstance(value, str) and value.lower() in other_words:
            # It equals the member, and a test that names the other word shows it as it was written.
            return SpelledWord(value, member.value)
        return member.value

    words = [str(member.value) for member in choices]
    words += [word.capitalize() for word in other_words]
    return Kind(reading, "a known word", tuple(words), is_ordered=False)
