"""The command without any fault: what there is to try, and what runs under a fault are compared
with.

It is run twice. A command that does not do the same each time would be blamed for chance: under a
fault nobody could tell what the fault has changed. So two runs must make the same calls, pass, and
have books that agree; else nothing is tried, and what differs is said. Two runs also show which
orders come again under their references, and which rows of the books were there before any order
(``ignored``).

A crash is compared with a third run, in which the command is not killed and what the shop runs
after a reboot follows all the same: what that does with money without a crash is no harm after one.

Source: docs/explore.md, What it runs, Crashes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager

from mockserver.books.comparison import COMPARED
from mockserver.domain.figures import OrderKey
from mockserver.domain.record import record, replace
from mockserver.explore.failures import CRASH, TWICE, InjectionPoint
from mockserver.explore.fault_table import Trial
from mockserver.explore.run_calls import differences
from mockserver.explore.run_end import Reference
from mockserver.explore.run_money import key_of, money_differences
from mockserver.explore.scenario_data import RuleData, ScenarioData
from mockserver.explore.trial import FIRST_TIMEOUT, Observed, TrialRunner, no_call
from mockserver.scenario.operations import READS


class NoBaseline(Exception):
    """The command does not pass, or not twice alike, without any fault: the text says what is
    wrong."""


@record
class Baseline:
    """The command without any fault: its calls in their order with the status of each answer, the
    seconds it took, and whether its clock was set by hand; what runs are compared with
    (``reference``), and those that were killed (``crash``). ``due`` is what came due without a call
    and can fail, ``ignored`` are the orders of the shop's books that no run asks for."""

    calls: Sequence[tuple[InjectionPoint, int | None]]
    seconds: float
    is_manual: bool
    due: Sequence[InjectionPoint] = ()
    reference: Reference = Reference()
    ignored: Set[OrderKey] = frozenset()
    crash: Reference = Reference()

    def reference_of(self, trial: Trial) -> Reference:
        """What a trial is compared with."""
        if trial.own_option == CRASH:
            return self.crash
        if trial.own_option == TWICE:
            return replace(self.reference, of_two=True)
        return self.reference

    @property
    def points(self) -> list[InjectionPoint]:
        """Its calls, and what came due."""
        return [*(point for point, _ in self.calls), *self.due]


def plain_baseline(runner: TrialRunner, timeout: float | None) -> Baseline:
    """Run the command twice without any fault. Raises ``NoBaseline``, and what
    ``TrialRunner.try_out`` raises."""
    first = _passed(_seen(runner, "baseline-1", timeout), runner.argv)
    with _only_second_fails():
        second = _passed(_seen(runner, "baseline-2", timeout), runner.argv)
    found = differences(first.calls, second.calls)
    if found:
        words = "two runs without any fault made different calls:"
        raise NoBaseline("\n".join([words, *found, _unsteady(found)]))
    ignored = _seeded(first, second)
    _check_books(first, ignored)
    with _only_second_fails():
        _check_books(second, ignored)
    statuses = {(call["op"], call["call"]): call["status"] for call in first.calls}
    # A client that polls does not make all of its calls in both.
    numbers_of_second = {point.number for point in second.points}
    calls, due = list[tuple[InjectionPoint, int | None]](), list[InjectionPoint]()
    for point in first.points:
        if point.number not in numbers_of_second:
            continue
        if point.is_counted:
            due.append(point)
        else:
            calls.append((point, statuses[point.number]))
    return Baseline(
        calls=tuple(calls),
        due=tuple(due),
        # The slower run decides how long a run may take, and no run is ended for chance.
        seconds=max(first.ended.seconds, second.ended.seconds),
        is_manual=first.is_manual,
        reference=replace(
            Reference.of(first.after.money, second.after.money),
            operations=first.after.operations,
            leaves_pending=bool(first.after.left_pending()),
        ),
        ignored=ignored,
    )


def _seeded(first: Observed, second: Observed) -> frozenset[OrderKey]:
    """The orders of the shop's books that the sandbox never saw and that are the same in both runs,
    as in a database with sample orders: the shop was paid for them elsewhere."""
    unseen = first.after.money.unseen(first.after.rows)
    unseen_again = second.after.money.unseen(second.after.rows)
    keys = {key_of(row) for row in unseen if row in unseen_again}
    return frozenset(key for key in keys if key is not None)


