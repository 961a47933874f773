"""Every option that takes the address of a server, or of the shop's books, refuses what is none, in
the same words."""

import click
import pytest
from click.testing import CliRunner, Result

from mockserver.cli import main

HERE = "http://127.0.0.1:4111"
COMMANDS = {
    "books": "--url",
    "coverage": "--url",
    "drift": "--against",
    "explore": "--url",
    "findings": "--url",
    "healthcheck": "--url",
    "mcp": "--url",
    "sample": "--url",
    "shrink": "--url",
}
"""The commands that ask a server that runs, each with the option that names it."""


def ended(*words: str) -> Result:
    done = CliRunner().invoke(main, words)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def test_these_are_all_commands_that_take_an_address() -> None:
    context = click.Context(main)
    options = {
        name: {word for param in command.params for word in param.opts}
        for name in main.list_commands(context)
        if (command := main.get_command(context, name)) is not None
    }
    found = {
        name: word
        for name, words in options.items()
        for word in ("--url", "--against")
        if word in words
    }
    assert found == COMMANDS


@pytest.mark.parametrize(
    ("url", "right"),
    [
        ("localhost:4112", "http://localhost:4112"),
        ("ftp://a.test", HERE),
        ("", HERE),
        ("http://", HERE),
        ("http://a b", HERE),
        ("a b", HERE),
        ("http://127.0.0.1:0", HERE),
        ("http://127.0.0.1:65536", HERE),
        ("http://127.0.0.1/?key=1", HERE),
        ("http://[::1", HERE),
        ("http://a..test:4111", HERE),
        ("http://.test", HERE),
        (f"http://{'a' * 64}.test", HERE),
    ],
)
def test_an_address_is_refused_with_the_right_spelling(url: str, right: str) -> None:
    wanted = f"got '{url}', wanted an http or https address without query, such as {right}\n"
    for command, option in COMMANDS.items():
        done = ended(command, f"{option}={url}")
        assert (command, done.exit_code, wanted in done.output) == (command, 2, True), done.output


@pytest.mark.parametrize(
    "url", ["http://me:hunter2@127.0.0.1:9", "me:hunter2@127.0.0.1", "https://hunter2@a.test/"]
)
def test_a_password_in_an_address_is_refused_and_not_shown(url: str) -> None:
    for command, option in COMMANDS.items():
        done = ended(command, f"{option}={url}")
        assert (
            done.exit_code,
            "wanted an address without a user and a password" in done.output,
        ) == (2, True)
        assert "hunter2" not in done.output


def test_the_variable_of_an_address_is_refused_as_the_option_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for command in ("books", "coverage", "findings"):
        monkeypatch.setenv("MOCKSERVER_URL", "ftp://a.test")
        done = ended(command)
        assert (
            done.exit_code,
            "got 'ftp://a.test', wanted an http or https address" in done.output,
        ) == (2, True)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9/", "HTTP://127.0.0.1:9", "https://127.0.0.1:9/a"]
)
def test_an_address_where_nobody_answers_is_taken(url: str) -> None:
    done = ended("findings", "--url", url)
    assert (done.exit_code, "no server at " in done.output) == (5, True)


@pytest.mark.parametrize("command", ["run", "explore"])
@pytest.mark.parametrize(
    "books",
    [
        "ftp://a.test/books",
        "file:///books.json",
        "http://",
        "http://a b",
        "http://a:0/",
        "http://a..test/",
    ],
)
def test_an_address_of_books_that_cannot_be_read_is_refused(command: str, books: str) -> None:
    done = ended(command, "--books", books, "--", "no-such-program-here")
    wanted = f"got '{books}', wanted a command, or an http or https address\n"
    assert (done.exit_code, wanted in done.output) == (2, True), done.output


@pytest.mark.slow
@pytest.mark.parametrize(
    "books", ["http://127.0.0.1:9/books?day=1", "HTTP://127.0.0.1:9/", "cat a://b", "./a://b"]
)
def test_books_that_can_be_had_are_taken(books: str) -> None:
    done = ended("run", "--books", books, "--", "no-such-program-here")
    assert (done.exit_code, "no-such-program-here: No such file or directory" in done.output) == (
        2,
        True,
    ), done.output
