"""The whole of an exploration: the baseline, what is tried, what came of it, and what a folder keeps of that, so that
it can go on later. Source: docs/explore.md."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict, astuple, field
from pathlib import Path
from typing import Any

from mockserver.adapters.strict_yaml import scenario_text
from mockserver.books.comparison import COMPARED
from mockserver.domain.clock import Micros
from mockserver.domain.masking import mask_text
from mockserver.domain.record import mutable, record, replace
from mockserver.explore.fault_table import SEED, Trial, drawn, followed, name_of, trials
from mockserver.explore.shrink import minimise
from mockserver.explore.trial import FIRST_TIMEOUT, Observed, TrialRunner, differences, no_call
from mockserver.explore.verdicts import Judged, Reference, Verdict, invariants_of, judged, key_of, money_differences
from mockserver.scenario.failures import CRASH, FAULTS, TWICE, Fault, InjectionPoint


@record
class Plan:
    """What is asked for. ``operations`` and ``faults`` are those to try, ``timeout`` and ``budget`` seconds of real
    time for one run and for all, None for the usual and for as long as it takes. With ``seeds`` a swarm of so many runs
    is tried instead, until the first that is at least as bad as ``least`` unless it ``has_all``."""

    operations: frozenset[str]
    faults: Sequence[Fault]
    client_timeout: Micros
    jobs: int
    timeout: float | None = None
    budget: float | None = None
    pairs: bool = False
    seeds: int = 0
    has_all: bool = False
    least: Verdict = Verdict.UNSAFE

    @property
    def crashes(self) -> bool:
        """Whether the command is killed too."""
        return any(fault.at == CRASH for fault in self.faults)

    def timed(self, faults: Iterable[Fault], base: Baseline) -> list[Fault]:
        """Faults for a client that waits so long."""
        return [fault.timed(self.client_timeout, is_manual=base.is_manual) for fault in faults]


class NoBaseline(Exception):
    """The command does not pass, or not twice alike, without any fault: the text says what is wrong."""


@record
class Baseline:
    """The command without any fault: its calls in their order with the status of each answer, the seconds it took, and
    whether its clock was set by hand; what runs are compared with, and those that were killed (``crash``). ``due`` is
    what came due without a call and can fail."""

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


@record
class Cell:
    """What came of one run: plain data, so that it can be kept. ``file`` is the name of its files, ``calls`` are the
    points of the run, ``scenario`` is the text of the file that reproduces it, ``output`` the end of what the command
    printed, both empty when it survived. ``money`` says in money what happened."""

    file: str
    point: str
    fault: str
    verdict: Verdict
    exit: int | None
    seconds: float
    findings: Sequence[Mapping[str, Any]]
    timeline: str
    calls: Sequence[tuple[Any, ...]]
    scenario: str = ""
    output: str = ""
    money: Sequence[str] = ()

    @property
    def name(self) -> str:
        """The name of what was tried: ``charge.create#1/lost_answer``."""
        return name_of(self.file, self.point, self.fault)

    @property
    def is_drawn(self) -> bool:
        """Whether it is a run of a swarm."""
        return self.file.startswith(SEED)

    @property
    def seed(self) -> int:
        """The seed of a run of a swarm, else 0."""
        return int(self.file.removeprefix(SEED)) if self.is_drawn else 0

    @property
    def is_single(self) -> bool:
        """Whether it is one fault at one call: a cell of the matrix."""
        return self.name == f"{self.point}/{self.fault}" and "+" not in self.fault

    @property
    def injections(self) -> list[tuple[str, str]]:
        """Each call with the fault that struck it."""
        return list(zip(self.point.split("+"), self.fault.split("+"), strict=True))

    @property
    def found(self) -> list[str]:
        """The names of its findings, each once."""
        return list(dict.fromkeys(row["finding"] for row in self.findings))


class NoReport(Exception):
    """A file is no report of an exploration: the text says so."""


