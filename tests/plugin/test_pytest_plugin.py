"""The pytest plugin, as another project's tests use it: each test here runs pytest on a small
project of its own."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests import warm
from tests.plugin.nested import NEEDS_INSTALLATION, ROOT, run_pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run pytest on files given by name, with this plugin and no other; ``installed`` as an
    installation loads it."""
    return partial(run_pytest, tmp_path)


def passed(done: subprocess.CompletedProcess[str]) -> int:
    """How many tests passed when no other outcome occurred, else -1."""
    found = re.search(r"^=* ?(\d+) passed in .*$", done.stdout, re.MULTILINE)
    return int(found.group(1)) if found and done.returncode == 0 else -1


TWICE = """
version: 1
clock: {start: "2020-01-01T00:00:00Z", mode: manual}
rules:
  - id: declined-twice
    when: {op: charge.create}
    key: [request.reference]
    sequence: [{decline: insufficient_funds, times: 2}]
"""
OUTAGE = """
version: 1
rules:
  - {id: down, when: {op: charge.create}, then: {provider_down: {}}}
"""

TOGETHER = {
    "test_shop": (
        7,
        """
    import httpx, pytest

    @pytest.mark.parametrize("turn", [1, 2])
    def test_alone(mockserver, turn):
        assert mockserver.client.get("/charge").json()["count"] == 0
        assert mockserver.client.post("/charge/card", json=CHARGE).json()["status"] == "SUCCESS"
        assert mockserver.client.get("/charge").json()["count"] == 1

    def test_with_a_client_of_the_shops_own(mockserver):
        headers = {"x-secretkey": mockserver.secret_key}
        assert httpx.post(mockserver.url + "/charge/card", json=CHARGE, headers=headers).status_code == 201
        assert mockserver.client.get("/charge").json()["count"] == 1

    def test_public_key(mockserver):
        assert mockserver.public_key == "pk_" + mockserver.secret_key.removeprefix("sk_")

    def test_server(mockserver, mockserver_server):
        assert mockserver.url == mockserver_server.url

    def test_journal(mockserver):
        mockserver.client.post("/charge/card", json=CHARGE)
        mockserver.client.get("/charge")
        assert [entry["op"] for entry in mockserver.journal] == ["charge.create", "charge.search"]
        assert len(mockserver.journal(op="charge.create")) == 1
        assert mockserver.journal.read(mockserver.journal[0]["id"]) == mockserver.journal[0]
        assert "4111111111111111" not in str(mockserver.journal())

    def test_reset(mockserver):
        mockserver.client.post("/charge/card", json=CHARGE)
        mockserver.reset()
        assert mockserver.client.get("/charge").json()["count"] == 0
    """,
    ),
    "test_clock": (
        2,
        """
    import datetime, pytest
    from mockserver.remote import ControlRefused

    @pytest.mark.mockserver(clock="2031-03-01T00:00:00Z")
    def test_moves(mockserver):
        start = datetime.datetime(2031, 3, 1, tzinfo=datetime.UTC)
        assert mockserver.clock.now == start
        assert mockserver.clock.advance("1h30m") == start + datetime.timedelta(minutes=90)
        assert mockserver.clock.to(start + datetime.timedelta(days=1)) == mockserver.clock.now
        assert mockserver.clock.to("2031-03-09") == datetime.datetime(2031, 3, 9, tzinfo=datetime.UTC)
        with pytest.raises(ControlRefused, match="never goes back") as refused:
            mockserver.clock.to(start)
        assert refused.value.status == 400

    def test_vault_item_expires(mockserver):
        mockserver.clock.freeze()
        body = {"CardNumber": "4111111111111111", "ExpireSeconds": 3600}
        path = "/vault/" + mockserver.client.post("/vault", json=body).json()["vaultId"]
        mockserver.clock.advance("3599s")
        assert mockserver.client.get(path).status_code == 200
        mockserver.clock.advance("1s")
        assert mockserver.client.get(path).status_code == 404
    """,
    ),
    "test_scenarios": (
        6,
        """
    import datetime, pytest
    from mockserver.remote import ControlRefused

    TWICE = open("twice.yaml").read()

    def codes(mockserver, count):
        answers = [mockserver.client.post("/charge/card", json={**CHARGE, "reference": "r"}) for _ in range(count)]
        return [answer.json().get("code", answer.json().get("status")) for answer in answers]

    @pytest.mark.mockserver(scenario=TWICE)
    def test_text(mockserver):
        assert codes(mockserver, 3) == [15, 15, "SUCCESS"]
        assert [rule["hits"] for rule in mockserver.rules() if rule["id"] == "declined-twice"] == [2]
        assert mockserver.clock.now.year == 2020

    @pytest.mark.mockserver(scenario="outage.yaml", clock="2031-03-01T00:00:00Z")
    def test_file_beside_the_test_with_a_clock(mockserver):
        assert codes(mockserver, 1) == [34]
        assert mockserver.clock.now == datetime.datetime(2031, 3, 1, tzinfo=datetime.UTC)

    @pytest.mark.mockserver(scenario=TWICE, clock="2031-03-01T00:00:00Z")
    def test_the_clock_of_the_marker_counts_before_that_of_the_scenario(mockserver):
        assert mockserver.clock.now.year == 2031

    @pytest.mark.mockserver(clock="2031-03-01T00:00:00Z")
    def test_a_later_scenario_leaves_the_clock_alone(mockserver):
        now = mockserver.clock.advance("1h")
        mockserver.scenario("outage.yaml")
        assert mockserver.clock.now == now
        assert codes(mockserver, 1) == [34]

    def test_library(mockserver):
        mockserver.scenario("test-values")
        assert codes(mockserver, 1) == ["SUCCESS"]

    def test_a_bad_one_is_refused_and_changes_nothing(mockserver):
        mockserver.scenario("outage.yaml")
        with pytest.raises(ControlRefused, match="line 2, column 1: .*ruels.*rules"):
            mockserver.scenario("version: 1\\nruels: []")
        assert codes(mockserver, 1) == [34]
    """,
    ),
    "test_written": (
        3,
        """
    import datetime, pytest
    from mockserver.remote import VerificationFailed

    @pytest.fixture(autouse=True)
    def charged(mockserver):
        mockserver.clock.freeze()
        target = {"url": mockserver.inbox.url("shop")}
        mockserver.client.post("/charge/card", json={**CHARGE, "reference": "r-1", "webhook": target})

    def test_the_name_of_an_inbox(mockserver):
        mockserver.wait_for(inbox="shop")
        with pytest.raises(TypeError, match="such as wait_for.inbox='shop'"):
            mockserver.wait_for("shop")

    def test_an_expectation(mockserver):
        mockserver.verify("charge.create")
        mockserver.verify({"op": "charge.create", "request.reference": "r-1"})
        mockserver.verify(op="charge.create", where={"request.reference": "r-1"}, count=1)
        mockserver.verify(op="charge.create", source="card", count=1, rules=False)
        for wrong in ({"request.reference": "r-2"}, {"source": "token"}):
            with pytest.raises(VerificationFailed, match="wanted at least 1, got 0"):
                mockserver.verify({"op": "charge.create", **wrong})

    def test_how_long(mockserver):
        start = mockserver.clock.now
        mockserver.clock.advance(datetime.timedelta(days=7))
        mockserver.clock.advance(90)
        mockserver.clock.advance(0.5)
        assert mockserver.clock.now - start == datetime.timedelta(days=7, seconds=90.5)
        with pytest.raises(VerificationFailed, match="waited 0.01s: "):
            mockserver.wait_for(charge={"status": "FAILED"}, timeout=0.01)
        with pytest.raises(VerificationFailed, match="moved the clock by 0s: .*nothing more is due"):
            mockserver.wait_for(charge={"status": "FAILED"}, within=10, advance=True)
    """,
    ),
    "test_inbox": (
        3,
        """
    import httpx

    def test_arrives(mockserver):
        target = {"url": mockserver.inbox.url("shop"), "authorization": "Bearer shop"}
        mockserver.client.post("/charge/card", json={**CHARGE, "webhook": target})
        (message,) = mockserver.inbox.messages("shop")
        assert (message["signature"], message["headers"]["authorization"]) == ("valid", "Bearer shop")
        assert message["body"]["data"]["status"] == "SUCCESS"
        assert mockserver.inbox.messages("other") == []
        mockserver.inbox.clear("shop")
        assert mockserver.inbox.messages("shop") == []

    def test_anything_may_be_sent_there(mockserver):
        httpx.post(mockserver.inbox.url(), json={"told": "by hand"})
        (message,) = mockserver.inbox.messages()
        assert (message["signature"], message["body"]) == ("missing", {"told": "by hand"})

    def test_nobody_elses(mockserver):
        assert mockserver.inbox.messages("shop") == []
    """,
    ),
    "test_waits": (
        4,
        """
    import pytest
    from mockserver.remote import ControlRefused, VerificationFailed

    @pytest.fixture
    def charge(mockserver):
        body = {**CHARGE, "capture": False, "webhook": {"url": mockserver.inbox.url("shop")}}
        return mockserver.client.post("/charge/card", json=body).json()["chargeId"]

    def test_what_is_so_already(mockserver, charge):
        answer = mockserver.wait_for(charge={"id": charge, "status": "Authorised"}, inbox={"name": "shop"})
        assert answer["held"]

    @pytest.mark.mockserver(clock="2031-03-01T00:00:00Z")
    def test_what_the_clock_brings(mockserver, charge):
        mockserver.wait_for(charge={"id": charge, "status": "AUTHORISE_CANCELLED"}, timeout="8d", advance=True)
        assert mockserver.clock.now.day == 8

    @pytest.mark.mockserver(clock="2031-03-01T00:00:00Z")
    def test_what_never_comes(mockserver, charge):
        with pytest.raises(VerificationFailed, match="waited 20ms: .*charge.*advance: true"):
            mockserver.wait_for(charge={"id": charge, "status": "SUCCESS"}, timeout="20ms")

    def test_senseless(mockserver):
        with pytest.raises(ControlRefused, match="chargee"):
            mockserver.wait_for(chargee={"id": "x"})
    """,
    ),
    "test_verified": (
        4,
        """
    import pytest
    from mockserver.remote import ControlRefused, VerificationFailed

    ONCE = {"op": "charge.create", "where": {"request.reference": "r-1"}, "count": {"exactly": 1}}

    def test_so(mockserver):
        mockserver.client.post("/charge/card", json={**CHARGE, "reference": "r-1"})
        mockserver.verify(ONCE, {"op": "charge.refund", "count": {"max": 0}})

    def test_not_so(mockserver):
        mockserver.client.post("/charge/card", json={**CHARGE, "reference": "r-2"})
        with pytest.raises(AssertionError, match="wanted exactly 1, got 0.*nearest is entry 1: .*r-2"):
            mockserver.verify(ONCE)

    @pytest.mark.mockserver(scenario="never.yaml")
    def test_a_rule_that_should_have_fired(mockserver):
        mockserver.verify({"op": "charge.create", "count": {"max": 0}}, rules=False)
        with pytest.raises(VerificationFailed, match="never"):
            mockserver.verify()

    def test_senseless(mockserver):
        with pytest.raises(ControlRefused, match="charge.creat"):
            mockserver.verify({"op": "charge.creat", "count": {"exactly": 1}})
    """,
    ),
    "test_profiles": (
        5,
        """
    import pytest

    def charge(mockserver):
        answer = mockserver.client.post("/charge/card", json={**CHARGE, "capture": False})
        return answer.status_code, answer.json()["status"]

    def test_default(mockserver):
        assert charge(mockserver) == (201, "Authorised")

    def test_assumptions(mockserver):
        mockserver.assume({"charge.status.authorised": "AUTHORISE"})
        assert charge(mockserver) == (201, "AUTHORISE")

    @pytest.mark.mockserver(profile="sdk")
    class TestSdk:
        def test_of_the_class(self, mockserver):
            assert charge(mockserver) == (200, "AUTHORISE")

        @pytest.mark.mockserver(scenario="test-values", clock="2031-03-01")
        def test_with_scenario_and_clock(self, mockserver):
            assert charge(mockserver) == (200, "AUTHORISE")

        @pytest.mark.mockserver(profile="documented")
        def test_the_nearest_marker_wins(self, mockserver):
            assert charge(mockserver) == (201, "Authorised")
    """,
    ),
    "test_map": (
        1,
        """
    import pytest

    RULE = {"id": "poor", "when": {"op": "charge.create"}, "then": {"decline": "insufficient_funds"}}
    POOR = {"version": 1, "rules": [RULE]}

    @pytest.mark.mockserver(scenario=POOR)
    def test_pays(mockserver):
        assert mockserver.client.post("/charge/card", json=CHARGE).json()["code"] == 15
        mockserver.scenario({"version": 1})
        assert mockserver.client.post("/charge/card", json={**CHARGE, "amount": 7}).status_code == 201
    """,
    ),
}
"""Files of tests that pass, run in one session: how many tests each has, and its text."""


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the session prints, with a line for each test that has passed."""
    folder = tmp_path_factory.mktemp("together")
    never = OUTAGE.replace("}}}", "}}, expect: {min: 1}}").replace("down", "never", 1)
    for name, text in (("outage", OUTAGE), ("twice", TWICE), ("never", never)):
        (folder / f"{name}.yaml").write_text(text)
    return run_pytest(folder, "-rA", **{name: text for name, (_, text) in TOGETHER.items()}).stdout


@pytest.mark.parametrize("name", TOGETHER)
def test_a_file_of_tests_passes(together: str, name: str) -> None:
    count, _ = TOGETHER[name]
    assert re.findall(rf"^(\w+) {name}\.py::", together, re.MULTILINE) == ["PASSED"] * count, (
        together
    )


@NEEDS_INSTALLATION
def test_an_installation_brings_the_plugin(run: Run) -> None:
    done = run(
        installed=True,
        test_shop="""
        def test_nothing_yet(mockserver):
            assert mockserver.client.get("/charge").json()["count"] == 0
        """,
    )
    assert passed(done) == 1, done.stdout


def test_the_same_test_gives_the_same_ids_in_every_session(run: Run, tmp_path: Path) -> None:
    text = """
    def test_ids(mockserver):
        with open("ids.txt", "a") as file:
            print(mockserver.client.post("/charge/card", json=CHARGE).json()["chargeId"], file=file)
    """
    assert passed(run(test_ids=text)) == passed(run(test_ids=text)) == 1
    first, second = (tmp_path / "ids.txt").read_text().split()
    assert first == second


def test_the_report_of_a_failing_test_ends_with_the_timeline(run: Run) -> None:
    done = run(
        test_failing="""
        import pytest

        @pytest.mark.mockserver(clock="2031-03-01T00:00:00Z")
        def test_called(mockserver):
            card = {**CHARGE["paymentInformation"], "cardNumber": "4000000000000002"}
            mockserver.client.post("/charge/card", json={**CHARGE, "capture": False})
            mockserver.clock.advance("7d")
            mockserver.client.post("/charge/card", json={**CHARGE, "paymentInformation": card})
            assert False

        def test_silent(mockserver):
            assert False

        @pytest.fixture
        def stock(mockserver):
            mockserver.client.get("/charge")
            mockserver.client.get("/charges")
            raise RuntimeError("no stock")

        def test_set_up(stock):
            pass

        def test_passing(mockserver):
            mockserver.client.get("/vault/nothing")

        def test_without_sandbox():
            assert False
        """
    )
    assert "3 failed, 1 passed, 1 error" in done.stdout
    assert done.stdout.count("mockserver timeline") == 3
    expected = [
        r"2031-03-01 00:00:00\.000  POST /charge/card  201  amount [^\n]+",
        r"                         charge \w{32} authorised: \(new\) -> Authorised",
        r"2031-03-08 00:00:00\.000  came due: \S+",
        r"                         charge \w{32} expired: Authorised -> AUTHORISE_CANCELLED",
        r"2031-03-08 00:00:00\.000  POST /__admin/clock/advance  by 7d  200",
        r"2031-03-08 00:00:00\.000  POST /charge/card  400  [^(]+ \(code 905\)  rule "
        r"card-do-not-honour  amount [^\n]+",
        r"                         charge \w{32} declined: \(new\) -> FAILED",
    ]
    assert re.search("\n".join(expected), done.stdout), done.stdout
    assert "\nno request reached this sandbox\n" in done.stdout
    assert "GET /charge  200" in done.stdout
    assert re.search(
        r"GET /charges  404  Not Found \(code 1\)\n {25}Path: no such route - did you mean "
        r"'/charge'\?\n",
        done.stdout,
    )
    assert "/vault/nothing" not in done.stdout


def test_the_timeline_tells_the_receiver_and_every_try_of_a_webhook(run: Run) -> None:
    done = run(
        test_told="""
        import pytest

        SCENARIO = '''
        version: 1
        rules:
          - id: down
            when: {op: webhook.deliver, request.url: {contains: shop}}
            then: {webhook: {receiver: [500, 503, 200]}}
        '''

        @pytest.mark.mockserver(clock="2031-03-01T00:00:00Z", scenario=SCENARIO)
        def test_told(mockserver):
            for name in ("shop", "books"):
                target = {"url": "http://127.0.0.1:9/" + name if name == "shop" else mockserver.inbox.url(name)}
                mockserver.client.post("/charge/card", json={**CHARGE, "webhook": target})
            mockserver.clock.advance("30s")
            mockserver.clock.advance("1h")
            assert False

        @pytest.mark.mockserver(clock="2031-03-01T00:00:00Z", scenario=SCENARIO)
        def test_waiting(mockserver):
            mockserver.client.post("/charge/card", json={**CHARGE, "webhook": {"url": "http://127.0.0.1:9/shop"}})
            assert False
        """
    )
    indent, told = " " * 25, "webhook transaction.status.changed to http://127.0.0.1:"
    lines = done.stdout.splitlines()
    assert f"{indent}{told}9/shop  try 1  500" in lines, done.stdout
    assert f"{indent}{told}9/shop  try 2 at 2031-03-01 00:00:10.000  503" in lines
    assert f"{indent}{told}9/shop  try 3 at 2031-03-01 00:01:10.000  200" in lines
    assert re.search(
        rf"\n {{25}}{told}\d+/__inbox/books\?publicKey=pk_test_\w+  try 1  200\n", done.stdout
    )
    assert f"{indent}{told}9/shop  waiting, next try at 2031-03-01 00:00:10.000" in lines


def test_a_rule_that_was_expected_and_never_fired_fails_the_test(run: Run, tmp_path: Path) -> None:
    (tmp_path / "never.yaml").write_text(
        OUTAGE.replace("}}}", "}}, expect: {min: 1}}").replace("down", "never", 1)
    )
    done = run(
        test_expected="""
        import httpx
        import pytest

        pytestmark = pytest.mark.mockserver(scenario="never.yaml")

        def test_unmet(mockserver):
            pass

        def test_met(mockserver):
            mockserver.client.post("/charge/card", json=CHARGE)

        def test_told_already(mockserver):
            with pytest.raises(AssertionError, match="never"):
                mockserver.verify()

        @pytest.mark.xfail(strict=True)
        def test_known_to_fail(mockserver):
            pass

        def test_skipped(mockserver):
            pytest.skip("not today")

        def test_failing_otherwise(mockserver):
            assert 1 == 2

        def test_of_a_server_that_has_gone(mockserver, mockserver_server):
            mockserver_server.process.kill()
            mockserver_server.process.wait()
            with pytest.raises(httpx.TransportError):
                while True:
                    mockserver.client.get("/healthz")
        """
    )
    assert "2 failed, 3 passed, 1 skipped, 1 xfailed" in done.stdout, done.stdout
    assert "FAILED test_expected.py::test_unmet - Failed: rule 'never'" in done.stdout
    assert done.stdout.count("expected at least 1, fired 0 times") == 1
    assert (
        "mockserver timeline"
        in done.stdout.partition("_ test_unmet _")[2].partition("_ test_failing_otherwise _")[0]
    )


def test_a_report_shows_the_line_of_the_test_and_nothing_of_the_plugin(run: Run) -> None:
    done = run(
        test_hidden="""
        import pytest

        def test_verified(mockserver):
            mockserver.verify("charge.refund")

        def test_waited(mockserver):
            mockserver.wait_for(inbox="shop", timeout=0.01)

        def test_refused(mockserver):
            mockserver.wait_for(inbox=5)

        @pytest.mark.mockserver(scenario="version: 1\\nruels: []")
        def test_not_set_up(mockserver):
            pass
        """
    )
    assert "3 failed, 1 error" in done.stdout, done.stdout
    assert "mockserver/remote.py" not in done.stdout
    assert "mockserver/pytest_plugin.py" not in done.stdout
    assert "VerificationFailed: charge.refund: wanted at least 1, got 0" in done.stdout
    assert 'For.inbox: wanted an object of tests, such as "shop" or {"name": "shop"}' in done.stdout
    assert "did you mean 'rules'?" in done.stdout


def test_server_options_are_given_by_overriding_a_fixture(run: Run) -> None:
    done = run(
        conftest="""
        import pytest

        @pytest.fixture(scope="session")
        def mockserver_args():
            return ["--strict"]
        """,
        test_strict="""
        def test_unknown_fields_are_refused(mockserver):
            answer = mockserver.client.post("/charge/card", json={**CHARGE, "amuont": 1})
            assert (answer.status_code, answer.json()["code"]) == (400, 90)
        """,
    )
    assert passed(done) == 1, done.stdout


def test_a_server_that_cannot_start_says_why(run: Run) -> None:
    done = run(
        conftest="""
        import pytest

        @pytest.fixture(scope="session")
        def mockserver_args():
            return ["--profile", "sdkk"]
        """,
        test_never="""
        def test_never(mockserver):
            pass
        """,
    )
    assert done.returncode == 1
    assert "ended with exit code 2" in done.stdout
    assert "--profile: got 'sdkk', allowed: documented or sdk; nearest: sdk" in done.stdout


def test_wrong_markers_are_refused(run: Run) -> None:
    markers = {
        "scenaro='x'": "allowed: scenario, profile, clock, allow, survives, books; nearest: "
        "scenario",
        "profile='sdkk'": "profile: got 'sdkk', allowed: documented, sdk; nearest: sdk",
        "'declines'": "give its arguments by name",
        "scenario='no-such-file.yaml'": "no scenario file no-such-file.yaml in ",
        "scenario='test-valuez'": "did you mean 'test-values'?",
        "survives=['lost_anser']": "survives: got 'lost_anser', which is not a fault - did you "
        "mean 'lost_answer'",
        "survives='lost_answer'": "survives: got 'lost_answer', wanted a list of faults",
    }
    tests = [
        f"@pytest.mark.mockserver({marker})\ndef test_{number}(mockserver):\n    pass\n"
        for number, marker in enumerate(markers)
    ]
    done = run(test_wrong="import pytest\n" + "".join(tests))
    assert f"{len(markers)} errors" in done.stdout
    assert [words for words in markers.values() if words not in done.stdout] == []


def test_an_unknown_level_of_findings_is_refused(run: Run) -> None:
    done = run("-o", "mockserver_findings=none", test_never="def test_never():\n    pass\n")
    assert done.returncode == 4
    assert (
        "mockserver_findings: got 'none', allowed: off, note, warning, error; nearest: note"
        in done.stderr
    )


def test_workers_of_xdist_have_a_server_each(run: Run, tmp_path: Path) -> None:
    done = run(
        "-p",
        "xdist.plugin",
        *warm.workers(2),
        test_many="""
        import os, pytest

        @pytest.mark.parametrize("number", range(6))
        def test_charge(mockserver, number):
            assert mockserver.client.post("/charge/card", json=CHARGE).status_code == 201
            assert mockserver.client.get("/charge").json()["count"] == 1
            with open(f"{os.environ['PYTEST_XDIST_WORKER']}.txt", "a") as file:
                print(mockserver.url, file=file)
        """,
    )
    assert "6 passed" in done.stdout, done.stdout
    urls = [set(path.read_text().split()) for path in tmp_path.glob("gw*.txt")]
    assert [len(found) for found in urls] == [1] * len(urls)
    assert len(set.union(*urls)) == len(urls)


def test_loading_the_plugin_imports_nothing_but_pytest() -> None:
    program = """if True:
        import pytest, sys
        before = set(sys.modules)
        import mockserver.pytest_plugin
        print(*set(sys.modules) - before)
    """
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert {
        name
        for name in done.stdout.split()
        if name.partition(".")[0] not in sys.stdlib_module_names
    } == {
        "mockserver",
        "mockserver.domain",
        "mockserver.domain.record",
        "mockserver.pytest_findings",
        "mockserver.pytest_plugin",
        "mockserver.version",
    }


@pytest.mark.skipif(sys.platform == "win32", reason="processes are looked up in /proc")
@pytest.mark.parametrize("end", ["sys.exit", "os._exit"])
def test_the_server_ends_with_the_run_however_that_ends(run: Run, tmp_path: Path, end: str) -> None:
    run(
        test_end=f"""
        import os, sys

        def test_end(mockserver, mockserver_server):
            open("pid", "w").write(str(mockserver_server.process.pid))
            {end}(3)
        """
    )
    pid = int((tmp_path / "pid").read_text())
    assert ended(pid)


def ended(pid: int, within: float = 10.0) -> bool:
    """Whether a process is gone, or becomes so in time."""
    descriptor = None
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    import select

    try:
        return bool(select.select([descriptor], [], [], within)[0])
    finally:
        os.close(descriptor)


BLIND = """
    import httpx
    import pytest

    LOST = "charged-but-unanswered"

    def pay(sandbox):
        body = {**CHARGE, "reference": "order-5"}
        for _ in range(2):
            try:
                return sandbox.client.post("/charge/card", json=body)
            except httpx.TransportError:
                continue
