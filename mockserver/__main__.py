"""``python -m mockserver`` is the ``mockserver`` command."""

from mockserver.cli import main

if __name__ == "__main__":
    main(prog_name="mockserver")
