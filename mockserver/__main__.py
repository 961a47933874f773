"""``python -m mockserver`` is the ``mockserver`` command."""

import gc


def main() -> None:
    # What a command is made of stays: looking through it for garbage while it is loaded takes a
    # tenth of that time.
    gc.disable()
    from mockserver.cli import main as command

    gc.freeze()
    gc.enable()
    command(prog_name="mockserver")


if __name__ == "__main__":
    main()
