"""The recipes for CI, containers and test runners, run in a folder that has what they ask for.

A Makefile with a naive shop stands for the reader's, `pip` finds everything installed, and a
container is a process with the environment that its image and its recipe give it. Of Cypress, which
downloads a browser of its own, the configuration is read.
"""

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import yaml

from tests import needs, warm
from tests.container_engine import engine
from tests.test_docs import TEXTS, shown
from tests.test_packaging import IMAGE
from tools import docs

RUN, CONTAINERS = (TEXTS[docs.ROOT / "docs" / name] for name in ("run.md", "containers.md"))
USES, SERVES, GITHUB, INCLUDES, GITLAB, HOOKED = (
    yaml.safe_load(text) for text in shown("yml", RUN)
)
COMPOSE, STORED, GITHUB_SERVICE, GITLAB_SERVICE = (
    yaml.safe_load(text) for text in shown("yaml", CONTAINERS)
)
VITEST, PLAYWRIGHT, CYPRESS = shown("js", RUN)
READ = {
    "Python": (
        f"{sys.executable} -m pip install --quiet --target libraries testcontainers",
        f"{sys.executable} recipe",
        shown("python", CONTAINERS)[0]
        + "    from urllib.request import urlopen\n    print(urlopen(url + "
        "'/readyz').read().decode())\n",
    ),
    "Node": (
        "npm install --no-audit --no-fund --silent --ignore-scripts --prefix . testcontainers@11",
        "node --experimental-default-type=module recipe",
        shown("js", CONTAINERS)[0]
        + "console.log(await (await fetch(`${url}/readyz`)).text());\nawait sandbox.stop();\n",
    ),
}
"""What installs Testcontainers, what runs a recipe, and the recipe with a look at the sandbox."""
NODE = docs.ROOT / "clients" / "node"
SCRIPTS = {
    "GitHub Actions": [
        step["run"] for step in GITHUB["jobs"]["checkout"]["steps"] if "run" in step
    ],
    "GitLab": GITLAB["checkout"]["script"],
}
MAKEFILE = """
test:
\tsh pay.sh
books:
\techo '[{"reference": "order-5", "paid": $(PAID)}]'
"""
PAY = """
pay() {
    curl -s --fail "${PAYMENTS_URL:-$MOCKSERVER_URL}/charge/card" -o /dev/null \\
        -H "x-secretkey: ${PAYMENTS_KEY:-$MOCKSERVER_SECRET_KEY}" --json '{
      "amount": 20, "reference": "order-5", "providerId": "a26c371f-94f6-40da-add2-28ec8e9da8ed",
      "paymentInformation": {"cardNumber": "4111111111111111", "expiryDate": "12/40", "ccv": "123"}}'
}
pay || pay
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with the shop's Makefile, and the programs that its recipes install."""
    needs.find_program("make")
    needs.find_program("curl")
    programs = {
        "mockserver": f'exec {shlex.join(warm.python())} -m mockserver "$@"',
        "pip": 'test "$*" = "install vendor/*.whl"',
    }
    for name, text in programs.items():
        file = tmp_path / "bin" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)
    (tmp_path / "Makefile").write_text(MAKEFILE)
    (tmp_path / "pay.sh").write_text(PAY)
    return tmp_path


