"""Whether the server is alive, and ready; its counts and measures in the text format of Prometheus (``/metrics``).

No label holds a key, an id or a value of a request, and each has a bounded number of values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from types import SimpleNamespace
from typing import Any

from mockserver import __version__
from mockserver.domain.clock import SECOND
from mockserver.domain.record import record
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.tables import ROW_CLASSES
from mockserver.web.access import BOUNDS, WINDOW
from mockserver.web.control.call import ControlCall
from mockserver.web.runner import for_each
from mockserver.web.world import World

Samples = Iterator[tuple[Sequence[str], Any]]
"""The values of the labels, each with its number; of a histogram with its buckets and its sum."""


@record
class Metric:
    """One row of the table: a counter, gauge or histogram. ``read`` gives its samples from the world and the number of
    objects by kind."""

    name: str
    kind: str
    help: str
    labels: tuple[str, ...]
    read: Callable[[World, Mapping[str, int]], Samples]


def _requests(world: World, _: object) -> Samples:
    for op, found in sorted(world.requests.by_op.items()):
        for status, count in sorted(found.statuses.items()):
            yield (op, str(status) if status else "none"), count


def _durations(world: World, _: object) -> Samples:
    bounds = [*(f"{bound / SECOND:g}" for bound in BOUNDS), "+Inf"]
    for op, found in sorted(world.requests.by_op.items()):
        buckets = list(zip(bounds, accumulate(found.buckets), strict=True))
        yield (op,), (buckets, found.took / SECOND)


def _journal(world: World, _: object) -> Samples:
    quota = world.sandboxes.quota
    yield ("limit",), quota.overflown
    yield ("memory",), quota.dropped


def _commits(world: World, _: object) -> Samples:
    if world.store is not None:
        yield ("written",), world.store.commits
        yield ("failed",), world.store.failures


def _counted(name: str) -> Callable[[World, Mapping[str, int]], Samples]:
    def read(world: World, _: object) -> Samples:
        for value, count in sorted(getattr(world.directory.config.counts, name).items()):
            yield (value,), count

    return read


def _one(read: Callable[[World], float]) -> Callable[[World, Mapping[str, int]], Samples]:
    return lambda world, _: iter([((), read(world))])


METRICS: tuple[Metric, ...] = (
    Metric("mockserver_requests_total", "counter",
           "Requests by operation and status of the answer, none where there was none. Beside the operations of the "
           "payments API there are control, page, inbox, none (no such route) and refused (foreign Host or page, no "
           "admin token).",
           ("op", "status"), _requests),
    Metric("mockserver_request_seconds", "histogram",
           "Time from the head of a request to the end of its answer, what a scenario lets it take included.",
           ("op",), _durations),
    Metric("mockserver_rules_fired_total", "counter",
           "Rules that fired: by id those of the server's files, all others as other.",
           ("rule",), _counted("rules")),
    Metric("mockserver_faults_total", "counter",
           "Faults that rules decided on, by kind.",
           ("kind",), _counted("faults")),
    Metric("mockserver_webhook_tries_total", "counter",
           "Attempts to deliver a webhook, by its state after that: delivered, waiting (tried again) or given_up.",
           ("result",), _counted("webhooks")),
    Metric("mockserver_sandboxes", "gauge", "Open sandboxes.",
           (), _one(lambda world: len(world.sandboxes))),
    Metric("mockserver_sandboxes_dropped_total", "counter",
           "Unused sandboxes dropped (--sandbox-idle).",
           (), _one(lambda world: world.sandboxes.dropped)),
    Metric("mockserver_objects", "gauge", "Stored objects of all sandboxes, by kind.",
           ("kind",), lambda _, objects: (((kind,), count) for kind, count in objects.items())),
    Metric("mockserver_journal_dropped_total", "counter",
           "Oldest journal entries dropped, by bound: limit (--journal-limit) or memory (--journal-memory, messages "
           "of inboxes included).",
           ("bound",), _journal),
    Metric("mockserver_store_commits_total", "counter",
           "Commits of the store (--store), by result: written, or failed (its requests were refused).",
           ("result",), _commits),
    Metric("mockserver_event_loop_lag_seconds", "gauge",
           f"Longest delay of the event loop in the last {WINDOW} seconds: every request waits that long.",
           (), _one(lambda world: world.lag.longest)),
)  # fmt: skip


async def read(call: ControlCall) -> tuple[int, bytes]:
    """Every metric of the server, in the order of the table."""
    # Takes a moment to import, and most servers are never asked.
    from prometheus_client import generate_latest
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

    families = {"counter": CounterMetricFamily, "gauge": GaugeMetricFamily, "histogram": HistogramMetricFamily}
    world = call.world
    objects = await _objects(world)

    found = []
    for metric in METRICS:
        family = families[metric.kind](metric.name, metric.help, labels=metric.labels)
        for labels, value in metric.read(world, objects):
            family.add_metric(labels, *(value if metric.kind == "histogram" else (value,)))
        found.append(family)
    collected: Any = SimpleNamespace(collect=lambda: found)
    return 200, generate_latest(collected)


async def _objects(world: World) -> dict[str, int]:
    counts = dict.fromkeys(ROW_CLASSES, 0)

    def count(sandbox: Sandbox) -> None:
        for kind in counts:
            counts[kind] += len(getattr(sandbox, kind))

    await for_each(tuple(world.sandboxes), count)
    return counts


def alive(call: ControlCall) -> tuple[int, object]:
    """The process answers, and of which version it is."""
    return 200, {"status": "alive", "version": __version__}


def ready(call: ControlCall) -> tuple[int, object]:
    """The scenarios are loaded; 503 with the reasons when they are not."""
    problems = call.world.directory.ready_problems
    return (503, {"status": "not ready", "reasons": problems}) if problems else (200, {"status": "ready"})
