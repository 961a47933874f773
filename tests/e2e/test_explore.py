"""`mockserver explore` as a stranger runs it: two shops in Python, one in a shell, one in Node, and
clients that misbehave."""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from mockserver.cli import main
from mockserver.explore.failures import FAULTS, OWN_AXES
from tests import needs, warm
from tests.depth import tries
from tests.served import serve
from tests.waiting import until

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TOKEN = "s3cret"
HOUSE = {
    **os.environ,
    "PYTHONPATH": str(ROOT),
    "SHOPS": str(HERE / "shop"),
    "MOCKSERVER_ADMIN_TOKEN": TOKEN,
}
PAY_SCRIPT = HERE / "explored" / "pay.sh"
PAY = ["sh", str(PAY_SCRIPT)]
PAY_BODY = PAY_SCRIPT.read_text().partition("'")[2].partition("'")[0]
TELLING = "lost_answer,cut_answer,too_slow,error_after,declined_hard,declined_soft,webhook_twice,webhook_forged,webhook_late"
"""What makes the naive shop unsafe, with a near miss of each kind."""
LOST = {
    ("charge.create#1", "lost_answer"),
    ("charge.create#1", "error_after"),
    ("charge.create#1", "cut_answer"),
}


def command(folder: Path, *args: str) -> list[str]:
    return [*warm.python(), "-m", "mockserver", "explore", "--out", str(folder / "explored"), *args]


