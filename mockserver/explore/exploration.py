"""The whole of an exploration: what is tried at which calls, in which order, and what came of it.

All runs stand in a queue, those first that show most about a client, so that a budget that ends too
early cuts off what matters least. Of most of them nothing is known beforehand. What is queued later
follows from a run: a second fault where a single one did no harm (``--pairs``), and one where the
command makes good. The seeds of a swarm come last, in their own order.

Runs go on side by side, in threads of this process that wait for the processes of the commands. As
many *work* as there are jobs. Others mostly *wait*: for an answer that comes too late, or a webhook
that was put off. A client that waits five seconds for each of ten calls would take a job for most
of a minute, in which nobody works; so these go on beside those that work. By the time of the run
without a fault it is known which part of its time such a run works: together they keep half of the
jobs busy at most. They begin one after the other, so that their first moments, in which they work
like any other, do not slow the clients that measure an answer's time.

The order in which runs end is a matter of luck, and nothing that is reported depends on it: a run
knows nothing of those beside it (``trial``), cells are put in the order of their calls, and the red
run at which a swarm ends is the one of the first seed. Runs are not left out because they seem
equal: even where a client sees the same bytes, as in a read whose request or whose answer is lost,
the findings see another story.

Source: docs/explore.md, What it runs, Swarm, Large test suites.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import field
from itertools import filterfalse
from math import inf

from mockserver.domain.record import mutable
from mockserver.explore.baseline import Baseline
from mockserver.explore.failures import FAULTS, InjectionPoint
from mockserver.explore.fault_table import Injection, Trial, compensated, followed
from mockserver.explore.kept import Before, Cell
from mockserver.explore.lab import Lab
from mockserver.explore.minimise import minimise
from mockserver.explore.verdicts import Verdict


@mutable
class Exploration:
    """What is known when it ends, or is ended: ``left_out`` is what was not tried, ``why`` for what
    reason, ``before`` an earlier report, ``dropped`` what was kept and does not count after all,
    ``beyond_limit`` the second faults for which there was no room."""

    command: Sequence[str]
    seed: int
    baseline: Baseline
    cells: list[Cell] = field(default_factory=list)
    left_out: list[Trial] = field(default_factory=list)
    why: str = "budget"
    before: Before | None = None
    dropped: list[Cell] = field(default_factory=list)
    beyond_limit: list[Trial] = field(default_factory=list)

    def was(self, cell: Cell) -> Verdict | None:
        """What a cell was in the earlier report; None where it was not tried, or there is none."""
        if self.before is None:
            return None
        return self.before.verdict(cell.name)

    def is_red(self, cell: Cell, least: Verdict) -> bool:
        """Whether a cell is at least as bad as a verdict and, where there is an earlier report,
        worse than there: a shop with known faults is stopped by new ones alone."""
        if not cell.verdict.reaches(least):
            return False
        was = self.was(cell)
        return was is None or cell.verdict.rank > was.rank

    def reaches(self, least: Verdict) -> bool:
        """Whether any cell is red."""
        return any(self.is_red(cell, least) for cell in self.cells)


@mutable
class _Search:
    """An exploration under way: what waits its turn (``queue``, and ``making_good``, the second
    faults at refunds and voids), and what runs. ``earlier`` are the cells that are known, ``keep``
    gets each new one; after its ``end`` nothing begins."""

    lab: Lab
    end: float
    exploration: Exploration
    keep: Callable[[Cell], None]
    progress: Callable[[int, int], None]
    earlier: Mapping[str, Cell]
    queue: list[Trial]
    running: dict[Future[Cell], Trial] = field(default_factory=dict)
    making_good: list[Trial] = field(default_factory=list)

    def go(self, pool: ThreadPoolExecutor) -> None:
        """Try all of it: each fault at each call, then second faults where the command makes good,
        since which refunds it makes is known when all before has been tried, then the seeds."""
        began = time.monotonic()
        self._try_queued(pool)
        # What is left in the queue has had no time: nor has anything after it.
        if not self.queue and self.making_good:
            self._try_making_good(pool, time.monotonic() - began)
        self.queue += self.lab.swarm()
        self._try_queued(pool)

    def _try_making_good(self, pool: ThreadPoolExecutor, took: float) -> None:
        """Try the second faults that show most, in the time that all before has taken, or would
        have taken had it not been known: so an exploration at most doubles. There may be a refund
        under each fault, and a fault of each kind at each refund."""
        budget_end = self.end
        # Of what was known only the cells tell how long it took.
        took_of_cells = sum(cell.seconds for cell in self.exploration.cells) / self.lab.plan.jobs
        took = max(took, took_of_cells)
        self.making_good.sort(key=lambda trial: (-trial.priority, trial.name))
        self.queue[:] = self.making_good[:MOST_MAKING_GOOD]
        self.end = min(budget_end, time.monotonic() + took)
        self._try_queued(pool)
        self.exploration.beyond_limit = [*self.queue, *self.making_good[MOST_MAKING_GOOD:]]
        self.queue.clear()
        self.end = budget_end

    def _try_queued(self, pool: ThreadPoolExecutor) -> None:
        """Try one after the other, as many at once as there may be."""
        while self._begin(pool):
            pause: float | None = None
            if self._next_waiting() is not None:
                # The next that waits begins once the last has done most of its work.
                pause = self.lab.base.seconds
            done, _ = wait(self.running, timeout=pause, return_when=FIRST_COMPLETED)
            for run in done:
                cell, trial = run.result(), self.running.pop(run)
                self.keep(cell)
                self._take(cell, trial)
        if self.exploration.why == _FIRST_RED:
            self._end_at_first_red()

    def _begin(self, pool: ThreadPoolExecutor) -> bool:
        """Begin what can be begun, of those that wait one at a time. Returns whether there is more
        to come: something runs, or a cell that was known has made room for another at once."""
        before = len(self.exploration.cells)
        while (trial := self._next_working()) is not None:
            self._begin_one(trial, pool)
        if (trial := self._next_waiting()) is not None:
            self._begin_one(trial, pool)
        return bool(self.running) or len(self.exploration.cells) > before

    @property
    def _is_closed(self) -> bool:
        """Whether nothing may begin now, whatever it is."""
        is_occupied = self.lab.plan.is_alone and bool(self.running)
        return is_occupied or time.monotonic() >= self.end

    def _begin_one(self, trial: Trial, pool: ThreadPoolExecutor) -> None:
        """Run a trial, unless what came of it is known from an exploration that goes on."""
        self.queue.remove(trial)
        if trial.name in self.earlier:
            self._take(self.earlier[trial.name], trial)
        else:
            self.running[pool.submit(self._try, trial)] = trial

    def _next_working(self) -> Trial | None:
        """The first of the queue that keeps a processor busy, if one may begin now: as many at once
        as there are jobs."""
        working = [trial for trial in self.running.values() if _works(trial)]
        if len(working) >= self.lab.plan.jobs or self._is_closed:
            return None
        return next(filter(_works, self.queue), None)

    def _next_waiting(self) -> Trial | None:
        """The first of the queue that waits for most of its time, if one may begin now: beside
        those that work, as many as together keep half of the jobs busy, and one in any case."""
        jobs = self.lab.plan.jobs
        waiting = [trial for trial in self.running.values() if not _works(trial)]
        jobs_kept_busy = sum(map(self._work_of, waiting))
        is_full = jobs_kept_busy > jobs / 2 or len(waiting) >= MOST_WAITING * jobs
        if is_full or self._is_closed:
            return None
        return next(filterfalse(_works, self.queue), None)

    def _work_of(self, trial: Trial) -> float:
        """The part of its time in which a run works, as long as the one without a fault takes."""
        return self.lab.base.seconds / (self.lab.base.seconds + trial.waits)

    def _try(self, trial: Trial) -> Cell:
        """One run, in a thread of its own. What it printed is in the cell, so the file goes."""
        tried = self.lab.try_one(trial)
        cell = tried.cell()
        tried.seen.output.unlink()
        return cell

    def _take(self, cell: Cell, trial: Trial) -> None:
        """Count a cell, and see what follows from it."""
        plan, exploration = self.lab.plan, self.exploration
        exploration.cells.append(cell)
        if trial.seed is None:
            if len(trial.injections) == 1:
                self._plan_second(cell, trial)
        elif cell.verdict.reaches(plan.least) and not plan.has_all:
            # A swarm ends at its first red run.
            exploration.left_out, exploration.why = [*self.queue, *exploration.left_out], _FIRST_RED
            self.queue.clear()
        done = len(exploration.cells)
        self.progress(done, done + len(self.queue) + len(self.running))

    def _plan_second(self, cell: Cell, trial: Trial) -> None:
        """Plan what else may fail once a single fault has struck and done no harm: where it has,
        the cell is red already, and a second fault says no more."""
        lab = self.lab
        calls = lab.wanted(InjectionPoint(*call) for call in cell.calls)
        faults = lab.timed(lab.plan.faults)
        is_harmless = cell.verdict in (Verdict.SURVIVED, Verdict.FAILED)
        if lab.plan.pairs and is_harmless:
            self.queue += followed(trial, calls, faults)
            self.queue.sort(key=lambda waiting: -waiting.priority)
            return
        # What was given back is doubtful without the shop's books.
        may_have_made_good = is_harmless or cell.verdict is Verdict.DOUBTFUL
        if may_have_made_good and not trial.own_option:
            self.making_good += compensated(trial, calls, lab.base.points, faults)

    def _end_at_first_red(self) -> None:
        """A swarm ends with the red run of the first seed, with the fewest of its faults under
        which it stays red; what runs beside it have found beyond that seed depends on the machine,
        and is dropped."""
        lab, exploration, least = self.lab, self.exploration, self.lab.plan.least
        red = [cell for cell in exploration.cells if cell.is_drawn and cell.verdict.reaches(least)]
        first = min(red, key=lambda cell: cell.seed)
        beyond = [cell for cell in exploration.cells if cell.seed > first.seed]
        exploration.dropped = [cell for cell in beyond if cell.name not in self.earlier]
        exploration.left_out += [lab.of_seed(cell.seed) for cell in beyond]
        exploration.left_out.sort(key=lambda trial: trial.seed or 0)
        exploration.cells = [cell for cell in exploration.cells if cell.seed < first.seed]
        self._keep_smallest(first)

    def _keep_smallest(self, red: Cell) -> None:
        """Keep a red run of a seed, with the fewest of its faults under which it stays red."""
        smallest = red

        def stays_red(chosen: Sequence[Injection]) -> bool:
            nonlocal smallest
            cell = self._try(Trial(tuple(chosen), red.seed))
            is_red = cell.verdict.reaches(self.lab.plan.least)
            if is_red and len(cell.injections) < len(smallest.injections):
                smallest = cell
            return is_red

        # What was drawn for calls that have not come is no part of it.
        struck = [
            injection
            for injection in self.lab.of_seed(red.seed).injections
            if (str(injection.point), injection.fault.name) in red.injections
        ]
        try:
            minimise(struck, stays_red)
        finally:
            # Also when it is interrupted: what was found until then is still red.
            self.exploration.cells.append(smallest)
            self.keep(smallest)


def _works(trial: Trial) -> bool:
    """Whether a run keeps a processor busy, rather than wait. A swarm goes by its seeds alone, so
    each of its runs counts as one that does."""
    return not trial.waits or trial.seed is not None


_FIRST_RED = "first red"
"""Why a swarm has left out the rest: it ends at its first red run."""

MOST_WAITING = 8
"""Runs that wait, for each job, that may go on at once: each is a process that takes memory."""

MOST_MAKING_GOOD = 60
"""Runs with a second fault where the command makes good, unless all pairs are asked for."""


def explore(
    lab: Lab,
    *,
    known: Iterable[Cell],
    keep: Callable[[Cell], None],
    progress: Callable[[int, int], None],
) -> Exploration:
    """Try what the plan asks for, but for what is ``known``. ``keep`` gets each new cell,
    ``progress`` how many of how many are done. Ends early, with what was found, when the budget is
    spent or on ``KeyboardInterrupt``."""
    end = inf
    if lab.plan.budget is not None:
        end = time.monotonic() + lab.plan.budget
    runner, exploration = lab.runner, Exploration(lab.runner.argv, lab.runner.seed, lab.base)
    earlier = {cell.name: cell for cell in known}
    search = _Search(lab, end, exploration, keep, progress, earlier, queue=lab.matrix())
    # Threads enough for those that work and those that wait: none of them begins late.
    with ThreadPoolExecutor((1 + MOST_WAITING) * lab.plan.jobs) as pool:
        try:
            search.go(pool)
        except KeyboardInterrupt:
            exploration.why = "interrupted"
            runner.commands.end_all()
            # What was running is left out too, and would have been the next.
            search.queue[:0] = search.running.values()
        except BaseException:
            # Else the pool would wait for all that still run before anybody hears of it.
            runner.commands.end_all()
            raise
    exploration.left_out += search.queue
    exploration.cells.sort(key=_order_of_cells(lab.base))
    return exploration


def _order_of_cells(base: Baseline) -> Callable[[Cell], tuple[object, ...]]:
    """Puts cells in the order of their calls, then of the table of failures; pairs behind single
    faults, seeds behind both. The order in which runs end is a matter of luck."""
    places = {str(point): place for place, point in enumerate(base.points)}
    columns = list(FAULTS)

    def order(cell: Cell) -> tuple[object, ...]:
        struck = [(places.get(at, 0), columns.index(by)) for at, by in cell.injections]
        return cell.seed, len(struck), struck

    return order
