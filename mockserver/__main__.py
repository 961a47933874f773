"""``python -m mockserver`` is the ``mockserver`` command."""

from mockserver.cli import main as command


def main() -> None:
    command(prog_name="mockserver")


if __name__ == "__main__":
    main()
