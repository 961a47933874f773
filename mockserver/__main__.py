"""``python -m mockserver`` is the ``mockserver`` command."""

from mockserver.adapters import late_modules


def main() -> None:
    """The command in a process of its own."""
    late_modules.begin()
    from mockserver.cli import main as command

    command(prog_name="mockserver")


if __name__ == "__main__":
    main()
