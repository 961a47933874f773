"""Runs the command line in this process, as a user does in a shell."""

from click.testing import CliRunner, Result

from mockserver.cli import main


def run(*words: str) -> Result:
    """``mockserver words``: its exit code and what it printed."""
    return CliRunner().invoke(main, words)
