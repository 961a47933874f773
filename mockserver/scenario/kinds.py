"""How the values of a field are read and what a test may want of them: numbers, flags, choices, and texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

from mockserver.domain.errors import nearest
from mockserver.domain.reading import SpelledWord, choice_of, flag_of, number_of
from mockserver.domain.record import record
from mockserver.scenario.matching import shown

_PLAIN = ("eq", "ne", "in")
_ORDER = ("gt", "gte", "lt", "lte", "between")


@record
class Kind:
    """One way to read values. ``reading`` gives None for a value that it cannot read; ``words`` says what is wanted,
    ``allowed`` the words that are, when they are few. ``is_ordered`` says that values can be more and less."""

    reading: Callable[[object], object]
    words: str
    allowed: tuple[str, ...] = ()
    is_ordered: bool = True

    def read(self, value: object) -> object:
        """A value of a request as the API reads it; one that it refuses stays as it is."""
        read = self.reading(value)
        return value if read is None else read

    def wanted(self, wanted: object) -> object:
        """A test, its operands read in the same way. Raises ``ValueError`` for one that no value can ever meet."""
        if not isinstance(wanted, dict):
            return self._operand(wanted)
        for word in _ORDER:
            if word in wanted and not self.is_ordered:
                raise ValueError(f"got {word}, and {self.words} is neither more nor less than another")
        known = _PLAIN + _ORDER
        return {word: self._operand(operand) if word in known else operand for word, operand in wanted.items()}

    def _operand(self, value: object) -> object:
        if isinstance(value, list):
            return [self._operand(one) for one in value]
        read = self.reading(value)
        if read is None and value is not None:
            allowed = f", allowed: {', '.join(self.allowed)}" if self.allowed else ""
            raise ValueError(f"got {shown(value)}, wanted {self.words}{allowed}{nearest(str(value), self.allowed)}")
        return read


def _same(value: object) -> object:
    return value


TEXT = Kind(_same, "a text")
NUMBER = Kind(number_of, "a number")
FLAG = Kind(flag_of, "true or false", is_ordered=False)


def choice(choices: type[Enum]) -> Kind:
    """The kind of a field that holds a member of an enumeration."""
    read = choice_of(choices)
    others: Mapping[str, Enum] = getattr(choices, "other_words", dict)()

    def reading(value: object) -> object:
        found = read(value)
        if found is None:
            return None
        return SpelledWord(value, found.value) if isinstance(value, str) and value.lower() in others else found.value

    return Kind(reading, "a known word", tuple(str(member.value) for member in choices), is_ordered=False)