@record
class Before:
    """The cells of an earlier report, by name, as it has them; ``file`` is where it stands."""

    file: Path
    cells: Mapping[str, Mapping[str, Any]]

    @classmethod
    def read(cls, file: Path) -> Before:
        """The report in a file. Raises ``NoReport``, and ``OSError``."""
        try:
            rows = json.loads(file.read_text("utf-8"))["cells"]
            cells = {str(row.get("name") or f"{row['point']}/{row['fault']}"): row for row in rows}
            for row in cells.values():
                Verdict(row["verdict"])
        except (ValueError, KeyError, TypeError, AttributeError):
            raise NoReport(f"{file} is no report.json of an exploration") from None
        return cls(file, cells)

    def verdict(self, name: str) -> Verdict | None:
        """What a cell was; None for one that was not tried."""
        row = self.cells.get(name)
        return None if row is None else Verdict(row["verdict"])

    def words(self, name: str) -> str:
        """How a cell ended and what was found, in words."""
        row = self.cells[name]
        code = row.get("exit")
        end = "not done in time" if code is None else f"exit code {code}"
        told = [*row.get("findings", ()), *row.get("money", ())]
        return f"{row['verdict']}, {end}" + (f": {', '.join(map(str, told))}" if told else "")


CELLS = "cells.jsonl"


class OtherExploration(Exception):
    """The folder holds another exploration, or something else: the text says how it differs."""


