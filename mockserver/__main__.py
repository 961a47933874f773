"""``python -m mockserver`` is the ``mockserver`` command."""

from mockserver.adapters import exit_codes, late_modules


def main() -> None:
    """The command in a process of its own."""
    late_modules.begin()
    from mockserver.cli import main as command

    try:
        command(prog_name="mockserver")
    except exit_codes.ServerEnded as end:
        # Only here is the process the command's own: who calls it as a function goes on after it.
        exit_codes.leave(end.code)


if __name__ == "__main__":
    main()
