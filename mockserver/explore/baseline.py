"""The command without any fault: what there is to try, and what runs under a fault are compared
with.

Source: docs/explore.md, What it runs, Crashes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mockserver.books.comparison import COMPARED
from mockserver.domain.record import record, replace
from mockserver.explore.failures import CRASH, TWICE, InjectionPoint
from mockserver.explore.fault_table import Trial
from mockserver.explore.trial import FIRST_TIMEOUT, Observed, TrialRunner, differences, no_call
from mockserver.explore.verdicts import Reference, key_of, money_differences
from mockserver.scenario.operations import READS


class NoBaseline(Exception):
    """The command does not pass, or not twice alike, without any fault: the text says what is
    wrong."""


@record
class Baseline:
    """The command without any fault: its calls in their order with the status of each answer, the
    seconds it took, and whether its clock was set by hand; what runs are compared with, and those
    that were killed (``crash``). ``due`` is what came due without a call and can fail."""

    calls: Sequence[tuple[InjectionPoint, int | None]]
    seconds: float
    is_manual: bool
    due: Sequence[InjectionPoint] = ()
    reference: Reference = Reference()
    ignored: Collection[tuple[str, str]] = ()
    crash: Reference = Reference()

    def reference_of(self, trial: Trial) -> Reference:
        """What a trial is compared with."""
        of_axis = {CRASH: self.crash, TWICE: replace(self.reference, of_two=True)}
        return of_axis.get(trial.is_of, self.reference)

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
        told = ["two runs without any fault made different calls:", *found, _unsteady(found)]
        raise NoBaseline("\n".join(told))
    statuses = {(call["op"], call["call"]): call["status"] for call in first.calls}
    # A client that polls does not make all of its calls in both.
    always = {(one.op, one.nth) for one in second.points}
    points = [one for one in first.points if (one.op, one.nth) in always]
    unseen = second.after.money.unseen(second.after.rows)
    seeded = [row for row in first.after.money.unseen(first.after.rows) if row in unseen]
    ignored = {key for row in seeded if (key := key_of(row)) is not None}
    _check_books(first, ignored)
    with _only_second_fails():
        _check_books(second, ignored)
    return Baseline(
        calls=tuple((one, statuses[one.op, one.nth]) for one in points if not one.is_counted),
        due=tuple(one for one in points if one.is_counted),
        seconds=max(first.ended.seconds, second.ended.seconds),
        is_manual=first.is_manual,
        reference=replace(
            Reference.of(first.after.money, second.after.money),
            operations=first.after.operations,
            leaves_pending=bool(first.after.left_pending()),
        ),
        ignored=frozenset(ignored),
    )


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
    shared, money = base.reference.shared, base.reference.money
    if money is None:
        return base
    again = [
        found.words for found in money_differences(money, seen.after.money, shared) if found.is_harm
    ]
    if again:
        raise NoBaseline(
            "\n".join(
                [f"a restart after the command had ended takes money again: {advice}", *again]
            )
        )
    return replace(
        base, crash=Reference(seen.after.money, shared, operations=seen.after.operations)
    )


def _seen(runner: TrialRunner, name: str, timeout: float | None, **way: Any) -> Observed:
    return runner.try_out(name, scenario_of(name, runner.seed), timeout or FIRST_TIMEOUT, **way)


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
    are_reads = all(line.partition(" ")[0] in READS for line in found)
    return _UNSTEADY_READS if are_reads else _UNSTEADY


@contextmanager
def _only_second_fails() -> Iterator[None]:
    """What is wrong here was right a moment before: it comes and goes."""
    try:
        yield
    except NoBaseline as problem:
        raise NoBaseline(f"{problem}\nthe first of two runs was right: {_UNSTEADY}") from None


def _check_books(seen: Observed, ignored: Collection[tuple[str, str]]) -> None:
    """Raises ``NoBaseline`` when the shop's books cannot be read, or differ without any fault."""
    after = seen.after
    problem = after.failed or after.unread
    if problem:
        raise NoBaseline(f"without any fault this fails: {problem}")
    if after.broken:
        raise NoBaseline("\n".join(["without any fault an invariant is broken:", *after.broken]))
    found = [
        row for row in after.differing if not any(one in ignored for one in row["about"].items())
    ]
    if found:
        told = "\n".join(f"{row['finding']}: {row['evidence'][0]['line']}" for row in found)
        raise NoBaseline(
            "without any fault the shop's books differ from the "
            f"sandbox's:\n{told}\n{seen.timeline}"
        )


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
    errors = [
        row
        for row in seen.after.findings
        if row["severity"] == "error" and row["finding"] not in COMPARED
    ]
    if errors:
        named = "\n".join(f"{row['finding']}: {row['title']}" for row in errors)
        raise NoBaseline(
            f"without any fault there are findings of severity error:\n{named}\n{seen.timeline}"
        )
    return seen


def scenario_of(name: str, seed: int, trial: Trial | None = None) -> dict[str, Any]:
    """The plain data of the scenario of a run, in which nothing happens that is not tried."""
    story, rules = ("", []) if trial is None else (trial.story, trial.rules)
    return {"version": 1, "name": name, "description": story, "seed": seed, "rules": rules}
