"""From a chaotic run to the fewest faults that still fail.

A scenario of chance strikes dozens of calls, and a run fails. Which of the faults has done it? The
journal says which rule has struck what, so what happened by chance can be written down as rules for
single calls (``fired_faults``, ``rules_of``). A run under these must fail in the same way: then
chance plays no part any more, and halves of them can be tried until none can be left out
(``minimise``). The result is an ordinary scenario file.

Every run is made in a sandbox of the same key: all ids and draws follow from that, so a webhook or
a row is found again by its id. Rules of a command that does not make the same calls each time do
not strike what they did, and that is said (``NotRepeated``).

Source: docs/explore.md, Shrinking a chaotic run.
"""

import json
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise
from typing import Any, NamedTuple, TypeVar

from mockserver.domain.masking import mask_text
from mockserver.domain.record import record
from mockserver.explore.run_answers import DecisionRow, EntryRow
from mockserver.explore.trial import FIRST_TIMEOUT, Observed, TrialRunner, no_call
from mockserver.scenario.file_model import read_model
from mockserver.scenario.operations import PROVIDER_OPERATIONS, UNREQUESTED
from mockserver.scenario.outcome import ThenMap
from mockserver.scenario.provider_outcome import Approve
from mockserver.scenario.webhook_plan import WebhookPlan

T = TypeVar("T")
Source = Mapping[str, Any]
"""The plain data of a scenario file."""

_RENEWAL, _ROW, _DELIVERY = "subscription.renew", "batch.row", "webhook.deliver"
_NO_FAULT = ("times", "as_usual")
_REPLAY = "replay"
"""The key of an outcome that gives the first answer of a call again."""

_REPLACED = ("version", "name", "description", "draws", "rules", "examples")
"""The keys of a scenario that the smaller one has of its own."""


class FaultPlace(NamedTuple):
    """Where something struck: call ``nth`` of ``op``, as the provider of that try was asked (None:
    no provider), or while its body was sent; row ``nth`` of a batch; or a webhook that came due, by
    the object that it is ``about`` and how that stands."""

    op: str
    nth: int
    attempt: int | None = None
    is_upload: bool = False
    about: tuple[str, str] | None = None

    @property
    def is_counted(self) -> bool:
        """Whether a rule must count for itself to find it: the number of the call is not known
        there."""
        return self.op == _RENEWAL or self.is_upload

    def __str__(self) -> str:
        return f"{self.op}#{self.nth}"


@record
class FiredFault:
    """One part of what a rule made happen: ``level`` is a key of an outcome, ``what`` stands under
    it in the file. An answer that was given again (``replay``) is that of the ``first`` call of its
    operation, by number; 0 for everything else."""

    rule: str
    place: FaultPlace
    level: str
    what: Any
    first: int = 0

    @property
    def is_fault(self) -> bool:
        """Whether it is anything out of the ordinary."""
        outcome = read_model(ThenMap, {self.level: self.what}).outcome
        return outcome.provider != Approve() and outcome.webhook != WebhookPlan()


class Fired(NamedTuple):
    """What the rules of a scenario did: the ``faults`` that rules for single calls can repeat, and
    the names of rules that fired ``beyond`` these, where none can be aimed."""

    faults: Sequence[FiredFault]
    beyond: Sequence[str]


def fired_faults(entries: Iterable[EntryRow], source: Source) -> Fired:
    """What the rules of a scenario did, by the journal (``GET /__admin/journal``) of a sandbox in
    which it was in force. A rule is beyond repeating where it struck no call, or after its sequence
    had ended."""
    rules = {str(rule["id"]): rule for rule in source.get("rules", ())}
    found: dict[tuple[FaultPlace, str], FiredFault] = {}
    beyond: dict[str, None] = {}
    entries = list(entries)
    firsts = _FirstAnswers(entries)
    for place, decision in _placed(entries, rules):
        name, outcome = decision["rule"], _outcome(rules, decision)
        if name is None or name not in rules:
            continue
        if outcome is None:
            beyond[name] = None
            continue
        if place is None:
            nowhere = [FiredFault(name, FaultPlace("", 0), *level) for level in outcome.items()]
            if any(fault.is_fault for fault in nowhere):
                beyond[name] = None
            continue
        for level, what in outcome.items():
            first = firsts.first_of(name, place) if level == _REPLAY else 0
            # The first call of those that get one answer acts as usual.
            is_first = first == place.nth
            # Nobody waits for what comes due by itself.
            is_unfelt = level == "latency" and place.op in UNREQUESTED
            if not is_first and not is_unfelt:
                # The first rule that says something of a level decides it.
                found.setdefault((place, level), FiredFault(name, place, level, what, first))
    return Fired(tuple(found.values()), tuple(beyond))


