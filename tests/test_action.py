"""The action for GitHub Actions, the hook of pre-commit and the template of GitLab, each done as
its runner does it.

A runner gives every step of a composite action a file for each thing that a step may say, and what
a step has said counts for those after it. Packages are not asked for from an index: pip finds what
the checkout needs where the tests run.
"""

import os
import re
import shlex
import subprocess
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from mockserver import __version__
from tests import needs, warm
from tests.test_recipes import HOOKED, INCLUDES, MAKEFILE, SERVES, USES
from tests.test_recipes import PAY as PAY_SH
from tools import docs

ACTION: Any = yaml.safe_load((docs.ROOT / "action.yml").read_text("utf-8"))
HOOKS: Any = yaml.safe_load((docs.ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
TEMPLATE_SPEC, TEMPLATE = yaml.safe_load_all(
    (docs.ROOT / "templates" / "mockserver.yml").read_text("utf-8")
)
EXPRESSION = re.compile(r"\$\{\{ ([\w.-]+) \}\}")
INPUT = re.compile(r"\$\[\[ inputs\.(\w+) \]\]")
LINES_OF_FILES = ("GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STEP_SUMMARY")
PAY = """curl -s --fail "$MOCKSERVER_URL/charge/card" -o /dev/null \\
  -H "x-secretkey: $MOCKSERVER_SECRET_KEY" --json '{
    "amount": 20, "reference": "order-5", "providerId": "a26c371f-94f6-40da-add2-28ec8e9da8ed",
    "paymentInformation": {"cardNumber": "4111111111111111", "expiryDate": "12/40", "ccv": "123"}}'
"""
TWICE = f"pay() {{\n{PAY}}}\npay || pay\n"
BOOKS = """echo '[{"reference": "order-5", "paid": %s}]'"""


class Runner:
    """A job on a runner: its folders and what its steps have said so far."""

    def __init__(self, folder: Path, mockserver: str | None = None) -> None:
        self.folder = folder
        self.temp = folder / "temp"
        self.temp.mkdir()
        self.env: dict[str, str] = {}
        self.paths: list[str] = []
        self.summary = ""
        if mockserver is not None:
            installed = self.temp / "mockserver" / "bin" / "mockserver"
            installed.parent.mkdir(parents=True)
            installed.write_text(f'#!/bin/sh\nexec {mockserver} "$@"\n')
            installed.chmod(0o755)

    def uses(self, **given: str) -> tuple[int, str, dict[str, str]]:
        """A step of a workflow that uses the action: its exit code, what it printed, its outputs.
        ``given`` are inputs, a hyphen of a name is an underscore."""
        inputs = {name: row["default"] for name, row in ACTION["inputs"].items()}
        asked = {name.replace("_", "-"): text for name, text in given.items()}
        assert asked.keys() <= inputs.keys()
        values = {f"inputs.{name}": text for name, text in {**inputs, **asked}.items()}
        printed = ""
        for step in ACTION["runs"]["steps"]:
            done, said = self._step(step, values)
            printed += done.stdout + done.stderr
            values |= {f"steps.{step.get('id')}.outputs.{name}": text for name, text in said}
            if done.returncode:
                return done.returncode, printed, {}
        outputs = {name: filled(row["value"], values) for name, row in ACTION["outputs"].items()}
        return 0, printed, outputs

    def runs(self, program: str, **env: str) -> subprocess.CompletedProcess[str]:
        """A step of a workflow with `run`."""
        script = self.folder / "step.sh"
        script.write_text(program)
        path = os.pathsep.join([*reversed(self.paths), os.environ["PATH"]])
        return subprocess.run(
            # What `shell: bash` means.
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(docs.ROOT), **self.env, "PATH": path, **env},
            capture_output=True,
            text=True,
            timeout=180,
        )

    def _step(
        self, step: Mapping[str, Any], values: Mapping[str, str]
    ) -> tuple[subprocess.CompletedProcess[str], list[tuple[str, str]]]:
        """A step of the action, and the outputs that it has set."""
        assert step["shell"] == "bash"
        files = {name: self.folder / name.lower() for name in LINES_OF_FILES}
        for file in files.values():
            file.write_text("")
        own = {name: filled(text, values) for name, text in step["env"].items()}
        places = {"GITHUB_ACTION_PATH": str(docs.ROOT), "RUNNER_TEMP": str(self.temp)}
        named = {name: str(file) for name, file in files.items()}
        done = self.runs(step["run"], **own, **places, **named)
        said = {name: file.read_text().splitlines() for name, file in files.items()}
        self.env |= dict(line.split("=", 1) for line in said["GITHUB_ENV"])
        self.paths += said["GITHUB_PATH"]
        self.summary += files["GITHUB_STEP_SUMMARY"].read_text()
        pairs = [line.split("=", 1) for line in said["GITHUB_OUTPUT"]]
        return done, [(name, text) for name, text in pairs]


def filled(text: str, values: Mapping[str, str]) -> str:
    """A text with its expressions worked out; an output that no step has set is empty."""
    for name in EXPRESSION.findall(text):
        assert name in values or name.startswith("steps."), name
    return EXPRESSION.sub(lambda found: values.get(found[1], ""), text)


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Runner]:
    """A job on which mockserver is installed already."""
    needs.find_program("curl")
    runner = Runner(tmp_path, f"{shlex.join(warm.python())} -m mockserver")
    yield runner
    pid = runner.temp / "mockserver" / "server" / "pid"
    if pid.exists():
        runner.uses(mode="judge")


