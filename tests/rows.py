"""A rule that holds of every row of a table of the product is one test with a loop: a test for each
row would cost more than what it checks. What varies within a rule, and what a test lists itself,
are parameters of the test."""

from collections.abc import Iterator
from contextlib import contextmanager

from _pytest.outcomes import Failed


@contextmanager
def at_row(row: object) -> Iterator[None]:
    """What fails inside of it says at which row."""
    try:
        yield
    except (Exception, Failed) as failure:
        failure.add_note(f"at {row}")
        raise