class _FirstAnswers:
    """Finds the call whose answer another was given again: both have the same answer by the same
    rule."""

    def __init__(self, entries: Iterable[EntryRow]) -> None:
        self._answers = {(entry["op"], entry["call"]): entry.get("answer") for entry in entries}
        self._firsts: dict[tuple[str, str, str], int] = {}

    def first_of(self, rule: str, place: FaultPlace) -> int:
        """The number of that call; its own for the first of its answer."""
        answer = json.dumps(self._answers[place.op, place.nth])
        return self._firsts.setdefault((rule, place.op, answer), place.nth)


def _placed(
    entries: Iterable[EntryRow], rules: Mapping[str, Source]
) -> Iterator[tuple[FaultPlace | None, DecisionRow]]:
    """Each decision with its place, None where no rule can be aimed. One call may ask several
    providers, or one several times: the try of a provider is over when it has said something."""
    deliveries, renewals = count(1), Counter[int]()
    for entry in entries:
        attempt, is_over = 0, True
        for decision in entry["decisions"]:
            if decision["stage"] != "provider":
                yield _call_or_delivery(entry, decision, deliveries), decision
                continue
            attempt += is_over
            yield _try(entry, attempt, renewals), decision
            # One that only slows leaves the same try of a provider to the next.
            said = _outcome(rules, decision)
            is_over = said is None or not said.keys() <= {"latency"}


def _call_or_delivery(
    entry: EntryRow, decision: DecisionRow, deliveries: Iterator[int]
) -> FaultPlace | None:
    """Where a rule struck that is about no provider: a call, or a webhook that came due without
    one, numbered by ``deliveries`` and known by its object, whose id is the same in each run."""
    op, call = entry["op"], entry["call"]
    if not op.startswith("clock."):
        is_upload = decision["stage"] == "upload"
        return None if call is None else FaultPlace(op, call, is_upload=is_upload)
    events = entry["events"] if decision["rule"] is not None else ()
    about = {(str(event["id"]), event["after"]) for event in events}
    if len(about) != 1:
        # Of several objects a rule could not tell which one it was.
        return None
    return FaultPlace(_DELIVERY, next(deliveries), about=about.pop())


def _try(entry: EntryRow, attempt: int, renewals: Counter[int]) -> FaultPlace | None:
    """Where a provider was asked: for a row of a batch, for a call, or for a renewal, whose tries
    ``renewals`` counts."""
    op, call, row = entry["op"], entry["call"], entry.get("row")
    if op == _ROW:
        return None if row is None else FaultPlace(op, row, attempt)
    if op in PROVIDER_OPERATIONS - {_RENEWAL}:
        return None if call is None else FaultPlace(op, call, attempt)
    renewals[attempt] += 1
    return FaultPlace(_RENEWAL, renewals[attempt], attempt)


def _outcome(rules: Mapping[str, Source], decision: DecisionRow) -> Source | None:
    """The outcome of a rule that was decided on, with the latency drawn; None when it is none of
    the file's."""
    name, choice = decision["rule"], decision["choice"]
    if name is None or name not in rules or choice is None:
        return None
    outcome = {
        level: what
        for level, what in _chosen(rules[name], choice).items()
        if what is not None and level not in _NO_FAULT
    }
    if "latency" in outcome:
        # A range of latencies: what was drawn of it stands in the journal.
        outcome["latency"] = decision["delay"]
    return outcome


def _chosen(rule: Source, choice: int) -> Source:
    """What a rule says by the number of a choice, from 1: a step of its sequence, one of several
    chances, or the only thing that it says."""
    outcome: Source
    if "sequence" in rule:
        outcome = rule["sequence"][choice - 1]
    elif "chance" in rule:
        chance = rule["chance"]
        if isinstance(chance, list):
            chance = chance[choice - 1]
        outcome = chance["then"]
    else:
        outcome = rule["then"]
    return outcome


def scenario_of(
    faults: Sequence[FiredFault], source: Source, *, name: str, story: str
) -> dict[str, Any]:
    """The plain data of a scenario in which these strike and nothing else. What ``source`` says
    beside its rules stays, its examples apart."""
    kept = {key: value for key, value in source.items() if key not in _REPLACED}
    return {"version": 1, "name": name, "description": story, **kept, "rules": rules_of(faults)}