def crash_baseline(runner: TrialRunner, base: Baseline, timeout: float | None) -> Baseline:
    """Run the command, and then what the shop runs after a reboot, without a kill: with that the
    crashes are compared. Raises ``NoBaseline`` where the second takes money again, and what
    ``TrialRunner.try_out`` raises."""
    seen = _seen(runner, "crash-baseline", timeout, ignored=base.ignored, restarts=True)
    advice = "name what your shop runs after a reboot: --restart"
    try:
        _check_books(_passed(seen, runner.argv), base.ignored)
    except NoBaseline as problem:
        raise NoBaseline(
            f"a restart after the command had ended does not go well ({advice}):\n{problem}"
        ) from None
    shared, money, after = base.reference.shared, base.reference.money, seen.after
    if money is None:
        return base
    differences = money_differences(money, after.money, shared)
    again = [difference.words for difference in differences if difference.is_harm]
    if again:
        words = f"a restart after the command had ended takes money again: {advice}"
        raise NoBaseline("\n".join([words, *again]))
    return replace(base, crash=Reference(after.money, shared, operations=after.operations))


def _seen(
    runner: TrialRunner,
    name: str,
    timeout: float | None,
    *,
    ignored: Set[OrderKey] = frozenset(),
    restarts: bool = False,
) -> Observed:
    """A run under a scenario in which nothing happens."""
    scenario = scenario_of(name, runner.seed)
    seconds = timeout or FIRST_TIMEOUT
    return runner.try_out(name, scenario, seconds, ignored=ignored, restarts=restarts)


_UNSTEADY_READS = (
    "sometimes it looks before something has come: let it wait for the thing itself, such as the "
    "webhook or the status of the charge, instead of for a time"
)
_UNSTEADY = (
    f"{_UNSTEADY_READS}; give what it draws by chance a fixed seed; and where it asks for the time "
    "of day, serve a manual clock (--scenario FILE with clock: {mode: manual})"
)
"""What can help a command that differs from run to run."""


def _unsteady(found: Sequence[str]) -> str:
    """What can help against such differences: where only reads differ, it waits for a time."""
    # Each begins with the name of an operation.
    operations = {line.partition(" ")[0] for line in found}
    if operations <= READS:
        return _UNSTEADY_READS
    return _UNSTEADY


@contextmanager
def _only_second_fails() -> Iterator[None]:
    """What is wrong here was right a moment before: it comes and goes."""
    try:
        yield
    except NoBaseline as problem:
        raise NoBaseline(f"{problem}\nthe first of two runs was right: {_UNSTEADY}") from None


def _check_books(seen: Observed, ignored: Set[OrderKey]) -> None:
    """Raises ``NoBaseline`` when the shop's books cannot be read, or differ without any fault: then
    each run under a fault would be blamed for that."""
    after = seen.after
    problem = after.failed or after.unread
    if problem:
        raise NoBaseline(f"without any fault this fails: {problem}")
    if after.broken:
        raise NoBaseline("\n".join(["without any fault an invariant is broken:", *after.broken]))
    differing = [row for row in after.differing if ignored.isdisjoint(row["about"].items())]
    if differing:
        lines = [f"{row['finding']}: {row['evidence'][0]['line']}" for row in differing]
        words = "without any fault the shop's books differ from the sandbox's:"
        raise NoBaseline("\n".join([words, *lines, seen.timeline]))


def _passed(seen: Observed, argv: Sequence[str]) -> Observed:
    """A run without faults that is fit to be compared. Raises ``NoBaseline``."""
    said = seen.words
    if seen.ended.exit is None:
        raise NoBaseline(
            f"without any fault the command was not done in {seen.ended.seconds:.0f} s "
            f"(--timeout){said}"
        )
    if seen.ended.exit != 0:
        raise NoBaseline(
            f"without any fault the command ended with exit code {seen.ended.exit}{said}"
        )
    if not seen.has_called:
        raise NoBaseline(no_call(argv))
    # Those of the books are checked later: some of their orders may turn out to be ignored.
    judged = [row for row in seen.after.findings if row["finding"] not in COMPARED]
    errors = [row for row in judged if row["severity"] == "error"]
    if errors:
        lines = [f"{row['finding']}: {row['title']}" for row in errors]
        words = "without any fault there are findings of severity error:"
        raise NoBaseline("\n".join([words, *lines, seen.timeline]))
    return seen


def scenario_of(name: str, seed: int, trial: Trial | None = None) -> ScenarioData:
    """The plain data of the scenario of a run, in which nothing happens that is not tried; without
    a trial nothing at all."""
    story, rules = "", list[RuleData]()
    if trial is not None:
        story, rules = trial.story, trial.rules
    return {"version": 1, "name": name, "description": story, "seed": seed, "rules": rules}
