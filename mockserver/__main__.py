"""``python -m mockserver`` is the ``mockserver`` command."""

from mockserver.adapters import exit_codes
from mockserver.cli import main as command


def main() -> None:
    """The command in a process of its own."""
    try:
        command(prog_name="mockserver")
    except exit_codes.ServerEnded as end:
        # Only here is the process the command's own: who calls it as a function goes on after it.
        exit_codes.leave(end.code)


if __name__ == "__main__":
    main()