def rules_of(faults: Sequence[FiredFault]) -> list[dict[str, Any]]:
    """A rule for each place, with all that strikes there; one for calls that get the same
    answer."""
    by_place: dict[FaultPlace, list[FiredFault]] = {}
    # The places of calls that get one answer, by the first of them.
    repeats: dict[FaultPlace, list[FaultPlace]] = {}
    for fault in faults:
        by_place.setdefault(fault.place, []).append(fault)
        if fault.first:
            first = FaultPlace(fault.place.op, fault.first)
            repeats.setdefault(first, [first]).append(fault.place)
    rules = []
    for places in repeats.values():
        rules.append(_repeating({place: by_place.pop(place, ()) for place in places}))
    # A rule does not count what a rule before it has decided: the last comes first.
    counted = sorted((place for place in by_place if place.is_counted), key=lambda one: -one.nth)
    known = [place for place in by_place if not place.is_counted]
    return [*rules, *(_rule(place, by_place[place]) for place in (*known, *counted))]


def _repeating(calls: Mapping[FaultPlace, Sequence[FiredFault]]) -> dict[str, Any]:
    """A rule for calls that get one answer, with what else strikes each. The first of ``calls``
    acts as usual, though its step says ``replay`` too: by that its answer is kept, and the others
    get it again. It is kept by rule and key, so all of them stand in one rule."""
    first = next(iter(calls))
    steps = [
        {_REPLAY: True, **{fault.level: fault.what for fault in faults}}
        for faults in calls.values()
    ]
    return {
        "id": f"{first}-{_REPLAY}".replace("#", "-"),
        "description": _origin(fault for faults in calls.values() for fault in faults),
        "when": {"op": first.op, "call": {"in": [place.nth for place in calls]}},
        "key": ["op"],
        "sequence": steps,
    }


def _origin(faults: Iterable[FiredFault]) -> str:
    """Which rules of the scenario have done it, for the reader of the smaller one."""
    return "from " + " and ".join(dict.fromkeys(fault.rule for fault in faults))


def _rule(place: FaultPlace, faults: Sequence[FiredFault]) -> dict[str, Any]:
    """A rule for one place."""
    name = f"{place.op}-{place.nth}"
    if place.is_upload:
        name += "-upload"
    elif place.attempt is not None:
        name += f"-provider-{place.attempt}"
    rule: dict[str, Any] = {"id": name, "description": _origin(faults), "when": _when(place)}
    if place.is_counted:
        rule["key"] = ["op"]
    return {**rule, "then": {fault.level: fault.what for fault in faults}}


def _when(place: FaultPlace) -> dict[str, Any]:
    """When the rule of a place fires."""
    when: dict[str, Any] = {"op": place.op}
    if place.about is not None:
        subject, status = place.about
        when |= {"request.id": subject, "request.data.status": status}
    elif place.is_counted:
        when["nth"] = place.nth
    elif place.op == _ROW:
        when[_ROW] = place.nth
    else:
        when["call"] = place.nth
    if place.attempt is not None:
        when["attempt"] = place.attempt
    return when


CONFIRMATIONS = 3
"""Runs in which the result must fail before it is believed: a race may fail once by chance."""

_RUN = "shrink"
"""Name of every run."""


class NoFailure(Exception):
    """The command does not fail under the scenario: there is nothing to shrink."""


class NotRepeated(Exception):
    """The failure does not follow from what struck: the text says how that showed."""


class Stopped(Exception):
    """It was interrupted after something smaller had been found: the scenario ``made`` fails, and
    may be larger than need be."""

    def __init__(self, made: dict[str, Any]) -> None:
        super().__init__("interrupted")
        self.made = made


def failure_of(seen: Observed, finding: str | None) -> str | None:
    """How a run fails, as a word for the name of a file; None when it does not: by the finding that
    is looked for, when one is, else by its exit code, else by its first error. A command that says
    itself that it failed is shrunk for that; warnings are no failure, as correct clients have
    some."""
    if finding is not None:
        return finding if finding in _failures(seen) else None
    if seen.ended.exit != 0:
        return _ending(seen)
    errors = (row["finding"] for row in seen.after.findings if row["severity"] == "error")
    return next(errors, None)


