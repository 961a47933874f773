"""What a request costs without a server: CPU time of create, get and search through ``create_app``
in one process, as tests meet it that ask the application itself.

    python -m benchmarks.in_process [--rounds N] [--beside FOLDER]

``FOLDER`` is another checkout, measured in turn with this one: CPU time on a machine that others
use too is steady within a round, not from one to the next. Printed are the medians of all rounds,
and of their differences.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

from benchmarks.table import BODY

HERE = Path(__file__).resolve()
BLOCK = 100
"""Requests whose time is taken together."""

WARM = 3
"""Rounds before those that count."""

STORED = 64
"""Charges that are there before reads."""

HEADERS = {"host": "127.0.0.1:4111", "x-secretkey": "bench", "content-type": "application/json"}
RAW = json.dumps({**BODY, "Reference": "REFERENCE"}).encode().replace(b"REFERENCE", b"%b")
"""The body of a charge, with a place for its reference."""

Block: TypeAlias = Callable[[], None]
"""Asks as many requests of a kind as are measured at once."""


class Asking:
    """An application, and the requests that it is asked."""

    def __init__(self) -> None:
        from mockserver import Settings
        from mockserver.web.app import create_app
        from mockserver.web.request import call_app

        self._app, self._asked = create_app(Settings(journal_limit=1_000)), call_app
        self._created = 0
        answers = [self._post(b"ten-%d" % (number // 10)) for number in range(STORED)]
        self._ids = [json.loads(answer)["chargeId"] for answer in answers]

    def create(self) -> bytes:
        """A charge of its own reference."""
        self._created += 1
        return self._post(b"r-%d" % self._created)

    def _post(self, reference: bytes) -> bytes:
        return self._ask("POST", "/charge/card", raw=RAW % reference)

    def blocks(self) -> dict[str, Block]:
        """What is measured, by name."""
        return {
            "create": lambda: self._each(lambda number: self.create()),
            "get": lambda: self._each(
                lambda number: self._ask("GET", f"/charge/{self._ids[number % STORED]}")
            ),
            "search": lambda: self._each(
                lambda number: self._ask("GET", "/charge", b"Reference=ten-1")
            ),
        }

    def _each(self, ask: Callable[[int], bytes]) -> None:
        for number in range(BLOCK):
            ask(number)

    def _ask(self, method: str, path: str, query: bytes = b"", raw: bytes = b"") -> bytes:
        asking: Coroutine[Any, Any, Any] = self._asked(self._app, method, path, query, HEADERS, raw)
        try:
            # Nothing waits, so no loop is needed.
            asking.send(None)
        except StopIteration as ended:
            answer = ended.value
            if answer.status >= 400:
                raise RuntimeError(f"{method} {path} answered {answer.status}") from None
            found: bytes = answer.raw
            return found
        raise RuntimeError(f"{method} {path} waits")


def serve() -> None:
    """Measure a block of each kind for each line that is read, and write the microseconds of a
    request."""
    blocks = Asking().blocks()
    for _ in sys.stdin:
        taken = {}
        for name, block in blocks.items():
            gc.collect()
            gc.disable()
            began = time.process_time()
            block()
            taken[name] = (time.process_time() - began) / BLOCK * 1e6
            gc.enable()
        print(json.dumps(taken), flush=True)


class Worker:
    """A process that measures one checkout."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, str(HERE), "--serve"]
        environment = {**os.environ, "PYTHONPATH": str(folder)}
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def measure(self) -> dict[str, float]:
        """Microseconds of a request by kind, over a block."""
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("a worker was started without pipes")
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        found: dict[str, float] = json.loads(self._process.stdout.readline())
        return found

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rounds", type=int, default=40, help="blocks of each kind for each checkout"
    )
    parser.add_argument("--beside", type=Path, metavar="FOLDER", help="another checkout")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.serve:
        serve()
        return 0
    folders = {"here": HERE.parents[1]} | (
        {"beside": chosen.beside.resolve()} if chosen.beside else {}
    )
    workers = {name: Worker(folder) for name, folder in folders.items()}
    rounds: list[dict[str, dict[str, float]]] = []
    for number in range(chosen.rounds + WARM):
        in_turn = list(workers) if number % 2 else list(reversed(workers))
        measured = {name: workers[name].measure() for name in in_turn}
        if number >= WARM:
            rounds.append(measured)
    for worker in workers.values():
        worker.close()
    for kind in rounds[0]["here"]:
        line = "".join(
            f"  {name} {median(one[name][kind] for one in rounds):6.1f} us" for name in workers
        )
        if chosen.beside:
            line += (
                "  difference "
                f"{median(one['here'][kind] - one['beside'][kind] for one in rounds):+6.1f} us"
            )
        print(f"{kind:<8}{line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
