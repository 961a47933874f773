"""Runs the tests of the clients and compares them with the contract, situation by situation.

python clients/check.py [CLIENT ...]     say what does not hold; exit code 1 when anything does not
python clients/check.py --write ...      write what holds into clients/results.csv, which
                                         docs/client-libraries.md shows
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import urlopen
from xml.etree import ElementTree

import yaml

FOLDER = Path(__file__).resolve().parent
RESULTS = FOLDER / "results.csv"
SITUATIONS: Sequence[Mapping[str, Any]] = yaml.safe_load(
    (FOLDER / "contract.yaml").read_text("utf-8")
)
SECONDS = 240
TELL, DIES = "CONTRACT_TELL", "CONTRACT_DIES"


def slug(name: str) -> str:
    """A name as every language can write it: ``a finding fails`` is ``aFindingFails`` and
    ``a_finding_fails``."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


@dataclass(frozen=True)
class Seen:
    """How a framework reported a test."""

    failed: bool
    text: str


def junit(report: Path) -> Iterator[tuple[str, Seen]]:
    """The tests of reports in the form of JUnit."""
    for file in sorted(report.rglob("*.xml")) if report.is_dir() else [report]:
        for case in ElementTree.parse(file).iter("testcase"):
            bad = [one for one in case if one.tag in ("failure", "error")]
            text = "\n".join(f"{one.get('message') or ''}\n{one.text or ''}" for one in bad)
            text += "\n".join(one.text or "" for one in case if one.tag.startswith("system"))
            yield (
                (case.get("name") or "")
                .partition("(")[0]
                .removeprefix("test")
                .split(" \u203a ")[-1],
                Seen(bool(bad), text),
            )


def jest(report: Path) -> Iterator[tuple[str, Seen]]:
    """The tests of a report of Jest."""
    for file in json.loads(report.read_text("utf-8"))["testResults"]:
        for one in file["assertionResults"]:
            yield one["title"], Seen(one["status"] == "failed", "\n".join(one["failureMessages"]))


def nunit(report: Path) -> Iterator[tuple[str, Seen]]:
    """The tests of a report of NUnit 2."""
    for case in ElementTree.parse(report).iter("test-case"):
        text = "".join(case.itertext())
        yield (
            case.attrib["name"].rsplit(".", 1)[-1],
            Seen(case.get("result") not in ("Success", "Ignored"), text),
        )


@dataclass(frozen=True)
class Client:
    """A framework: its folder, the command that runs its tests, ``{report}`` and ``{name}`` filled
    in, and what reads its report. ``variables`` are for its environment."""

    folder: str
    command: str
    read: Callable[[Path], Iterator[tuple[str, Seen]]]
    variables: Mapping[str, str]


CLIENTS = {
    "node:test": Client(
        "node",
        "node --test --test-reporter=junit "
        "--test-reporter-destination={report}"
        " --test-name-pattern={name} test/node.test.mjs",
        junit,
        {},
    ),
    "Vitest": Client(
        "node", "npx vitest run --reporter=junit --outputFile={report} -t {name}", junit, {}
    ),
    "Jest": Client(
        "node",
        "npx jest --json --outputFile={report} -t {name}",
        jest,
        {"NODE_OPTIONS": "--experimental-vm-modules --no-warnings"},
    ),
    "Playwright Test": Client(
        "node",
        "npx playwright test --reporter=junit -g {name} test/contract.spec.mjs",
        junit,
        {"PLAYWRIGHT_JUNIT_OUTPUT_FILE": "{report}"},
    ),
    "PHPUnit": Client("php", "phpunit --log-junit {report} --filter {name}", junit, {}),
    "JUnit 5": Client("java", "sh test.sh {report} {camel}", junit, {}),
    "NUnit": Client("dotnet", "sh test.sh {report} {camel}", nunit, {}),
}


class OldServer(BaseHTTPRequestHandler):
    """Answers as a mockserver of long ago."""

    def do_GET(self) -> None:
        """Every request."""
        body = b'{"status":"alive","version":"0.0.1"}'
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def servers() -> Iterator[Mapping[str, str]]:
    """The addresses of an old server and of one that runs already."""
    old = ThreadingHTTPServer(("127.0.0.1", 0), OldServer)
    threading.Thread(target=old.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        port = Path(folder) / "port"
        words = [*mockserver(), "serve", "--tether", "--port", "0", "--port-file", str(port)]
        running = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        until(port.exists)
        try:
            yield {
                "path": f"{_found_by_name(Path(folder))}{os.pathsep}{os.environ['PATH']}",
                "old": f"http://127.0.0.1:{old.server_port}",
                "server": f"http://127.0.0.1:{port.read_text().strip()}",
            }
        finally:
            running.kill()
            running.wait()
            old.shutdown()


def _found_by_name(folder: Path) -> Path:
    """A folder that holds the command ``mockserver``."""
    program = folder / "mockserver"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(mockserver())} "$@"\n')
    program.chmod(0o755)
    return folder


def mockserver() -> list[str]:
    """The command that the clients start too."""
    return os.environ["MOCKSERVER_COMMAND"].split()