"""


def test_findings_fail_the_test_that_has_them(run: Run) -> None:
    done = run(
        test_shop=BLIND
        + """
    @pytest.mark.mockserver(scenario=LOST)
    def test_blind(mockserver):
        assert pay(mockserver).status_code == 201
        assert [row["finding"] for row in mockserver.findings("error")] == ["double-charge"]

    @pytest.mark.mockserver(scenario=LOST, allow=["double-charge"])
    def test_allowed(mockserver):
        pay(mockserver)

    def test_clean(mockserver):
        pay(mockserver)
        """
    )
    assert "1 failed, 2 passed" in done.stdout, done.stdout
    assert "error double-charge: The customer was charged twice" in done.stdout
    assert "advice: After a lost answer search for the charge" in done.stdout
    assert "POST /charge/card  201  fault reset at answer" in done.stdout
    assert "1 double-charge, 2 blind-retry" in done.stdout
    assert "ERROR" not in done.stdout


@pytest.mark.parametrize(
    ("level", "outcome"), [("off", "1 passed"), ("error", "1 passed"), ("warning", "1 failed")]
)
def test_the_level_of_findings_is_chosen(run: Run, level: str, outcome: str) -> None:
    done = run(
        f"--mockserver-findings={level}",
        test_shop="""
        def test_reserved(mockserver):
            mockserver.client.post("/charge/card", json={**CHARGE, "capture": False})
        """,
    )
    assert outcome in done.stdout, done.stdout
    assert ("1 authorisation-forgotten, 1 no-reference" in done.stdout) is (level != "off")


def test_a_finding_that_nobody_knows_cannot_be_allowed(run: Run) -> None:
    done = run(
        test_shop="""
        import pytest

        @pytest.mark.mockserver(allow=["double-charg"])
        def test_pay(mockserver):
            pass
        """
    )
    assert (
        "allow: got 'double-charg', wanted the name of a finding - did you mean 'double-charge'?"
        in done.stdout
    )


def test_an_application_that_is_started_once_is_judged_test_by_test(run: Run) -> None:
    done = run(
        test_shop=BLIND
        + """
    @pytest.fixture(scope="session")
    def shop(mockserver_session):
        mockserver_session.scenario(LOST)
        return mockserver_session.url, mockserver_session.secret_key

    def test_blind(shop, mockserver_app):
        pay(mockserver_app)

    def test_clean(shop, mockserver_app):
        assert shop[1] == mockserver_app.secret_key
        assert mockserver_app.findings() == []
        mockserver_app.client.get("/charge")
        mockserver_app.verify(op="charge.search", count=1)
        mockserver_app.verify(op="charge.create", count={"exactly": 0})
        """
    )
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    assert "FAILED test_shop.py::test_blind" in done.stdout


def test_the_summary_names_each_test_whose_scenario_did_nothing(run: Run) -> None:
    done = run(
        test_one="""
    import pytest

    @pytest.mark.mockserver(scenario="three-ds-passed")
    @pytest.mark.parametrize("amount", [99, 100])
    def test_pays(mockserver, amount):
        mockserver.client.post("/charge/card", json={**CHARGE, "amount": amount, "reference": "r"})
        mockserver.clock.advance("1h")
    """
    )
    assert done.returncode == 0, done.stdout
    told = [line for line in done.stdout.splitlines() if "no rule" in line]
    assert told == [
        "test_one.py::test_pays[99]: no rule of three-ds-passed fired: it waits for amount >= 100"
    ]