class ExplorationFolder:
    """The folder of one exploration, with each cell, its scenario file and its output. It is made when it does not
    exist. ``cells.jsonl`` has a line that says what was explored, then one for each cell, written as it comes."""

    def __init__(self, folder: Path, command: Sequence[str], seed: int, client_timeout: str) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._cells = folder / CELLS
        self._head = {"command": list(map(mask_text, command)), "seed": seed, "client timeout": client_timeout}

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Keep others out, where the system has locks. Raises ``OtherExploration`` when one is at work there."""
        try:
            from fcntl import LOCK_EX, LOCK_NB, flock
        except ImportError:
            yield
            return
        handle = os.open(self.folder, os.O_RDONLY)
        try:
            try:
                flock(handle, LOCK_EX | LOCK_NB)
            except BlockingIOError:
                raise OtherExploration(f"another exploration is at work in {self.folder}") from None
            yield
        finally:
            os.close(handle)

    def scenario_of(self, cell: Cell) -> Path | None:
        """The file that reproduces a cell."""
        return self.folder / f"{cell.file}.yaml" if cell.scenario else None

    def begin(self) -> None:
        """Begin anew: what the last exploration kept here goes."""
        if self._cells.exists():
            self._remove(self._read()[1])
        self._cells.write_text(_line(self._head), "utf-8")

    def resume(self) -> list[Cell]:
        """The cells of an earlier exploration of the same. Raises ``OtherExploration``."""
        if not self._cells.exists():
            self.begin()
            return []
        head, cells = self._read()
        for name, wanted in self._head.items():
            if head.get(name) != wanted:
                raise OtherExploration(f"{self._cells} is of another {name}: it has {head.get(name)!r}, now {wanted!r}")
        return cells

    def keep(self, cell: Cell) -> None:
        """Add a cell."""
        for suffix, text in ((".yaml", cell.scenario), (".log", cell.output)):
            if text:
                (self.folder / f"{cell.file}{suffix}").write_text(text, "utf-8")
        with self._cells.open("a", encoding="utf-8") as file:
            file.write(_line(asdict(cell)))

    def settle(self, dropped: Collection[Cell]) -> None:
        """It has ended: without what was dropped, and in an order that does not depend on the machine."""
        head, cells = self._read()
        gone = {cell.file for cell in dropped}
        self._remove(cell for cell in cells if cell.file in gone)
        # Of a run that was made smaller the last line counts.
        left = {cell.file: cell for cell in cells if cell.file not in gone}
        ordered = sorted(left.values(), key=lambda cell: (cell.seed, cell.file))
        self._cells.write_text("".join(map(_line, (head, *map(asdict, ordered)))), "utf-8")

    def _remove(self, cells: Iterable[Cell]) -> None:
        for cell in cells:
            for suffix in (".yaml", ".log"):
                (self.folder / f"{cell.file}{suffix}").unlink(missing_ok=True)

    def _read(self) -> tuple[dict[str, object], list[Cell]]:
        lines = self._cells.read_text("utf-8", "replace").splitlines(keepends=True)
        if lines and not lines[-1].endswith("\n"):
            # The last time it was ended in the middle of a line.
            lines.pop()
            self._cells.write_text("".join(lines), "utf-8")
        try:
            head, *rows = [json.loads(line) for line in lines]
            cells = [Cell(**{**row, "verdict": Verdict(row["verdict"])}) for row in rows]
            if not isinstance(head, dict) or any(Path(cell.file).name != cell.file for cell in cells):
                raise ValueError
        except (ValueError, TypeError, KeyError):
            raise OtherExploration(
                f"{self._cells} is not a file of an exploration; remove it or choose another --out"
            ) from None
        return head, cells


def _line(value: object) -> str:
    return json.dumps(value) + "\n"


@mutable
class Exploration:
    """What is known when it ends, or is ended: ``left_out`` is what was not tried, ``why`` for what reason, ``before``
    an earlier report, ``dropped`` what was kept and does not count after all."""

    command: Sequence[str]
    seed: int
    baseline: Baseline
    cells: list[Cell] = field(default_factory=list)
    left_out: list[Trial] = field(default_factory=list)
    why: str = "budget"
    before: Before | None = None
    dropped: list[Cell] = field(default_factory=list)

    def was(self, cell: Cell) -> Verdict | None:
        """What a cell was in the earlier report; None where it was not tried, or there is none."""
        return self.before.verdict(cell.name) if self.before is not None else None

    def is_red(self, cell: Cell, least: Verdict) -> bool:
        """Whether a cell is at least as bad as a verdict and, where there is an earlier report, worse than there."""
        was = self.was(cell)
        return cell.verdict.reaches(least) and (was is None or cell.verdict.rank > was.rank)

    def reaches(self, least: Verdict) -> bool:
        """Whether any cell is red."""
        return any(self.is_red(cell, least) for cell in self.cells)


def baseline(runner: TrialRunner, timeout: float | None) -> Baseline:
    """Run the command twice without any fault. Raises ``NoBaseline``, and what ``TrialRunner.try_out`` raises."""
    first, second = (
        _passed(runner.try_out(name, _scenario(name, "", runner.seed, ()), timeout or FIRST_TIMEOUT), runner.argv)
        for name in ("baseline-1", "baseline-2")
    )
    found = differences(first.entries, second.entries)
    if found:
        raise NoBaseline("\n".join(["two runs without any fault made different calls:", *found]))
    statuses = {(entry["op"], entry["call"]): entry["status"] for entry in first.entries}
    unseen = second.after.money.unseen(second.after.rows)
    seeded = [row for row in first.after.money.unseen(first.after.rows) if row in unseen]
    ignored = {key for row in seeded if (key := key_of(row)) is not None}
    for seen in (first, second):
        _check_books(seen, ignored)
    return Baseline(
        calls=tuple((one, statuses[one.op, one.nth]) for one in first.points if not one.is_counted),
        due=tuple(one for one in first.points if one.is_counted),
        seconds=max(first.ended.seconds, second.ended.seconds),
        is_manual=first.is_manual,
        reference=Reference.of(first.after.money, second.after.money),
        ignored=frozenset(ignored),
    )


def crash_baseline(runner: TrialRunner, base: Baseline, timeout: float | None) -> Baseline:
    """Run the command, and then what the shop runs after a reboot, without a kill: with that the crashes are compared.
    Raises ``NoBaseline`` where the second takes money again, and what ``TrialRunner.try_out`` raises."""
    scenario, name = _scenario("crash-baseline", "", runner.seed, ()), "crash-baseline"
    seen = runner.try_out(name, scenario, timeout or FIRST_TIMEOUT, ignored=base.ignored, restarts=True)
    advice = "name what your shop runs after a reboot: --restart"
    try:
        _check_books(_passed(seen, runner.argv), base.ignored)
    except NoBaseline as problem:
        raise NoBaseline(f"a restart after the command had ended does not go well ({advice}):\n{problem}") from None
    shared, money = base.reference.shared, base.reference.money
    if money is None:
        return base
    again = [found.words for found in money_differences(money, seen.after.money, shared) if found.is_harm]
    if again:
        raise NoBaseline("\n".join([f"a restart after the command had ended takes money again: {advice}", *again]))
    return replace(base, crash=Reference(seen.after.money, shared))


def _check_books(seen: Observed, ignored: Collection[tuple[str, str]]) -> None:
    """Raises ``NoBaseline`` when the shop's books cannot be read, or differ without any fault."""
    after = seen.after
    if after.failed:
        raise NoBaseline(f"without any fault this fails: {after.failed}")
    if after.broken:
        raise NoBaseline("\n".join(["without any fault an invariant is broken:", *after.broken]))
    found = [row for row in after.differing if not any(one in ignored for one in row["about"].items())]
    if found:
        told = "\n".join(f"{row['finding']}: {row['evidence'][0]['line']}" for row in found)
        raise NoBaseline(f"without any fault the shop's books differ from the sandbox's:\n{told}\n{seen.timeline}")