def _failures(seen: Observed) -> list[str]:
    """Every way in which a run fails: its exit code, then its findings. Code 0 is among them, and
    no failure that anybody looks for."""
    return [_ending(seen), *(row["finding"] for row in seen.after.findings)]


def _ending(seen: Observed) -> str:
    """How its command ended, as a word: one that had to be stopped has no exit code."""
    code = seen.ended.exit
    return "hung" if code is None else f"exit-{code}"


def _in_words(failure: str) -> str:
    """How a command fails, to follow its name in a sentence."""
    if failure == "hung":
        return "is not done in time"
    code = failure.removeprefix("exit-")
    return f"ends with exit code {code}" if code != failure else f"has the finding {failure}"


@dataclass
class Shrinking:
    """Shrinks the failure of one command under one scenario. ``key`` is the secret key of the
    sandbox of every run, so that identifiers and draws are the same in each; None: one made of the
    seed. ``timeout`` counts seconds, None: 10 times what the command takes without faults, and 10;
    ``report`` gets a line on each run."""

    runner: TrialRunner
    source: Source
    key: str | None = None
    finding: str | None = None
    timeout: float | None = None
    report: Callable[[str], None] = lambda line: None
    _beyond: str = field(default="", init=False)

    def shrink(self) -> dict[str, Any]:
        """The plain data of a scenario with the smallest set of faults that still fails. Raises
        ``NoFailure``, ``NotRepeated``, ``Stopped``, and what ``TrialRunner.try_out`` raises."""
        plain = self._run(())
        failure = failure_of(plain, self.finding)
        if failure is not None:
            raise NotRepeated(
                f"without any fault the command {_in_words(failure)} too{plain.words}"
            )
        if not plain.has_called:
            raise NotRepeated(f"{no_call(self.runner.argv)}{plain.words}")
        self.report("without any fault: passes")
        # A fault may make a command retry and wait, but not for ever.
        self.timeout = self.timeout or 10 * plain.ended.seconds + 10
        failure, fired = self._first()
        faults = [fired_fault for fired_fault in fired if fired_fault.is_fault]
        # What is no fault, as an approval, may be needed: a rule behind it would have struck else.
        smallest: Sequence[FiredFault] = self._repeated(failure, faults, fired)
        calls = _calls_of(faults)

        def fails(chosen: Sequence[FiredFault]) -> bool:
            nonlocal smallest
            found = self._fails(failure, chosen)
            self.report(f"{_parts(chosen)}: {'still fails' if found else 'passes'}")
            if found and len(chosen) < len(smallest):
                smallest = chosen
            return found

        try:
            left = minimise(smallest, fails)
            # It may have failed by chance.
            self._confirm(failure, left)
        except KeyboardInterrupt:
            raise Stopped(
                self._made(failure, calls, smallest, "interrupted, so there may be a smaller one")
            ) from None
        return self._made(failure, calls, left, f"confirmed in {CONFIRMATIONS} runs")

    def _confirm(self, failure: str, left: Sequence[FiredFault]) -> None:
        """Raises ``NotRepeated`` where the result does not fail each time: a race may have failed
        once by chance, and would send its reader to the wrong fault."""
        for turn in range(1, CONFIRMATIONS + 1):
            if not self._fails(failure, left):
                raise NotRepeated(
                    f"the smallest set of faults, {_parts(left)}, failed once and passed in run "
                    f"{turn} of {CONFIRMATIONS} that were to confirm it: the command does not do "
                    "the same every time"
                )
            self.report(f"{_parts(left)}: confirmed {turn} of {CONFIRMATIONS}")

    def _first(self) -> tuple[str, Sequence[FiredFault]]:
        """The failure under the scenario as it is, and what fired."""
        first = self._run(None)
        failure, name = failure_of(first, self.finding), self.source["name"]
        if failure is None:
            missing = "exit code 0, no finding of severity error"
            why = missing if self.finding is None else f"{self.finding} is not found"
            raise NoFailure(f"the command does not fail under {name}: {why}")
        fired, beyond = fired_faults(first.journal, self.source)
        faults = _parts([fired_fault for fired_fault in fired if fired_fault.is_fault])
        self.report(f"under {name}, with {faults}: {_in_words(failure)}")
        # Why a failure may not follow from what has fired, should it turn out so.
        if beyond:
            self._beyond = (
                f"; rules that struck where none can be aimed at one call: {', '.join(beyond)}"
            )
        if first.journal[:1] and first.journal[0]["id"] > 1:
            self._beyond += (
                "; the journal of the server has dropped its first entries (--journal-limit)"
            )
        if not fired:
            raise NotRepeated(
                f"the command {_in_words(failure)}, and no fault had struck a "
                f"call{self._beyond}{first.words}"
            )
        return failure, fired

    def _repeated(self, failure: str, *sets: Sequence[FiredFault]) -> Sequence[FiredFault]:
        """The first of some sets that fails when nothing else strikes."""
        for chosen in sets:
            if chosen and self._fails(failure, chosen):
                self.report(f"{_parts(chosen)}, one rule for each call: still fails")
                return chosen
        raise NotRepeated(
            f"the command {_in_words(failure)} under {self.source['name']}, and not when the same "
            "faults strike the same calls: it does not make the same calls every "
            f"time{self._beyond}"
        )

    def _fails(self, failure: str, faults: Sequence[FiredFault]) -> bool:
        """Whether the command fails so when these strike and nothing else."""
        return failure in _failures(self._run(faults))

    def _made(
        self, failure: str, calls: int, left: Sequence[FiredFault], how: str
    ) -> dict[str, Any]:
        """The scenario of what is left, of faults at so many calls; its description tells how it
        was found."""
        name = f"{self.source['name']}-{failure}"[:100]
        places = list(dict.fromkeys(str(fault.place) for fault in left))
        seed = f" with seed {self.source['seed']}" if "seed" in self.source else ""
        story = (
            f"Of the faults of {self.source['name']}{seed} at {calls} calls, "
            f"{'this one is' if len(places) == 1 else 'these are'} enough ({', '.join(places)}): "
            f"`{shlex.join(self.runner.argv)}` {_in_words(failure)}; {how}"
        )
        return scenario_of(left, self.source, name=name, story=mask_text(story))

    def _run(self, faults: Sequence[FiredFault] | None) -> Observed:
        """What is seen when these strike and nothing else; None: under the scenario as it is."""
        scenario = dict(self.source)
        if faults is not None:
            name = str(self.source["name"])
            scenario = scenario_of(faults, self.source, name=name, story="")
        # What fired, and why, stands in the journal alone.
        limit, wants_journal = self.timeout or FIRST_TIMEOUT, faults is None
        return self.runner.try_out(_RUN, scenario, limit, key=self.key, wants_journal=wants_journal)