def environment(project: Path, given: Mapping[str, str]) -> dict[str, str]:
    """The variables of a job: its programs come first."""
    path = os.pathsep.join([str(project / "bin"), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "PYTHONPATH": str(docs.ROOT), **given}


def done(project: Path, command: str, **given: str) -> subprocess.CompletedProcess[str]:
    """A command of a recipe, as a runner of CI gives it to the shell."""
    words = ["bash", "-e", "-c", command]
    environ = environment(project, given)
    return subprocess.run(
        words, cwd=project, env=environ, capture_output=True, text=True, timeout=180
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize(
    ("paid", "scenario", "finding"),
    [
        ("20", "", ""),
        ("30", "", "amount-differs"),
        ("40", "--scenario charged-but-unanswered", "double-charge"),
    ],
)
def test_a_job_shows_what_its_shop_did_wrong(
    name: str, paid: str, scenario: str, finding: str, project: Path
) -> None:
    *others, last = SCRIPTS[name]
    assert others
    for command in others:
        assert done(project, command).returncode == 0
    summary = project / "summary"
    last = last.replace("mockserver run", f"mockserver run {scenario}")
    found = done(project, last, PAID=paid, GITHUB_STEP_SUMMARY=str(summary))
    assert found.returncode == (1 if finding else 0), found.stderr
    if name == "GitHub Actions":
        assert (f"::error title={finding}" in found.stdout) == bool(finding)
        assert (finding or "no findings") in summary.read_text()
    else:
        report = (project / "findings.xml").read_text()
        assert ("<failure" in report) == bool(finding)
        assert finding in report


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def container(project: Path, given: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """A process with the environment of a container of the image; the variables by which it is
    found."""
    of_image = dict(re.findall(r"(MOCKSERVER_\w+)=(\S+)", IMAGE))
    own = {
        "HOST": "127.0.0.1",
        "PORT": str(free_port()),
        "SCENARIO": str(project),
        "DATA_DIR": str(project / "data"),
    }
    environ = environment(
        project, {**of_image, **given, **{f"MOCKSERVER_{name}": text for name, text in own.items()}}
    )
    process = subprocess.Popen(["mockserver"], cwd=project, env=environ, stdout=subprocess.DEVNULL)
    try:
        yield environ
    finally:
        process.terminate()
        process.wait()


JOB = GITHUB_SERVICE["jobs"]["test"]
GIVEN: Mapping[str, tuple[Mapping[str, str], Mapping[str, str], str]] = {
    "Compose": (
        COMPOSE["services"]["mockserver"]["environment"],
        COMPOSE["services"]["shop"]["environment"],
        "make test",
    ),
    "GitHub Actions": (JOB["services"]["mockserver"]["env"], {}, JOB["steps"][-1]["run"]),
    "GitLab": (
        GITLAB_SERVICE["test"]["variables"],
        GITLAB_SERVICE["test"]["variables"],
        GITLAB_SERVICE["test"]["script"][0],
    ),
}
"""What a recipe gives the sandbox, what it gives the shop, and the command of the shop's tests."""


@pytest.mark.slow
@pytest.mark.parametrize("name", GIVEN)
def test_a_shop_reaches_the_sandbox_in_the_container_beside_it(name: str, project: Path) -> None:
    sandbox, shop, command = GIVEN[name]
    check = " ".join(COMPOSE["services"]["mockserver"]["healthcheck"]["test"][1:])
    with container(
        project, {key: text for key, text in sandbox.items() if key.startswith("MOCKSERVER_")}
    ) as environ:
        port = environ["MOCKSERVER_PORT"]
        ready = done(project, f"{check} --within 20", MOCKSERVER_PORT=port)
        assert ready.returncode == 0, ready.stderr
        # The names of containers and the port of the image are those of this process here.
        local = re.compile(r"//[a-z]+:4111")
        variables = {key: local.sub(f"//127.0.0.1:{port}", text) for key, text in shop.items()}
        tested = done(project, local.sub(f"//127.0.0.1:{port}", command), **variables)
        assert tested.returncode == 0, tested.stderr
        named = httpx.get(
            f"http://127.0.0.1:{port}/charge",
            headers={"host": "mockserver:4111", "x-secretkey": key_of(name)},
        )
        assert named.json()["count"] == 1
    assert done(project, check, MOCKSERVER_PORT=port).returncode == 5


@pytest.mark.slow
def test_a_store_on_a_volume_outlives_the_container(project: Path) -> None:
    [recipe] = STORED["services"].values()
    [volume] = recipe["volumes"]
    assert volume.split(":") == [*STORED["volumes"], "/data"]
    folder = project / "volume"
    folder.mkdir()
    store = recipe["environment"]["MOCKSERVER_STORE"].replace("/data", str(folder))
    check = " ".join(COMPOSE["services"]["mockserver"]["healthcheck"]["test"][1:])
    for count in (1, 2):
        with container(project, {"MOCKSERVER_STORE": store}) as environ:
            port = environ["MOCKSERVER_PORT"]
            assert done(project, f"{check} --within 20", MOCKSERVER_PORT=port).returncode == 0
            paid = {"MOCKSERVER_URL": f"http://127.0.0.1:{port}", "MOCKSERVER_SECRET_KEY": "sk_qa"}
            assert done(project, "make test", **paid).returncode == 0
            kept = httpx.get(f"http://127.0.0.1:{port}/charge", headers={"x-secretkey": "sk_qa"})
            assert kept.json()["count"] == count


def key_of(name: str) -> str:
    """The key with which the shop of a recipe has paid."""
    _, shop, command = GIVEN[name]
    return shop.get("PAYMENTS_KEY") or command.rpartition("PAYMENTS_KEY=")[2]


@pytest.fixture
def node_project(project: Path) -> Path:
    """The same for Node, with the packages that the client's own tests use, and the shop of
    tests/e2e."""
    needs.find_program("npx")
    if not (NODE / "node_modules").exists():
        pytest.skip("needs node_modules, which clients/run installs")
    modules = project / "node_modules"
    modules.mkdir()
    for package in (*(NODE / "node_modules").iterdir(), NODE):
        (modules / ("payfurl-mockserver" if package == NODE else package.name)).symlink_to(package)
    shutil.copy(docs.ROOT / "tests" / "e2e" / "node_shop" / "shop.mjs", project)
    (project / "package.json").write_text(json.dumps({"scripts": {"start": "node shop.mjs"}}))
    return project


@pytest.mark.slow
def test_vitest_has_one_server_for_all_workers(node_project: Path) -> None:
    (node_project / "vitest.config.mjs").write_text(VITEST)
    test = (
        'import { expect, test } from "vitest";\nimport { mockserver } from "payfurl-mockserver";\n'
        'test("empty", mockserver(async (sandbox) => { console.log(`at ${sandbox.url}`);'
        ' expect((await (await sandbox.fetch("/charge")).json()).count).toBe(0); }));\n'
    )
    for number in (1, 2):
        (node_project / f"test{number}.test.mjs").write_text(test)
    found = done(node_project, "npx vitest run --no-color")
    assert found.returncode == 0, found.stdout + found.stderr
    assert "2 passed" in found.stdout
    assert len(re.findall(r"^at http", found.stdout, re.MULTILINE)) == 2
    assert len(set(re.findall(r"^at http\S+", found.stdout, re.MULTILINE))) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("amount", "code"), [("20.00", 0), ("0", 1)])
def test_playwright_starts_server_and_shop_and_stops_them(
    amount: str, code: int, node_project: Path
) -> None:
    ports = {"4111": str(free_port()), "3000": str(free_port())}
    config = re.sub("4111|3000", lambda found: ports[found[0]], PLAYWRIGHT)
    (node_project / "playwright.config.mjs").write_text(config)
    (node_project / "pays.spec.mjs").write_text(
        'import { expect, test } from "@playwright/test";\ntest("pays", async ({ request }) => {'
        f"\n  expect(await (await "
        f'request.get("/orders/order-1?amount={amount}")).text()).toBe("paid\\n");\n}});\n'
    )
    found = done(node_project, "npx playwright test --reporter=line")
    assert found.returncode == code, found.stdout + found.stderr
    assert f"1 {'failed' if code else 'passed'}" in found.stdout
    for port in ports.values():
        with pytest.raises(httpx.TransportError):
            httpx.get(f"http://127.0.0.1:{port}/")


STAND_IN = """
const { env } = require("./cypress.config.js");
const headers = { "x-secretkey": env.secretKey };
fetch(`${env.paymentsUrl}/charge`, { headers }).then((answer) => process.exit(answer.ok ? 0 : 1));
"""


@pytest.mark.slow
def test_the_configuration_of_cypress_says_where_the_sandbox_is(project: Path) -> None:
    needs.find_program("node")
    (project / "cypress.config.js").write_text(CYPRESS)
    package = project / "node_modules" / "cypress"
    package.mkdir(parents=True)
    (package / "index.js").write_text("exports.defineConfig = (given) => given;\n")
    (project / "stand_in.js").write_text(STAND_IN)
    found = done(project, "mockserver run -- node stand_in.js")
    assert found.returncode == 0, found.stderr
    # Outside of `mockserver run` there is no sandbox to be found.
    assert done(project, "node stand_in.js").returncode != 0


@pytest.mark.slow
@needs.DEEP
@pytest.mark.parametrize("name", READ)
def test_testcontainers_starts_and_stops_the_sandbox(name: str, project: Path) -> None:
    install, command, text = READ[name]
    (project / "package.json").write_text("{}")
    needs.find_program(install.split()[0])
    if done(project, install).returncode != 0:
        pytest.skip("needs Testcontainers, which cannot be installed")
    (project / "recipe").write_text(text)
    with engine() as (address, its):
        given = {
            "DOCKER_HOST": address,
            "DOCKER_CONFIG": str(project),
            "TESTCONTAINERS_RYUK_DISABLED": "true",
        }
        paths = os.pathsep.join([str(project / "libraries"), str(docs.ROOT)])
        found = done(project, command, **given, PYTHONPATH=paths)
        assert (found.returncode, its.strange) == (0, []), found.stderr
        assert found.stdout.strip().endswith('{"status":"ready"}')
        (container,) = its.containers.values()
        assert "MOCKSERVER_SEED=42" in container.asked["Env"]
        assert not container.shown()["State"]["Running"]
