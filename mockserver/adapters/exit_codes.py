"""Exit codes of the command line."""

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of the command line (docs/cli.md). A number has a name for each thing that it
    says, which is another by command."""

    OK = 0
    INTERNAL = 1
    FOUND = 1
    USAGE = 2
    PORT_IN_USE = 3
    IN_USE = 3
    BASELINE = 3
    VERIFICATION_FAILED = 4
    NOT_READY = 5
    INTERRUPTED = 130