def _calls_of(faults: Sequence[FiredFault]) -> int:
    """How many calls are struck: one may be struck in several ways, and at several providers."""
    return len({(fault.place.op, fault.place.nth) for fault in faults})


def _parts(faults: Sequence[FiredFault]) -> str:
    """A set of faults, in words."""
    if not faults:
        return "no fault"
    if len(faults) == 1:
        return f"{faults[0].level} at {faults[0].place}"
    return f"{len(faults)} faults at {_calls_of(faults)} calls"


def minimise(things: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> list[T]:
    """Things that still fail together, in their order, of which none can be left out alone: the
    algorithm ddmin of Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input.

    ``things`` fail together, and nothing fails alone: neither is tried. ``fails`` is asked about
    each subset once at most, halves before smaller parts: with one culprit among n about 2 log2 n
    times, n squared times at the worst.
    """
    kept = list(range(len(things)))
    known = {(): False, tuple(kept): True}

    def fail(chosen: Sequence[int]) -> bool:
        """Whether the things at these places fail; each question costs a run of the command."""
        key = tuple(chosen)
        if key not in known:
            known[key] = fails([things[place] for place in key])
        return known[key]

    parts = 2
    while len(kept) > 1:
        cut = _contiguous(kept, parts)
        rests = [[place for place in kept if place not in part] for part in cut]
        smaller = next(filter(fail, [*cut, *rests]), None)
        if smaller is None:
            if parts >= len(kept):
                # No single thing can be left out.
                break
            parts = min(2 * parts, len(kept))
        elif smaller in cut:
            # A part alone fails: begin again with its halves.
            kept, parts = smaller, 2
        else:
            # All but a part fail: the other parts have been cut already.
            kept, parts = smaller, max(parts - 1, 2)
    return [things[place] for place in kept]


def _contiguous(chosen: list[int], count: int) -> list[list[int]]:
    """Contiguous parts of nearly equal length, none of them empty."""
    ends = [-(-len(chosen) * place // count) for place in range(count + 1)]
    return [chosen[start:end] for start, end in pairwise(ends)]