def until(holds: Callable[[], bool], seconds: float = 60) -> bool:
    """Wait until something holds; whether it does."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def started(
    client: Client, folder: Path, name: str, variables: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """The tests of a client whose names fit, as a process with a session of its own."""
    report = str(folder / "report.xml")
    given = {"report": report, "name": pattern(name), "camel": camel(name)}
    words = [word.format(**given) for word in client.command.split()]
    environ = {
        key: value for key, value in os.environ.items() if key != "MOCKSERVER_URL" and key != "CI"
    }
    own = {key: value.format(report=report) for key, value in client.variables.items()}
    with (folder / "printed").open("wb") as printed:
        return subprocess.Popen(
            words,
            cwd=FOLDER / client.folder,
            env={**environ, **own, **variables},
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def run(client: Client, name: str, variables: Mapping[str, str]) -> tuple[dict[str, Seen], str]:
    """Run the tests whose names fit: how each was reported, by slug, and what the framework
    printed."""
    with tempfile.TemporaryDirectory() as folder:
        process = started(client, Path(folder), name, variables)
        process.wait(SECONDS)
        printed = (Path(folder) / "printed").read_text("utf-8", "replace")
        report = Path(folder) / "report.xml"
        found = dict(client.read(report)) if report.exists() else {}
        return {slug(test): seen for test, seen in found.items()}, printed


def fault(situation: Mapping[str, Any], seen: Seen | None, printed: str) -> str:
    """Why a situation does not hold; empty when it does."""
    if seen is None:
        return "has no such test"
    if seen.failed != (situation["ends"] == "failed"):
        return f"wanted {situation['ends']}: {seen.text[:600]}"
    # Some frameworks print what they do not report.
    text = seen.text if any(word in seen.text for word in situation.get("says", ())) else printed
    missing = [word for word in situation.get("says", ()) if word not in text]
    if missing:
        return f"does not say {', '.join(missing)}: {text[:600]}"
    if wrong := [word for word in situation.get("never", ()) if word in seen.text]:
        return f"says {', '.join(wrong)}"
    return ""


def killed(client: Client, name: str) -> str:
    """Whether the server ends when the run of its test is killed."""
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "url"
        process = started(client, Path(folder), name, {TELL: str(told)})
        if not until(lambda: told.exists() and bool(told.read_text())):
            os.killpg(process.pid, signal.SIGKILL)
            return "its test did not begin: " + (Path(folder) / "printed").read_text()[-600:]
        url = told.read_text()
        if not answers(url):
            return "the server did not answer while the test ran"
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return "" if until(lambda: not answers(url), 20) else f"the server at {url} still answers"


def answers(url: str) -> bool:
    """Whether a server answers."""
    try:
        return bool(urlopen(f"{url}/healthz", timeout=5).status == 200)
    except OSError:
        return False


def pattern(name: str) -> str:
    """What all frameworks take for a test's name: blanks, capitals and underscores are alike."""
    return ".*".join(re.findall(r"[a-z]+", name[1:])) if name else "."


def camel(name: str) -> str:
    """The name of a method in Java; empty for all."""
    first, *others = re.findall(r"[a-z]+", name) or [""]
    return first + "".join(map(str.capitalize, others))


def checked(client: Client, given: Mapping[str, str]) -> dict[str, str]:
    """What does not hold of each situation; empty for what does."""
    together, printed = run(client, "", {})
    found = {}
    for situation in SITUATIONS:
        name = situation["name"]
        if situation.get("kill"):
            found[name] = killed(client, name)
        elif situation.get("others"):
            found[name] = "; ".join(
                f"{test}: {seen.text[:600]}"
                for test, seen in others(together).items()
                if seen.failed
            )
        elif situation.get("alone"):
            test = situation.get("runs", name)
            variables = {
                key: value.format(**given)
                for key, value in situation.get("environment", {}).items()
            }
            alone, said = run(client, test, {DIES: "1", **variables})
            found[name] = fault(situation, alone.get(slug(test)) or unreported(said), said)
        else:
            found[name] = fault(situation, together.get(slug(name)), printed)
    return found


def others(found: Mapping[str, Seen]) -> dict[str, Seen]:
    """The tests that are no situation of the contract."""
    situations = {slug(situation["name"]) for situation in SITUATIONS}
    return {test: seen for test, seen in found.items() if test not in situations}


def unreported(printed: str) -> Seen | None:
    """A run that failed before its first test."""
    return Seen(True, printed) if "mockserver" in printed else None


def main() -> int:
    """Check the clients that are named, or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help=", ".join(CLIENTS))
    parser.add_argument("--write", action="store_true", help="write the results")
    chosen = parser.parse_args()
    os.environ.setdefault("MOCKSERVER_COMMAND", f"{sys.executable} -m mockserver")
    with RESULTS.open(encoding="utf-8") as file:
        known = {row["situation"]: row for row in csv.DictReader(file)}
    wrong = 0
    with servers() as given:
        for name in chosen.clients or CLIENTS:
            for situation, why in checked(CLIENTS[name], given).items():
                known.setdefault(situation, {"situation": situation})
                if chosen.write:
                    known[situation][name] = "no" if why else "yes"
                elif bool(why) != (known[situation].get(name) != "yes"):
                    why = why or "holds, and clients/results.csv says that it does not"
                    wrong += 1
                print(f"{name}: {situation}: {why or 'holds'}", flush=True)
    if chosen.write:
        with RESULTS.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(
                file, ["situation", *CLIENTS], restval="no", lineterminator="\n"
            )
            writer.writeheader()
            writer.writerows(known[one["name"]] for one in SITUATIONS)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
