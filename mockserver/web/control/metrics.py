"""Whether the server is alive, and ready; its counts and measures in the text format of Prometheus
(``/metrics``).

No label holds a key, an id or a value of a request, and each has a bounded number of values: every
value is a series of its own, which a server of Prometheus keeps for weeks.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from mockserver.domain.clock import SECOND
from mockserver.domain.record import record
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.tables import ROW_CLASSES
from mockserver.version import __version__
from mockserver.web.access import BOUNDS, WINDOW
from mockserver.web.control.call import AnyCall, ControlRoute
from mockserver.web.request import Reply
from mockserver.web.runner import for_each
from mockserver.web.world import World


class Histogram(NamedTuple):
    """How many measures were at most as great as each bound, and the sum of all."""

    buckets: Sequence[tuple[str, int]]
    total: float


Samples = Iterator[tuple[Sequence[str], float | Histogram]]
"""The values of the labels, each with its number, or what was measured."""


class Scrape(NamedTuple):
    """What metrics are read from: the server, and its objects by kind, counted while others were
    served."""

    world: World
    objects: Mapping[str, int]


@record
class Metric:
    """One row of the table: a counter, gauge or histogram. ``read`` gives its samples."""

    name: str
    kind: str
    help: str
    labels: tuple[str, ...]
    read: Callable[[Scrape], Samples]


def _requests(scrape: Scrape) -> Samples:
    """By operation and status, in the same order each time, as all samples are."""
    for op, counts in sorted(scrape.world.requests.items()):
        for status, count in sorted(counts.statuses.items()):
            # Of a client that left, or was cut off, there is no status.
            status_label = str(status) if status else "none"
            yield (op, status_label), count


def _durations(scrape: Scrape) -> Samples:
    """A histogram for each operation, whose bounds are microseconds here and seconds there."""
    bounds = [*(f"{bound / SECOND:g}" for bound in BOUNDS), "+Inf"]
    for op, counts in sorted(scrape.world.requests.items()):
        # A bucket of Prometheus counts those of all smaller ones too.
        buckets = list(zip(bounds, accumulate(counts.buckets), strict=True))
        yield (op,), Histogram(buckets, counts.took / SECOND)


def _commits(scrape: Scrape) -> Samples:
    """By result. Without a store there are no samples: zeros would look like a store that nobody
    writes to."""
    store = scrape.world.store
    if store is None:
        return iter(())
    return _each({"written": store.commits, "failed": store.failures})


def _dropped_entries(scrape: Scrape) -> Samples:
    """By the bound that has pushed them out: which of two settings to raise."""
    quota = scrape.world.sandboxes.quota
    return _each({"limit": quota.overflown, "memory": quota.dropped})


def _rules_fired(scrape: Scrape) -> Samples:
    return _each(scrape.world.directory.config.counts.rules)


def _faults(scrape: Scrape) -> Samples:
    return _each(scrape.world.directory.config.counts.faults)


def _webhook_tries(scrape: Scrape) -> Samples:
    return _each(scrape.world.directory.config.counts.webhooks)


def _open_sandboxes(scrape: Scrape) -> Samples:
    return _one(len(scrape.world.sandboxes))


def _dropped_sandboxes(scrape: Scrape) -> Samples:
    return _one(scrape.world.sandboxes.dropped)


def _objects(scrape: Scrape) -> Samples:
    return _each(scrape.objects)


def _longest_lag(scrape: Scrape) -> Samples:
    """The longest, as one delay of a second is what a client notices, whatever the average is."""
    return _one(max(scrape.world.lags, default=0.0))


def _each(counts: Mapping[str, float]) -> Samples:
    """A sample for each value of the only label."""
    return (((value,), count) for value, count in sorted(counts.items()))


def _one(number: float) -> Samples:
    """The sample of a metric without labels."""
    return iter([((), number)])


METRICS: tuple[Metric, ...] = (
    Metric(
        "mockserver_requests_total",
        "counter",
        "Requests by operation and status of the answer, none where there was none. Beside the "
        "operations of the "
        "payments API there are control, page, inbox, none (no such route) and refused "
        "(foreign Host or page, no "
        "admin token).",
        ("op", "status"),
        _requests,
    ),
    Metric(
        "mockserver_request_seconds",
        "histogram",
        "Time from the head of a request to the end of its answer, what a scenario lets it "
        "take included.",
        ("op",),
        _durations,
    ),
    Metric(
        "mockserver_rules_fired_total",
        "counter",
        "Rules that fired: by id those of the server's files, all others as other.",
        ("rule",),
        _rules_fired,
    ),
    Metric(
        "mockserver_faults_total",
        "counter",
        "Faults that rules decided on, by kind.",
        ("kind",),
        _faults,
    ),
    Metric(
        "mockserver_webhook_tries_total",
        "counter",
        "Attempts to deliver a webhook, by its state after that: delivered, waiting (tried "
        "again) or given_up.",
        ("result",),
        _webhook_tries,
    ),
    Metric(
        "mockserver_sandboxes",
        "gauge",
        "Open sandboxes.",
        (),
        _open_sandboxes,
    ),
    Metric(
        "mockserver_sandboxes_dropped_total",
        "counter",
        "Unused sandboxes dropped (--sandbox-idle).",
        (),
        _dropped_sandboxes,
    ),
    Metric(
        "mockserver_objects",
        "gauge",
        "Stored objects of all sandboxes, by kind.",
        ("kind",),
        _objects,
    ),
    Metric(
        "mockserver_journal_dropped_total",
        "counter",
        "Oldest journal entries dropped, by bound: limit (--journal-limit) or memory "
        "(--journal-memory, messages "
        "of inboxes included).",
        ("bound",),
        _dropped_entries,
    ),
    Metric(
        "mockserver_store_commits_total",
        "counter",
        "Commits of the store (--store), by result: written, or failed (its requests were "
        "refused).",
        ("result",),
        _commits,
    ),
    Metric(
        "mockserver_event_loop_lag_seconds",
        "gauge",
        f"Longest delay of the event loop in the last {WINDOW} seconds: every request waits "
        "that long.",
        (),
        _longest_lag,
    ),
)


async def read(call: AnyCall) -> bytes:
    """All metrics in the text format of Prometheus."""
    # Takes a moment to import, and most servers are never asked.
    from prometheus_client import generate_latest
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
    from prometheus_client.core import Metric as Family
    from prometheus_client.registry import Collector

    families = {
        "counter": CounterMetricFamily,
        "gauge": GaugeMetricFamily,
        "histogram": HistogramMetricFamily,
    }
    world = call.world
    objects = Counter(dict.fromkeys(ROW_CLASSES, 0))

    def count(sandbox: Sandbox) -> None:
        objects.update({kind: len(getattr(sandbox, kind)) for kind in ROW_CLASSES})

    await for_each(tuple(world.sandboxes), count)

    scrape = Scrape(world, objects)
    filled: list[Family] = []
    for metric in METRICS:
        family = families[metric.kind](metric.name, metric.help, labels=metric.labels)
        for labels, value in metric.read(scrape):
            if isinstance(value, Histogram):
                family.add_metric(labels, value.buckets, value.total)
            else:
                family.add_metric(labels, value)
        filled.append(family)

    class Filled(Collector):
        """The library writes what a collector has gathered over time; here it is read when
        asked."""

        def collect(self) -> Sequence[Family]:
            return filled

    return generate_latest(Filled())


def alive(call: AnyCall) -> object:
    """That the server answers, which is enough: an orchestrator restarts one that does not, and no
    restart would help a store that cannot be written."""
    return {"status": "alive", "version": __version__}


async def ready(call: AnyCall) -> object:
    """The scenarios are loaded, and the store can be written; 503 with the reasons when not: then
    an orchestrator sends no requests here, and lets the server be."""
    problems = list(call.world.directory.ready_problems)
    store = call.world.store
    if store is not None:
        fault = await store.fault()
        if fault is not None:
            problems.append(f"the store cannot be written: {fault}")
    if problems:
        return Reply(503, {"status": "not ready", "reasons": problems})
    return {"status": "ready"}


ROUTES = (
    ControlRoute(
        "GET",
        "/healthz",
        alive,
        reply="AliveAnswer",
        summary="Whether the server is alive",
    ),
    ControlRoute(
        "GET",
        "/readyz",
        ready,
        reply="ReadyAnswer",
        answers={503: "Not ready, with the reasons"},
        summary="Whether the server is ready, else the reasons",
    ),
    ControlRoute(
        "GET",
        "/metrics",
        read,
        reply="text",
        media="text/plain; version=0.0.4; charset=utf-8",
        summary="Counts and measures of the server, for Prometheus",
    ),
)
