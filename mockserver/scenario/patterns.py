"""Regular expressions of scenario files, in RE2: each matches in a time in proportion to the text,
whatever its author wrote. Those of the standard library can be made to run for ever, and one such
pattern in a file would stop the server.
"""

from typing import Protocol

from mockserver.domain.record import mutable
from mockserver.scenario.values import excerpt, text_operand

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


class Pattern(Protocol):
    """A compiled pattern; the library itself has no types."""

    programsize: int

    def fullmatch(self, text: str) -> object | None:
        """A match of the whole text, or None."""


@mutable
class Patterns:
    """Compiles the patterns of one file or call, as many as may be: meanwhile no other client is
    served. ``size`` counts their instructions."""

    size: int = 0

    def compile(self, wanted: object) -> Pattern:
        """What matches a pattern. Raises ``ValueError``."""
        if self.size >= MOST_OF_PATTERNS:
            raise ValueError(
                "the patterns before this one are as large as all together may be "
                f"({MOST_OF_PATTERNS:,} instructions "
                "of RE2): write fewer classes such as \\p{L} and fewer repetitions such as {1,200}"
            )
        # A refusal leaves this function here, and has cost its work too.
        self.size += _OF_REFUSED
        pattern = compile_pattern(wanted)
        self.size += pattern.programsize - _OF_REFUSED
        return pattern


def compile_pattern(wanted: object) -> Pattern:
    """What matches one pattern. Raises ``ValueError``."""
    text = text_operand(wanted)
    if len(text) > _LONGEST_PATTERN:
        raise ValueError(
            f"got a pattern of {len(text)} characters, at most {_LONGEST_PATTERN} are allowed"
        )
    # Loaded here: most servers have no pattern to compile.
    import re2

    options = re2.Options()
    # What is wrong is said below, and not on standard error.
    options.log_errors = False
    # Which part of a text a group has met, nobody asks.
    options.never_capture = True
    options.max_mem = _MOST_OF_PATTERN
    try:
        pattern: Pattern = re2.compile(text, options)
        return pattern
    except re2.error as problem:
        why = problem.args[0].decode(errors="replace")
        if "too large" in why:
            raise ValueError(
                f"got {excerpt(text)}, which is too large a regular expression: repeat less in it"
            ) from None
        raise ValueError(
            f"got {excerpt(text)}, which is not a regular expression{_BEYOND}: {why}"
        ) from None
