"""Searches of a sandbox with a million charges: how long each takes, and how long others wait meanwhile.

    python -m benchmarks.searches [CHARGES] [--steps]

Fills a sandbox with 1,000,000 charges, by batches. Then asks for each filter alone, for every two of them together, and
for each field to sort by, alone and with a filter, each twice: when it is first asked for, an index or an order may
have to be made. Somebody else creates charges in another sandbox all the while. With ``--steps`` the longest step of
the event loop is printed instead of their wait, in milliseconds of CPU time, which other users of the machine hardly
change.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from urllib.parse import urlencode

from benchmarks.batch import CARD, DUMMY, Caller, bother, serve, timed
from benchmarks.steps import longest

LONGEST_S = 0.1
LONGEST_P99_MS = 50.0
LONGEST_STEP_MS = 50.0
BATCH = 100_000
CARDS = ("4111111111111111", "5555555555554444", "5105105105105100")
CURRENCIES = ("AUD", "AUD", "AUD", "NZD")
SORTS = ("date", "amount", "currency", "status", "reference", "providerId", "customerId", "chargeId", "successDate",
         "voidDate", "refundedAmount")  # fmt: skip


def filled(call: Caller, charges: int) -> dict[str, str]:
    """Make so many charges of different cards, amounts and currencies; the filters that find many or few of them."""
    call("PUT", "/__admin/clock", {"mode": "manual"})
    methods = []
    for number, card in enumerate(CARDS):
        details = {**CARD, "cardNumber": card, "cardholder": f"Holder {number}"}
        made = call("POST", "/payment_method/card", {"providerId": DUMMY, "paymentInformation": details})
        methods.append(made["paymentMethodId"])
    batch = ""
    for start in range(0, charges, BATCH):
        rows = range(start, min(start + BATCH, charges))
        text = "PaymentMethodId,Amount,Currency,Reference\n" + "\n".join(
            f"{methods[row % 3]},{10 + row * 7919 % 100_003 / 100:.2f},{CURRENCIES[row // 3 % 4]},row-{row}"
            for row in rows
        )
        body = {"count": len(rows), "description": "", "batch": text}
        batch = call("POST", "/batch/transaction/payment_method", body)["batchId"]
        call("POST", "/__admin/clock/advance", {"by": "1h"})
    middle = call("GET", f"/charge?Reference=row-{charges // 2}")["charges"][0]
    return {
        "Reference": f"row-{charges // 2}",
        "ProviderId": DUMMY,
        "Status": "SUCCESS",
        "PaymentMethodId": methods[0],
        "PaymentType": "CARD",
        "CardType": "VISA",
        "Currency": "AUD",
        "CardNumber": "411111",
        "Cardholder": "Holder 1",
        "BatchId": batch,
        "AmountGreaterThan": "500",
        "AmountLessThan": "600",
        "AddedAfter": middle["dateAdded"],
        "CustomerId": "nobody",
    }


def queries(filters: dict[str, str]) -> Iterator[tuple[str, str]]:
    """The searches by name."""
    single = [{name: value} for name, value in filters.items()]
    pairs = [{**one, **other} for one, other in combinations(single, 2)]
    orders = [{"SortBy": name} for name in SORTS]
    sorted_pairs = [{**one, **order} for order in orders for one in single]
    for parameters in (*single, *orders, *pairs, *sorted_pairs):
        yield (
            " ".join(value if name == "SortBy" else name for name, value in parameters.items()),
            f"/charge?{urlencode(parameters)}",
        )


def main() -> int:
    """Measure once and print the slowest searches."""
    charges = next((int(given) for given in sys.argv[1:] if given.isdigit()), 1_000_000)
    by_steps = "--steps" in sys.argv
    rows: list[tuple[str, float, float, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "longest"
        process, port = serve(Path(folder), steps=file if by_steps else None)
        try:
            call = Caller(port, "sk_large")
            took, filters = timed(lambda: filled(call, charges))
            print(f"{charges:,} charges made in {took:.0f} s", flush=True)
            over, waits = threading.Event(), list[float]()
            others = threading.Thread(target=bother, args=(port, over, waits))
            others.start()
            for name, path in queries(filters):
                if by_steps:
                    longest(file, process.pid)
                begun = len(waits)
                first, _ = timed(lambda path=path: call.raw("GET", path))  # type: ignore[misc]
                again, answer = timed(lambda path=path: call.raw("GET", path))  # type: ignore[misc]
                json.loads(answer)["count"]
                wait = longest(file, process.pid)[0] if by_steps else max(waits[begun:], default=0) * 1e3
                rows.append((name, first, again, wait))
            over.set()
            others.join()
        finally:
            process.terminate()
            process.wait()
    waits.sort()
    p99 = waits[int(len(waits) * 0.99)] * 1e3
    worst = "step ms" if by_steps else "others' worst ms"
    print(f"{'search':<40}{'first s':>9}{'again s':>9}{worst:>18}")
    shown = {row for place in (1, 2, 3) for row in sorted(rows, key=lambda row: -row[place])[:12]}
    for name, first, again, wait in sorted(shown, key=lambda row: -row[2]):
        print(f"{name:<40}{first:>9.3f}{again:>9.3f}{wait:>18.1f}")
    at_first, slow = (sum(row[place] > LONGEST_S for row in rows) for place in (1, 2))
    print(f"{len(rows)} searches, {at_first} of them over {LONGEST_S} s the first time, {slow} the second")
    print(f"others: p50 {waits[len(waits) // 2] * 1e3:.1f} ms, p99 {p99:.1f}, worst {waits[-1] * 1e3:.1f}")
    stalls = by_steps and any(row[3] > LONGEST_STEP_MS for row in rows)
    return 1 if slow or stalls or p99 > LONGEST_P99_MS else 0


if __name__ == "__main__":
    sys.exit(main())