def test_every_input_and_output_is_described_and_used() -> None:
    for row in (*ACTION["inputs"].values(), *ACTION["outputs"].values()):
        assert row["description"]
    text = (docs.ROOT / "action.yml").read_text("utf-8")
    used = {name.removeprefix("inputs.") for name in EXPRESSION.findall(text) if "inputs" in name}
    assert used == set(ACTION["inputs"])
    scripts = "".join(
        file.read_text("utf-8") for file in (docs.ROOT / "deploy/github-action").iterdir()
    )
    given = {name for step in ACTION["runs"]["steps"] for name in step["env"]}
    assert set(re.findall(r"INPUT_\w+", scripts)) == given


@pytest.mark.slow
@pytest.mark.parametrize(
    ("inputs", "code", "annotation"),
    [
        ({"command": PAY, "books": BOOKS % 20}, 0, ""),
        ({"command": PAY, "books": BOOKS % 30}, 1, "amount-differs"),
        ({"command": TWICE, "scenario": "\ncharged-but-unanswered\n"}, 1, "double-charge"),
        ({"command": PAY, "invariant": 'net("order-5") <= 10'}, 1, ""),
        ({"command": PAY + "exit 7"}, 7, ""),
    ],
    ids=["right", "books", "twice", "invariant", "exit"],
)
def test_run_judges_a_command(
    inputs: Mapping[str, str], code: int, annotation: str, job: Runner
) -> None:
    ended, printed, _ = job.uses(**inputs)
    assert ended == code, printed
    assert (f"::error title={annotation}" in printed) == bool(annotation)
    assert "| order-5 | 0.00 | " in job.summary
    assert annotation in job.summary
    assert ("no findings" in job.summary) == (code == 0)


@pytest.mark.slow
def test_serve_stays_for_the_steps_after_it_and_judge_ends_it(job: Runner) -> None:
    code, printed, outputs = job.uses(mode="serve", port="0", scenario="charged-but-unanswered")
    assert code == 0, printed
    assert (outputs["secret-key"], outputs["public-key"]) == ("sk_ci", "pk_ci")
    assert job.env["MOCKSERVER_URL"] == outputs["url"]
    assert job.runs(TWICE).returncode == 0
    code, printed, _ = job.uses(mode="judge", key="sk_other")
    assert (code, "wanted the one that serve was given" in printed) == (2, True)
    code, printed, _ = job.uses(mode="judge", books=BOOKS % 20)
    assert code == 1, printed
    assert "::error title=double-charge" in printed
    assert "::error title=taken-twice" in printed
    assert "| total | 0.00 | 40.00 | " in job.summary
    with pytest.raises(httpx.TransportError):
        httpx.get(outputs["url"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("steps", "code"), [(USES["jobs"]["checkout"]["steps"], 0), (SERVES["steps"], 1)]
)
def test_the_workflows_of_the_page_do_what_it_says(
    steps: list[dict[str, Any]], code: int, job: Runner
) -> None:
    needs.find_program("make")
    (job.folder / "Makefile").write_text(MAKEFILE)
    (job.folder / "pay.sh").write_text(PAY_SH)
    ended = []
    for step in steps:
        if "run" in step:
            assert job.runs(step["run"]).returncode == 0
        elif step["uses"].startswith("your-organisation/"):
            # The port of the page may be in use here.
            given = {"port": "0", **step["with"]}
            # What the books of the Makefile say.
            job.env["PAID"] = "20"
            ended.append(job.uses(**given)[0])
    assert ended[-1] == code
    assert "order-5" in job.summary


def test_recipes_name_this_version_and_the_hook_and_the_inputs_that_there_are() -> None:
    uses = [*USES["jobs"]["checkout"]["steps"], *SERVES["steps"]]
    named = [step["uses"] for step in uses if "mockserver@" in step.get("uses", "")]
    [included], [hooked] = INCLUDES["include"], HOOKED["repos"]
    tags = {name.partition("@")[2] for name in named} | {included["ref"], hooked["rev"]}
    assert tags == {f"v{__version__}"}
    assert [hook["id"] for hook in hooked["hooks"]] == [hook["id"] for hook in HOOKS]
    assert included["inputs"].keys() <= TEMPLATE_SPEC["spec"]["inputs"].keys()


@pytest.mark.slow
def test_a_right_client_of_serve_passes(job: Runner) -> None:
    assert job.uses(mode="serve", port="0")[0] == 0
    assert job.runs(PAY).returncode == 0
    code, printed, _ = job.uses(mode="judge", books=BOOKS % 20)
    assert (code, "::error" in printed) == (0, False), printed
    assert "no findings" in job.summary


@pytest.mark.slow
@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"mode": "walk"}, "mode: got 'walk', allowed: run, serve, judge, install"),
        ({}, "command: got nothing"),
        ({"command": " \n\t\n"}, "command: got nothing"),
        ({"mode": "judge"}, "wanted a step with serve before it"),
        ({"mode": "serve", "key": "pk_ci"}, "key: wanted a secret key"),
        ({"mode": "serve", "key": "sk_ci\nPATH=/tmp"}, "without blanks"),
        ({"mode": "serve", "port": "0", "scenario": "nothing-like-it"}, "did not start"),
    ],
)
def test_a_wrong_input_is_refused(inputs: Mapping[str, str], words: str, job: Runner) -> None:
    code, printed, _ = job.uses(**inputs)
    assert code == 2
    assert words in printed


