"""Where the time of a request goes: its way through ``create_app`` stage by stage, in microseconds.

    python -m benchmarks.stages [create] [get] [search]

Each stage is a function. One at a time is timed, so that no other clock is part of what it takes;
the median of its calls counts, less what an empty function takes. ``in all`` is a stage with what it calls, ``itself`` what is left without the stages that
stand below it, indented. Stages that a kind of request does not take are left out.
"""

from __future__ import annotations

import argparse
import gc
import inspect
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from statistics import median
from typing import Any

from benchmarks.in_process import Asking

ROUNDS = 10
"""Blocks of requests during which each stage is timed."""

STAGES = """
guard: mockserver.web.guard:Guard.__call__
  who asks, and by which name: mockserver.web.guard:Guard._admit
  endpoint: mockserver.web.shell:Endpoint.__call__
    body in one piece: mockserver.web.request:read_parts
    whose sandbox: mockserver.web.operation:OperationEndpoint.authenticate
    what came due: mockserver.web.runner:Runner.visit
    act: mockserver.web.operation:OperationEndpoint.act
      arrive: mockserver.web.operation:OperationEndpoint.arrive
        fields: mockserver.web.operation:OperationEndpoint._read
          JSON: mockserver.wire.fields:loads
        step: mockserver.web.operation:OperationEndpoint._begin
      carry out: mockserver.web.operation:OperationEndpoint.carry_out
        command: mockserver.wire.bodies.charges:ProviderCardCharge.command
        charge: mockserver.engine.charges:create
          amount: mockserver.engine.intake:check_amount
          card and provider: mockserver.engine.sources:plan
          provider is asked: mockserver.engine.providers:ask
            rules decide: mockserver.engine.step:Step.ask
          the charge itself: mockserver.engine.charges:_store
            record: mockserver.engine.charges:_begun
            stored: mockserver.engine.step:Step.add
        page: mockserver.web.operations.lists:ListOf.__call__
          what is asked for: mockserver.engine.listing:query_of
          rows: mockserver.engine.indexed_table:Table.search
          each row: mockserver.engine.indexed_table:Table.derived
        worded: mockserver.wire.resources:charge_text
          as text: mockserver.wire.resources:kept_text
        webhooks: mockserver.engine.step_effects:plan
    note: mockserver.web.shell:Endpoint.note
      journal and counts: mockserver.engine.step_effects:note
      observers are told: mockserver.web.watching:called
        what they are told: mockserver.web.watching:_call_of
        findings: mockserver.findings.watch:Watch.called
          request: mockserver.findings.request_checks:RequestChecks.called
    send: mockserver.web.shell:Endpoint._send
  metrics: mockserver.web.access:OperationCounts.note
"""
"""The name of each stage, indented below the stage that it is a part of, and its function, where it
is looked up."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of the way of a request, and where its function is looked up."""

    depth: int
    name: str
    module: str
    path: str


def stages() -> list[Stage]:
    """All stages, in the order of the way."""
    found = []
    for line in STAGES.strip("\n").splitlines():
        name, place = line.strip().rsplit(": ", 1)
        module, path = place.split(":")
        found.append(Stage((len(line) - len(line.lstrip())) // 2, name, module, path))
    return found


@contextmanager
def timed(stage: Stage, taken: list[int]) -> Iterator[None]:
    """Note the nanoseconds of each call of a stage."""
    owner: Any = import_module(stage.module)
    *outer, name = stage.path.split(".")
    for part in outer:
        owner = getattr(owner, part)
    plain = inspect.getattr_static(owner, name)
    if isinstance(plain, classmethod):
        setattr(owner, name, staticmethod(_with_clock(getattr(owner, name), taken)))
    else:
        setattr(owner, name, _with_clock(plain, taken))
    yield
    setattr(owner, name, plain)


def _with_clock(function: Any, taken: list[int]) -> Callable[..., Any]:
    clock = time.perf_counter_ns

    def plain(*args: Any, **named: Any) -> Any:
        began = clock()
        result = function(*args, **named)
        taken.append(clock() - began)
        return result

    async def waiting(*args: Any, **named: Any) -> Any:
        began = clock()
        result = await function(*args, **named)
        taken.append(clock() - began)
        return result

    return waiting if inspect.iscoroutinefunction(function) else plain


def measured(block: Callable[[], None]) -> dict[Stage, float]:
    """The nanoseconds that each stage takes in a request, of those that these requests take. All
    take their turn in each round, so that a busy moment strikes all."""
    taken: dict[Stage, list[int]] = {stage: [] for stage in stages()}
    for _ in range(ROUNDS):
        gc.collect()
        for stage, calls in taken.items():
            with timed(stage, calls):
                block()
    return {stage: median(calls) for stage, calls in taken.items() if calls}


def nothing() -> None:
    """What is timed to know what the clock takes."""


def cost_of_clock() -> float:
    taken: list[int] = []
    empty = _with_clock(nothing, taken)
    for _ in range(10_000):
        empty()
    return median(taken)


def table(kind: str, block: Callable[[], None]) -> None:
    """Print the stages of a kind of request."""
    gc.disable()
    for _ in range(ROUNDS):
        block()
    clock = cost_of_clock()
    way = [(stage, taken - clock) for stage, taken in measured(block).items()]
    print(f"| {kind} | in all, us | itself, us |\n|---|---|---|")
    for place, (stage, taken) in enumerate(way):
        below = 0.0
        for other, part in way[place + 1 :]:
            if other.depth <= stage.depth:
                break
            below += part if other.depth == stage.depth + 1 else 0
        own = f"{(taken - below) / 1e3:.1f}" if below else ""
        indent = "&nbsp;&nbsp;" * stage.depth
        print(f"| {indent}{stage.name} | {taken / 1e3:.1f} | {own} |")
    print(flush=True)


def main() -> int:
    """Print a table for each kind."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kinds", nargs="*", metavar="KIND", help="create, get, search; create")
    chosen = parser.parse_args()
    for kind in chosen.kinds or ["create"]:
        blocks = Asking().blocks()
        if kind not in blocks:
            parser.error(f"no kind is called {kind}: there are {', '.join(blocks)}")
        table(kind, blocks[kind])
    return 0


if __name__ == "__main__":
    sys.exit(main())
