"""A batch of 100,000 rows on a real server: how fast it is processed, and how long others wait
meanwhile.

    python -m benchmarks.batch [ROWS]

Starts a server on a free port, hands the batch in, lets the clock run so fast that all rows are due
at once, reads the results back, and asks for charges of another sandbox all the while. Prints one
line for each figure; ends with exit code 1 when a figure is beyond its bound.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

DUMMY = "a26c371f-94f6-40da-add2-28ec8e9da8ed"
CARD = {"cardNumber": "4111111111111111", "expiryDate": "12/40", "ccv": "123"}
LEAST_ROWS_A_SECOND = 50_000
LONGEST_P99_MS = 50.0
LONGEST_WAIT_MS = 100.0
LONGEST_RESULTS_S = 1.0


class Caller:
    """One connection with one key."""

    def __init__(self, port: int, key: str) -> None:
        self.connection = HTTPConnection("127.0.0.1", port)
        self.key = key

    def raw(
        self,
        method: str,
        path: str,
        body: str | bytes | None = None,
        media: str = "application/json",
    ) -> bytes:
        """One call, its body and its answer as texts of a media type: reading them would keep the
        other caller waiting."""
        headers = {"x-secretkey": self.key, "content-type": media, "accept": media}
        self.connection.request(method, path, body, headers)
        return self.connection.getresponse().read()

    def __call__(self, method: str, path: str, body: object = None) -> Any:
        return json.loads(self.raw(method, path, None if body is None else json.dumps(body)))


def serve(
    folder: Path, *options: str, steps: Path | None = None
) -> tuple[subprocess.Popen[bytes], int]:
    """A server on a free port; with ``steps`` its steps are timed (``benchmarks.steps``)."""
    port_file = folder / "port"
    program = ["mockserver"] if steps is None else ["benchmarks.steps", str(steps)]
    command = [
        sys.executable,
        "-m",
        *program,
        "serve",
        "--port",
        "0",
        "--port-file",
        str(port_file),
        *options,
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(b"ready"):
            return process, int(port_file.read_text())
    raise SystemExit("the server did not start")


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds that some work takes, and what it gives."""
    begun = time.perf_counter()
    found = work()
    return time.perf_counter() - begun, found


def bother(
    port: int, over: threading.Event, waits: list[float], turn: threading.Lock | None = None
) -> None:
    """Charge cards in another sandbox, one after the other, and note how long each takes; not while
    somebody else has the ``turn``."""
    call = Caller(port, "sk_other")
    body = {"amount": 5, "providerId": DUMMY, "paymentInformation": CARD}
    while not over.is_set():
        with turn or nullcontext():
            waits.append(timed(lambda: call("POST", "/charge/card", body))[0])
        time.sleep(0.002)


def measure(port: int, rows: int) -> dict[str, float]:
    """The figures of one batch."""
    call = Caller(port, "sk_batch")
    call("PUT", "/__admin/clock", {"mode": "manual"})
    method = call(
        "POST", "/payment_method/card", {"providerId": DUMMY, "paymentInformation": CARD}
    )["paymentMethodId"]
    text = "PaymentMethodId,Amount,Currency,Reference\n"
    text += "\n".join(f"{method},{10 + row % 90},AUD,row-{row}" for row in range(rows))
    over, waits = threading.Event(), list[float]()
    others = threading.Thread(target=bother, args=(port, over, waits))
    body = json.dumps({"count": rows, "description": "run", "batch": text})
    others.start()
    accepted, taken = timed(lambda: call.raw("POST", "/batch/transaction/payment_method", body))
    path = f"/batch/{json.loads(taken)['batchId']}"
    processed, _ = timed(lambda: call("POST", "/__admin/clock/advance", {"by": "1h"}))
    read, results = timed(lambda: call.raw("GET", path))
    over.set()
    others.join()
    found = json.loads(results)
    if (found["status"], found["success"]) != ("SUCCESS", rows) or found["results"].count(
        "\n"
    ) != rows:
        raise SystemExit(f"the batch ended as {found['status']} with {found['success']} rows")
    waits.sort()
    return {
        "accepted, s": accepted,
        "rows a second": rows / processed,
        "others' median, ms": waits[len(waits) // 2] * 1_000,
        "others' p99, ms": waits[int(len(waits) * 0.99)] * 1_000,
        "others' worst, ms": waits[-1] * 1_000,
        "results, s": read,
    }


def main() -> int:
    """Measure once and print."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        process, port = serve(Path(folder))
        try:
            figures = measure(port, rows)
        finally:
            process.terminate()
            process.wait()
    for name, value in figures.items():
        print(f"{name:20} {value:12,.1f}" if value >= 10 else f"{name:20} {value:12.3f}")
    good = (
        figures["rows a second"] >= LEAST_ROWS_A_SECOND
        and figures["others' p99, ms"] <= LONGEST_P99_MS
        and figures["others' worst, ms"] <= LONGEST_WAIT_MS
        and figures["results, s"] <= LONGEST_RESULTS_S
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