@pytest.mark.slow
def test_the_checkout_is_installed_apart_from_the_python_of_the_job(tmp_path: Path) -> None:
    job = Runner(tmp_path)
    job.env = {
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",
        "PYTHONPATH": sysconfig.get_path("purelib"),
    }
    code, printed, _ = job.uses(mode="install")
    assert code == 0, printed
    assert [path.name for path in Path(job.paths[0]).iterdir()] == ["mockserver"]
    said = job.runs("command -v mockserver; mockserver version")
    assert said.stdout.startswith(f"{job.temp}/mockserver/bin/mockserver\n"), said.stderr
    library = job.temp / "mockserver" / "venv" / "lib"
    assert list(library.glob("python*/site-packages/mockserver/_scenarios/chaos.yaml"))
    # The second time in a job nothing is installed.
    assert job.uses(mode="install", package="   ")[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("package", ["", "  \n", "vendor/*.whl"])
def test_a_later_use_in_a_job_takes_the_package_that_is_installed(
    job: Runner, package: str
) -> None:
    (job.temp / "mockserver" / "package").write_text("vendor/*.whl")
    code, printed, _ = job.uses(mode="install", package=package)
    assert (code, printed) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "told"), [("vendor/*.whl", "vendor/*.whl"), ("", "the repository of the action")]
)
def test_a_later_use_in_a_job_with_another_package_is_refused(
    job: Runner, first: str, told: str
) -> None:
    (job.temp / "mockserver" / "package").write_text(first)
    code, printed, _ = job.uses(mode="install", package="/nowhere")
    assert code == 2
    assert (
        f"::error title=mockserver::package: got '/nowhere', but this job has installed '{told}'"
        in printed
    )


def checked_by_hook(folder: Path, *files: str) -> subprocess.CompletedProcess[str]:
    """What the hook says of those of a commit's files that are its own."""
    [hook] = HOOKS
    assert hook["language"] == "python"
    own = [file for file in files if re.search(hook["files"], file)]
    program, *words = hook["entry"].split()
    assert program == "mockserver"
    return subprocess.run(
        [*warm.python(), "-m", "mockserver", *words, *own],
        cwd=folder,
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
def test_the_hook_checks_the_scenarios_of_a_commit(tmp_path: Path) -> None:
    (tmp_path / "scenarios").mkdir()
    right = (docs.ROOT / "scenarios" / "first-scenario.yaml").read_text("utf-8")
    (tmp_path / "scenarios" / "right.yaml").write_text(right)
    (tmp_path / "scenarios" / "wrong.yml").write_text(
        "version: 1\nrules: [{when: {op: nothing}}]\n"
    )
    (tmp_path / "compose.yaml").write_text("services: {}\n")
    passed = checked_by_hook(tmp_path, "compose.yaml", "scenarios/right.yaml")
    assert passed.returncode == 0, passed.stderr
    refused = checked_by_hook(tmp_path, "scenarios/right.yaml", "scenarios/wrong.yml")
    assert refused.returncode == 2
    assert "scenarios/wrong.yml:2:" in refused.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("paid", "code"), [(20, 0), (30, 1)])
def test_the_template_of_gitlab_reports_what_a_shop_did_wrong(
    paid: int, code: int, job: Runner
) -> None:
    given = {"command": PAY, "books": BOOKS % paid, "options": "--profile documented"}
    rows = TEMPLATE_SPEC["spec"]["inputs"]
    inputs = {name: given.get(name, row.get("default")) for name, row in rows.items()}
    [(name, body)] = TEMPLATE.items()
    assert INPUT.sub(lambda found: inputs[found[1]], name) == "mockserver"
    variables = {
        key: INPUT.sub(lambda found: inputs[found[1]], text)
        for key, text in body["variables"].items()
    }
    programs = job.temp / "mockserver" / "bin"
    (programs / "pip").write_text("""#!/bin/sh\ntest "$*" = 'install vendor/*.whl'\n""")
    (programs / "pip").chmod(0o755)
    job.paths.append(str(programs))
    script = INPUT.sub(lambda found: inputs[found[1]], "\n".join(body["script"]))
    done = job.runs(script, **variables)
    assert done.returncode == code, done.stderr
    report = (job.folder / body["artifacts"]["reports"]["junit"]).read_text()
    assert ("amount-differs" in report and "<failure" in report) == bool(code)