def explore(folder: Path, *args: str, url: str | None = None) -> subprocess.CompletedProcess[str]:
    there = ["--url", url] if url is not None else []
    return subprocess.run(
        command(folder, *there, *args),
        cwd=folder,
        env=HOUSE,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def report(folder: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((folder / "explored" / "report.json").read_text("utf-8"))
    return found


def cells(folder: Path, verdict: str) -> set[tuple[str, str]]:
    rows: list[dict[str, str]] = report(folder)["cells"]  # type: ignore[assignment]
    return {(row["point"], row["fault"]) for row in rows if row["verdict"] == verdict}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """One server for all that need none of their own; it wants the token that ``HOUSE`` has."""
    server = serve("--log-level", "error", "--admin-token", TOKEN)
    yield server.url
    server.stop()


@pytest.fixture(scope="module")
def day() -> Iterator[Sequence[str]]:
    """A command that runs a day of a shop, whose name follows."""
    ready = HERE / "explored" / "ready.py"
    with subprocess.Popen(
        [sys.executable, ready], env=HOUSE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        HOUSE["DAYS"] = process.stdout.readline().strip()
        yield ["bash", str(HERE / "explored" / "day.sh")]
        process.kill()


def test_no_fault_makes_the_careful_shop_unsafe(tmp_path: Path, day: Sequence[str]) -> None:
    done = explore(
        tmp_path, *tries(("--ops", "charge.create,charge.refund"), ()), "--", *day, "careful"
    )
    assert (done.returncode, cells(tmp_path, "unsafe"), cells(tmp_path, "hung")) == (
        0,
        set(),
        set(),
    ), done.stdout
    assert len(cells(tmp_path, "survived")) > tries(20, 70)
    # It says so when nothing is paid.
    assert {fault for _, fault in cells(tmp_path, "failed")} == {
        "declined_hard",
        "pending",
        "pending_failed",
        "challenge",
        "webhook_forged_pending",
    }
    assert cells(tmp_path, "not reached") == set()


def test_the_naive_shop_is_unsafe_where_its_faults_are_planted(
    tmp_path: Path, day: Sequence[str]
) -> None:
    done = explore(
        tmp_path,
        "--ops",
        "charge.*,batch.*",
        *tries(("--faults", TELLING), ()),
        "--",
        *day,
        "naive",
    )
    assert done.returncode == 1, done.stderr
    lost = ("lost_answer", "cut_answer", "too_slow")
    assert cells(tmp_path, "unsafe") == {
        *(
            (f"{point}#1", fault)
            for point in ("charge.create", "charge.refund", "batch.create")
            for fault in lost
        ),
        *(
            ("charge.create#1", fault)
            for fault in ("error_after", "declined_hard", "webhook_twice")
        ),
        # A refund that did not arrive is sent again, and again when the answer to that is lost.
        *tries(
            [],
            [("charge.refund#1+charge.refund#2", f"lost_request+{fault}") for fault in lost],
        ),
    }
    # It answers a forgery 2xx, and without its books nothing shows that it believes it.
    rows: list[dict[str, Any]] = report(tmp_path)["cells"]  # type: ignore[assignment]
    assert {row["point"] for row in rows if "forged-webhook-accepted" in row["findings"]} == {
        "charge.create#1"
    }
    assert cells(tmp_path, "hung") == cells(tmp_path, "not reached") == set()
    # A cell again, alone.
    file = tmp_path / "explored" / "charge.create-1-lost_answer.yaml"
    again = explore(tmp_path, "--replay", str(file), "--", *day, "naive")
    assert again.returncode == 1
    assert again.stdout.startswith("unsafe: exit code 0 in ")
    assert "error double-charge: The customer was charged twice" in again.stdout
    assert (
        "POST /charge/card  201  fault reset at answer  rule lost_answer-charge.create-1"
        in again.stdout
    )


CALLS = ("charge.create#1", "charge.capture#1", "charge.refund#1")
AXES = ("--crash", "--twice", "--ops", "charge.create,charge.capture,charge.refund,batch.create")
BOOKS = {"bare": False, "books": True}


@pytest.mark.parametrize(
    "books", tries({"books": True}, BOOKS).values(), ids=tries({"books": True}, BOOKS)
)
def test_neither_a_crash_nor_a_second_worker_harms_the_careful_shop(
    tmp_path: Path, day: Sequence[str], books: bool
) -> None:
    done = explore(
        tmp_path,
        *AXES,
        "--faults",
        "lost_request",
        *booked(day, "careful", books),
        "--",
        *day,
        "careful",
    )
    assert done.returncode == 0, done.stdout
    axes = [row.name for row in FAULTS.values() if row.at in OWN_AXES]
    assert len(axes) == 6
    single = {cell for cell in cells(tmp_path, "survived") if "+" not in cell[0]}
    assert single == {
        (call, fault)
        for call in CALLS
        for fault in ("lost_request", *axes)
        if fault != "twice_at_start" or call == CALLS[0]
    }


@pytest.mark.parametrize(
    "books", tries({"bare": False}, BOOKS).values(), ids=tries({"bare": False}, BOOKS)
)
def test_the_naive_shop_pays_again_after_a_crash_and_beside_itself(
    tmp_path: Path, day: Sequence[str], books: bool
) -> None:
    faults = tries(
        "crash_between,twice_at_request",
        "crash_before,crash_between,twice_at_request,twice_at_answer",
    )
    ops = ("--ops", AXES[-1], "--faults", faults)
    done = explore(tmp_path, *ops, *booked(day, "naive", books), "--", *day, "naive")
    assert done.returncode == 1, done.stderr
    # The webhook that lets it capture again may be on its way when it is killed: of a crash at the
    # capture chance decides.
    found = {
        (call, fault)
        for call, fault in cells(tmp_path, "unsafe")
        if not (call == "charge.capture#1" and fault.startswith("crash"))
    }
    assert found == {
        *(
            (call, "crash_between")
            for call in ("charge.create#1", "charge.refund#1", "batch.create#1")
        ),
        *(
            (call, fault)
            for call in (*CALLS, "batch.create#1")
            for fault in faults.split(",")
            if "twice" in fault
        ),
    }


def booked(day: Sequence[str], name: str, books: bool) -> list[str]:
    """The options that read the books of a shop."""
    return ["--books", shlex.join([*day, f"{name}_books"])] if books else []


def test_a_swarm_finds_the_naive_shop_within_ten_seeds(tmp_path: Path, day: Sequence[str]) -> None:
    done = explore(tmp_path, "--seeds", "10", "--client-timeout", "1s", "--", *day, "naive")
    assert done.returncode == 1, done.stderr
    [red] = [row for row in report(tmp_path)["cells"] if row["verdict"] == "unsafe"]  # type: ignore[attr-defined]
    assert len(red["fault"].split("+")) <= 2
    again = explore(tmp_path, "--replay", red["scenario"], "--", *day, "naive")
    assert (again.returncode, again.stdout.partition(":")[0]) == (1, "unsafe")


def test_a_swarm_finds_nothing_of_the_careful_shop(tmp_path: Path, day: Sequence[str]) -> None:
    seeds = str(tries(20, 100))
    done = explore(tmp_path, "--seeds", seeds, "--client-timeout", "1s", "--", *day, "careful")
    assert (done.returncode, len(report(tmp_path)["cells"])) == (0, int(seeds)), done.stdout  # type: ignore[arg-type]


def test_a_shop_in_a_shell_knows_nothing_but_its_environment(tmp_path: Path, url: str) -> None:
    done = explore(tmp_path, "--client-timeout", "1s", "--format", "junit", "--", *PAY, url=url)
    assert done.returncode == 1
    unsafe = LOST | {
        ("charge.create#1", fault) for fault in ("declined_hard", "garbage_answer", "too_slow")
    }
    assert cells(tmp_path, "unsafe") == unsafe
    suite = ElementTree.fromstring(done.stdout)[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("17", "6", "0")
    failed = {
        (case.get("classname"), case.get("name"))
        for case in suite
        if case.find("failure") is not None
    }
    assert failed == {(f"explore.{point}", fault) for point, fault in unsafe}
    kept = {path.name for path in (tmp_path / "explored").iterdir() if path.suffix != ".log"}
    files = {f"charge.create-1-{fault}.yaml" for _, fault in unsafe | cells(tmp_path, "doubtful")}
    assert kept == {"cells.jsonl", "report.html", "report.json", *files}


def test_an_answer_that_is_given_again_can_fail_too(tmp_path: Path, url: str) -> None:
    curl = 'curl -s -o /dev/null -H "x-secretkey: $MOCKSERVER_SECRET_KEY"'
    knows = f"""{curl} -X PUT "$MOCKSERVER_URL/__admin/assumptions" -H "x-admin-token: $MOCKSERVER_ADMIN_TOKEN" \\
        -H "content-type: application/json" -d '{{"request.idempotency": "by_header"}}'"""
    pay = f"""pay() {{ {curl} "$MOCKSERVER_URL/charge/card" -H 'idempotency-key: k-1' --json '{PAY_BODY}'; }}"""
    twice = "\n".join([knows, pay, "pay || pay", "pay || pay"])
    done = explore(
        tmp_path, "--faults", "lost_answer,declined_soft", "--", "sh", "-c", twice, url=url
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert cells(tmp_path, "survived") == {
        ("charge.create#1", "lost_answer"),
        ("charge.create#2", "lost_answer"),
    }
    # No provider is asked for an answer that is known.
    assert cells(tmp_path, "not reached") == {("charge.create#2", "declined_soft")}


@pytest.mark.parametrize(("reconcile", "code"), [("writes", 0), ("does nothing", 3)])
def test_books_that_only_the_nightly_job_makes_are_read_after_it(
    tmp_path: Path, url: str, reconcile: str, code: int
) -> None:
    # The first reading fails; time moves on and the job runs all the same.
    row = "reference,paid,currency\\norder-1,20,AUD\\n"
    write = f"printf '{row}' > $MOCKSERVER_RUN_DIR/books.csv" if reconcile == "writes" else ":"
    done = explore(
        tmp_path,
        *("--faults", "lost_request", "--settle", "3d"),
        *("--books", "sh -c 'cat $MOCKSERVER_RUN_DIR/books.csv'"),
        *("--reconcile", shlex.join(["sh", "-c", write])),
        *("--", *PAY),
        url=url,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert ("No such file" in done.stderr) is (reconcile == "does nothing")


@pytest.mark.parametrize(("level", "code"), [("unsafe", 0), ("warning", 1)])
def test_a_warning_fails_where_it_is_asked_for(
    tmp_path: Path, url: str, level: str, code: int
) -> None:
    done = explore(tmp_path, "--faults", "lost_request", "--fail-on", level, "--", *PAY, url=url)
    assert (done.returncode, "warning   blind-retry in 1 of 1 runs" in done.stdout) == (code, True)


@needs.program("node")
def test_behind_a_proxy_a_shop_reaches_its_sandbox(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(HOUSE, "http_proxy", "http://127.0.0.1:1")
    done = explore(tmp_path, "--faults", "lost_answer", "--", *PAY, url=url)
    assert done.returncode == 1, done.stderr
    assert cells(tmp_path, "unsafe")


@needs.program("node")
def test_a_shop_in_node_is_reported_by_its_arguments(tmp_path: Path, url: str) -> None:
    script = [str(HERE / "explored" / "pay.mjs"), "{url}", "{secret_key}", "order-7"]
    faults = "lost_answer,lost_request,declined_soft"
    done = explore(
        tmp_path,
        "--faults",
        faults,
        "--pairs",
        "--fail-on",
        "failed",
        "--",
        "node",
        *script,
        url=url,
    )
    assert done.returncode == 1, done.stderr
    assert cells(tmp_path, "unsafe") == set()
    assert cells(tmp_path, "failed") >= {("charge.create#1", "declined_soft")}
    # What it does to recover can fail too.
    assert ("charge.create#1+charge.search#1", "lost_answer+lost_request") in cells(
        tmp_path, "failed"
    )
    assert ("charge.create#1+charge.create#2", "lost_request+declined_soft") in cells(
        tmp_path, "failed"
    )


def test_a_client_that_hangs_is_ended_with_its_children(tmp_path: Path, url: str) -> None:
    ask = (
        'curl -sS --fail "$MOCKSERVER_URL/charge" -H "x-secretkey: $MOCKSERVER_SECRET_KEY" -o '
        "/dev/null"
    )
    hangs = f"{ask} || {{ sleep 300 & echo $! > pid; wait; }}"
    limits = ["--faults", "lost_request", "--timeout", "1s", "--fail-on", "hung"]
    done = explore(tmp_path, *limits, "--", "sh", "-c", hangs, url=url)
    assert (done.returncode, cells(tmp_path, "hung")) == (
        1,
        {("charge.search#1", "lost_request")},
    ), done.stderr
    state = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/stat")
    assert not state.exists() or " Z " in state.read_text()


def test_a_client_that_ignores_the_environment_is_reported_so(tmp_path: Path, url: str) -> None:
    done = explore(tmp_path, "--", "true", url=url)
    assert done.returncode == 3
    assert "no call arrived in the sandbox: the command does not use MOCKSERVER_URL" in done.stderr


def test_ctrl_c_keeps_what_was_found_and_resume_does_the_rest(tmp_path: Path, url: str) -> None:
    # Deaf to SIGTERM, so that there is time to interrupt again.
    slow = (
        f"trap '' TERM; echo run >> runs; {' '.join(PAY)}; if [ $(wc -l < runs) -eq 4 ]; then "
        "sleep 300; fi"
    )
    faults = [
        "--faults",
        "lost_answer,lost_request,declined_soft",
        "--jobs",
        "1",
        "--timeout",
        "200s",
    ]
    line = command(tmp_path, "--url", url, *faults, "--", "sh", "-c", slow)
    with subprocess.Popen(
        line, cwd=tmp_path, env=HOUSE, stdout=subprocess.PIPE, text=True
    ) as process:
        runs = tmp_path / "runs"
        until(lambda: runs.exists() and runs.read_text().count("run") >= 4)
        process.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            process.communicate(timeout=0.2)
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=20)
    assert process.returncode == 1
    assert "charge.create#1  UNSAFE" in printed
    assert "not tried (interrupted): 2: charge.create#1/lost_request" in printed
    again = explore(tmp_path, *faults, "--resume", "--", "sh", "-c", slow, url=url)
    assert again.returncode == 1, again.stderr
    # Two for the baseline, and the two that were left.
    assert runs.read_text().count("run") == 8
    assert len(report(tmp_path)["cells"]) == 3  # type: ignore[arg-type]
    assert report(tmp_path)["left_out"] == []
    other = explore(tmp_path, "--resume", "--seed", "7", "--", "sh", "-c", slow, url=url)
    assert (other.returncode, "is of another seed: it has 1, now 7" in other.stderr) == (2, True)


def test_the_budget_takes_the_most_telling_first_and_says_what_it_left_out(
    tmp_path: Path, url: str
) -> None:
    done = explore(tmp_path, "--budget", "0.001ms", "--format", "json", "--", *PAY, url=url)
    assert done.returncode == 0
    made = json.loads(done.stdout)
    assert made["cells"] == []
    assert made["left_out"][0] == {
        "point": "charge.create#1",
        "fault": "lost_answer",
        "why": "budget",
    }
    assert made["baseline"]["calls"] == [{"point": "charge.create#1", "status": 201}]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (
            ["--faults", "lost_anser", "--", "true"],
            "which is not a fault - did you mean 'lost_answer'?",
        ),
        (["--ops", "charge.creat", "--", "true"], "did you mean 'charge.create'?"),
        (
            ["--seeds", "5", "--faults", "crash_before", "--", "true"],
            "got --seeds and crash_before, only one of them",
        ),
        (
            ["--replay", "seed-3", "--baseline", "pyproject.toml", "--", "true"],
            "got --replay and --baseline, only one",
        ),
        (["--all", "--", "true"], "--all needs --seeds"),
        (
            ["--baseline", "pyproject.toml", "--", "true"],
            "--baseline: pyproject.toml is no report.json",
        ),
        (["--budget", "soon", "--", "true"], "got 'soon', wanted a duration such as"),
        (["--timeout", "0s", "--", "true"], "got 0, wanted a duration above 0"),
        ([], "Missing argument 'COMMAND...'"),
        (["--", "no-such-program"], "no-such-program: No such file or directory"),
        (
            ["--url", "http://[::1", "--", "true"],
            "got 'http://[::1', wanted an http or https address",
        ),
        (["--url", "localhost:8080", "--", "true"], "such as http://localhost:8080"),
        (
            ["--admin-token", "\u00fc", "--", "true"],
            "wanted a text of ASCII characters that is not empty",
        ),
    ],
)
def test_wrong_usage_is_refused(tmp_path: Path, url: str, args: list[str], words: str) -> None:
    given = [
        "explore",
        "--out",
        str(tmp_path / "explored"),
        "--url",
        url,
        "--admin-token",
        TOKEN,
        *args,
    ]
    done = CliRunner().invoke(main, given)
    assert (done.exit_code, words in " ".join(done.stderr.split())) == (2, True), done.stderr


def test_a_server_that_wants_a_token_says_so(tmp_path: Path, url: str) -> None:
    wrong = ["--out", str(tmp_path), "--url", url, "--admin-token", "wrong", "--", "true"]
    for command in (["explore", *wrong], ["shrink", "--scenario", "chaos", *wrong]):
        done = CliRunner().invoke(main, command)
        assert done.exit_code == 5
        assert (
            "answered 401: Invalid Authentication: XAdminToken: wanted the token of --admin-token"
            in done.stderr
        )