def _passed(seen: Observed, argv: Sequence[str]) -> Observed:
    """A run without faults that is fit to be compared. Raises ``NoBaseline``."""
    said = seen.words
    if seen.ended.exit is None:
        raise NoBaseline(f"without any fault the command was not done in {seen.ended.seconds:.0f} s (--timeout){said}")
    if seen.ended.exit != 0:
        raise NoBaseline(f"without any fault the command ended with exit code {seen.ended.exit}{said}")
    if not seen.has_called:
        raise NoBaseline(no_call(argv))
    errors = [row for row in seen.after.findings if row["severity"] == "error" and row["finding"] not in COMPARED]
    if errors:
        named = "\n".join(f"{row['finding']}: {row['title']}" for row in errors)
        raise NoBaseline(f"without any fault there are findings of severity error:\n{named}\n{seen.timeline}")
    return seen


def explore(
    runner: TrialRunner,
    plan: Plan,
    base: Baseline,
    *,
    known: Iterable[Cell] = (),
    keep: Callable[[Cell], None] = lambda cell: None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Exploration:
    """Try what the plan asks for, but for what is ``known``. ``keep`` gets each new cell, ``progress`` how many of how
    many are done. Ends early, with what was found, when the budget is spent or on ``KeyboardInterrupt``."""
    end = None if plan.budget is None else time.monotonic() + plan.budget
    earlier = {cell.name: cell for cell in known}
    made = Exploration(runner.argv, runner.seed, base)
    points = [point for point in base.points if point.op in plan.operations]
    faults = plan.timed(plan.faults, base)
    drawn = (drawn_for(seed, plan, base) for seed in range(runner.seed, runner.seed + plan.seeds))
    queue = [trial for trial in drawn if trial.injections] if plan.seeds else trials(points, faults)
    running: dict[Future[Cell], Trial] = {}

    def take(cell: Cell, trial: Trial) -> None:
        made.cells.append(cell)
        if plan.pairs and len(trial.injections) == 1 and cell.verdict in (Verdict.SURVIVED, Verdict.FAILED):
            calls = [point for call in cell.calls if (point := InjectionPoint(*call)).op in plan.operations]
            queue.extend(followed(trial, calls, faults))
            queue.sort(key=lambda one: -one.priority)
        if trial.seed is not None and not plan.has_all and cell.verdict.reaches(plan.least):
            made.left_out, made.why = [*queue, *made.left_out], "first red"
            queue.clear()
        progress(len(made.cells), len(made.cells) + len(queue) + len(running))

    with ThreadPoolExecutor(plan.jobs) as pool:
        try:
            while queue or running:
                while queue and len(running) < plan.jobs and (end is None or time.monotonic() < end):
                    trial = queue.pop(0)
                    if trial.name in earlier:
                        take(earlier[trial.name], trial)
                    else:
                        running[pool.submit(_try, runner, plan, base, trial)] = trial
                if not running:
                    break
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for one in done:
                    cell, trial = one.result(), running.pop(one)
                    keep(cell)
                    take(cell, trial)
            if made.why == "first red":
                _end_at_first_red(runner, plan, base, made, keep)
                made.dropped = [cell for cell in made.dropped if cell.name not in earlier]
        except KeyboardInterrupt:
            made.why = "interrupted"
            runner.commands.end_all()
            queue[:0] = running.values()
        except BaseException:
            runner.commands.end_all()
            raise
    made.left_out += queue
    places = {str(point): place for place, point in enumerate(base.points)}
    columns = list(FAULTS)

    def place(cell: Cell) -> tuple[object, ...]:
        struck = [(places.get(at, 0), columns.index(by)) for at, by in cell.injections]
        return cell.seed, len(struck), struck

    made.cells.sort(key=place)
    return made


def _end_at_first_red(
    runner: TrialRunner, plan: Plan, base: Baseline, made: Exploration, keep: Callable[[Cell], None]
) -> None:
    """A swarm ends with the red run of the first seed, with the fewest of its faults under which it stays red; what
    runs beside it have found beyond that seed depends on the machine, and is dropped."""
    first = min((cell for cell in made.cells if cell.verdict.reaches(plan.least)), key=lambda cell: cell.seed)
    made.dropped = [cell for cell in made.cells if cell.seed > first.seed]
    made.left_out += [drawn_for(cell.seed, plan, base) for cell in made.dropped]
    made.left_out.sort(key=lambda trial: trial.seed or 0)
    made.cells = [cell for cell in made.cells if cell.seed < first.seed]
    found = [first]

    def is_red(chosen: Sequence[tuple[InjectionPoint, Fault]]) -> bool:
        cell = _try(runner, plan, base, Trial(tuple(chosen), first.seed))
        if cell.verdict.reaches(plan.least):
            found.append(cell)
        return found[-1] is cell

    try:
        minimise(drawn_for(first.seed, plan, base).injections, is_red)
    finally:
        made.cells.append(min(found, key=lambda cell: len(cell.injections)))
        keep(made.cells[-1])


def drawn_for(seed: int, plan: Plan, base: Baseline) -> Trial:
    """What a seed tries of a plan."""
    points = [point for point in base.points if point.op in plan.operations]
    return drawn(seed, points, plan.timed(plan.faults, base))


def try_one(
    runner: TrialRunner, plan: Plan, base: Baseline, trial: Trial
) -> tuple[Observed, Judged, Mapping[str, Any]]:
    """Run the command once under what is tried: what was seen, the verdict on it, and the plain data of the scenario
    file that repeats it. Raises what ``TrialRunner.try_out`` raises."""
    timeout = plan.timeout if plan.timeout is not None else 10 * base.seconds + 10
    runner = runner if trial.seed is None else replace(runner, seed=trial.seed)
    scenario = _scenario(trial.file, trial.story, runner.seed, trial.rules)
    rules = [rule["id"] for rule in scenario["rules"]]
    has_books, reference, is_ours = bool(runner.aftermath.books), base.reference_of(trial), trial.is_ours
    if reference.money is not None and not has_books and not is_ours:
        scenario["money"] = invariants_of(reference.money, reference.shared)
    seen = runner.try_out(trial.file, scenario, timeout + trial.waits, ignored=base.ignored)
    has_fired = not seen.fired.isdisjoint(rules)
    if trial.seed is None:
        due = [fault.comes_due for _, fault in trial.injections if fault.comes_due]
        has_fired = seen.has_struck(rules) and all(f"came due: {one}" in seen.timeline for one in due)
    code, after = seen.ended.exit, seen.after
    made = judged(code, after, reference, has_books=has_books, has_fired=has_fired, is_ours=is_ours)
    if seen.why_not and made.verdict is Verdict.NOT_REACHED:
        made = replace(made, words=[seen.why_not])
    names = ", ".join(dict.fromkeys(row["finding"] for row in seen.after.findings if row["severity"] == "error"))
    told = "; ".join([names, *made.words] if names else made.words)
    ended = f"{trial.story}. {made.verdict.capitalize()}, {seen.ended}"
    scenario["description"] = f"{ended}: {told}" if told else ended
    return seen, made, scenario


def _try(runner: TrialRunner, plan: Plan, base: Baseline, trial: Trial) -> Cell:
    seen, made, scenario = try_one(runner, plan, base, trial)
    has_survived = made.verdict is Verdict.SURVIVED
    cell = Cell(
        trial.file,
        trial.point,
        trial.fault,
        verdict=made.verdict,
        exit=seen.ended.exit,
        seconds=round(seen.ended.seconds, 3),
        findings=seen.after.findings,
        timeline=seen.timeline,
        calls=tuple(astuple(point) for point in seen.points),
        scenario="" if has_survived else scenario_text(scenario),
        output="" if has_survived else seen.printed(),
        money=tuple(made.words),
    )
    seen.output.unlink()
    return cell


def _scenario(name: str, story: str, seed: int, rules: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"version": 1, "name": name, "description": story, "seed": seed, "rules": list(rules)}
