"""`mockserver books`: a table, CSV and a ledger for beancount; what differs ends with exit code
1."""

import csv
import http.client
import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from beancount import loader
from click.testing import CliRunner, Result

from mockserver.cli import main
from tests.served import CHARGE, Process, serve

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Iterator[Process]:
    process = serve()
    for reference, more in (
        ("order-1", {}),
        ("order-2", {}),
        ("order-2", {}),
        ("o'3", {"capture": False}),
    ):
        process.call(
            "POST",
            "/charge/card",
            {**CHARGE, "amount": 20, "reference": reference, **more},
            key="sk_ci",
        )
    yield process
    process.stop()


def run(server: Process, *words: str, given: str | None = None, key: str = "sk_ci") -> Result:
    url = f"http://127.0.0.1:{server.port}"
    return CliRunner().invoke(main, ["books", "--url", url, "--key", key, *words], input=given)


def test_a_table(server: Process) -> None:
    lines = run(server).output.splitlines()
    assert lines[0].split() == [
        "order",
        "held",
        "captured",
        "refunded",
        "net",
        "pending",
        "currency",
    ]
    assert [line.split()[0] for line in lines[1:]] == ["order-1", "order-2", "o'3", "total"]
    assert lines[-1].split() == ["total", "20.00", "60.00", "0.00", "60.00", "0.00", "AUD"]


def test_a_reference_of_several_lines_stands_in_one(server: Process) -> None:
    server.call("POST", "/charge/card", {**CHARGE, "reference": "order-1\ntotal"}, key="sk_lines")
    lines = run(server, key="sk_lines").output.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["order-1?total", "total"]


def lose_next_charge(server: Process, key: str) -> None:
    """Make a charge whose request is lost on its way: nothing happens, and the client cannot know
    that."""
    rule = {
        "id": "lost",
        "when": {"op": "charge.create"},
        "limit": 1,
        "then": {"transport": {"at": "receive", "reset": True}},
    }
    scenario = {"version": 1, "name": "lost", "rules": [rule]}
    assert server.call("POST", "/__admin/scenarios", scenario, key=key)[0] == 201
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        server.call("POST", "/charge/card", {**CHARGE, "reference": "order-9"}, key=key)


def test_calls_in_doubt_stand_below_the_table(server: Process) -> None:
    lose_next_charge(server, "sk_doubt_beside")
    server.call("POST", "/charge/card", {**CHARGE, "reference": "order-1"}, key="sk_doubt_beside")
    lines = run(server, key="sk_doubt_beside").output.splitlines()
    assert [line.split()[0] for line in lines[1:3]] == ["order-1", "total"]
    assert [line.split("  ")[0] for line in lines[3:]] == ["in doubt: journal 1"]


def test_calls_in_doubt_are_told_without_any_order_too(server: Process) -> None:
    lose_next_charge(server, "sk_doubt_alone")
    lines = run(server, key="sk_doubt_alone").output.splitlines()
    assert lines[0] == "no orders"
    assert [line.split("  ")[0] for line in lines[1:]] == ["in doubt: journal 1"]


def test_without_orders_and_doubts_nothing_else_is_told(server: Process) -> None:
    server.call("GET", "/charge", key="sk_reads")
    assert run(server, key="sk_reads").output == "no orders\n"


def test_csv(server: Process) -> None:
    rows = list(csv.DictReader(io.StringIO(run(server, "--format", "csv").output)))
    assert [(row["reference"], row["net"], row["held"]) for row in rows] == [
        ("order-1", "20", "0"),
        ("order-2", "40", "0"),
        ("o'3", "0", "20"),
    ]


def test_beancount_accepts_the_ledger(server: Process) -> None:
    entries, errors, _ = loader.load_string(run(server, "--format", "beancount").output)
    assert errors == []
    assert len([entry for entry in entries if type(entry).__name__ == "Transaction"]) == 4


@pytest.mark.parametrize(
    "given",
    [
        "reference,paid\norder-1,20\n\norder-2,20.005\n",
        '[{"reference": "order-1", "paid": 20},\n\n\n{"reference": "order-2", "paid": 20.005}]',
    ],
)
def test_a_row_that_the_server_refuses_is_named_by_its_line(server: Process, given: str) -> None:
    done = run(server, "--compare", "-", given=given)
    assert (done.exit_code, done.output) == (
        2,
        "-: line 4: paid: got 20.005, AUD has 2 digits after the point\n",
    )


def test_what_differs_is_printed_and_the_exit_code_is_1(server: Process, tmp_path: Path) -> None:
    file = tmp_path / "shop.csv"
    file.write_text("reference,paid\norder-1,20\norder-2,20\no'3,0\n")
    done = run(server, "--compare", str(file))
    assert done.exit_code == 1
    assert "customer paid 40.00 AUD for order-2 of 20.00 AUD" in done.output
    assert "order-1" not in done.output
    file.write_text("reference,paid,state\norder-1,20,paid\norder-2,40,paid\no'3,,held\n")
    assert run(server, "--compare", str(file)).output == "no findings\n"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("", "line 1: books: got nothing"),
        (
            "reference,paid\norder-1,lots\n",
            "line 2: paid: got 'lots', wanted a number such as 12.50",
        ),
        ('[{"reference": "order-1", "paid": 1e400}]', "line 1: paid"),
    ],
)
def test_books_that_cannot_be_read_are_refused_with_their_line(
    server: Process, given: str, words: str
) -> None:
    done = run(server, "--compare", "-", given=given)
    assert (done.exit_code, words in done.output) == (2, True)


def test_a_file_that_is_not_there(server: Process) -> None:
    done = run(server, "--compare", "no-such.csv")
    assert (done.exit_code, done.output) == (
        2,
        "cannot read no-such.csv: No such file or directory\n",
    )


def test_differences_are_text_or_json(server: Process) -> None:
    done = run(server, "--compare", "-", "--format", "beancount", given="[]")
    assert (done.exit_code, done.output) == (
        2,
        "--format beancount: differences are printed as text or json\n",
    )
