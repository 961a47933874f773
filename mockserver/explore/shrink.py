"""From a chaotic run to the fewest faults that still fail. Source: docs/explore.md, Shrinking a
chaotic run."""

import json
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise
from typing import Any, NamedTuple, TypeVar

from mockserver.domain.masking import mask_text
from mockserver.domain.record import record
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

_REPLACED = ("version", "name", "description", "draws", "rules", "examples")


class Place(NamedTuple):
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
    it in the file. An answer that was given again (``replay``) is that of the ``first`` call."""

    rule: str
    place: Place
    level: str
    what: Any
    first: int = 0

    @property
    def is_fault(self) -> bool:
        """Whether it is anything out of the ordinary."""
        outcome = read_model(ThenMap, {self.level: self.what}).outcome
        return outcome.provider != Approve() and outcome.webhook != WebhookPlan()


def fired_faults(
    entries: Iterable[Mapping[str, Any]], source: Source
) -> tuple[tuple[FiredFault, ...], tuple[str, ...]]:
    """What the rules of a scenario did, by the journal (``GET /__admin/journal``) of a sandbox in
    which it was in force; and the rules that fired where none can be aimed: after a sequence had
    ended."""
    rules = {str(rule["id"]): rule for rule in source.get("rules", ())}
    found: dict[tuple[Place, str], FiredFault] = {}
    beyond: dict[str, None] = {}
    firsts: dict[tuple[str, str, str], int] = {}
    entries = list(entries)
    answers = {(entry["op"], entry["call"]): entry.get("answer") for entry in entries}
    for place, decision in _placed(entries, rules):
        name, outcome = decision["rule"], _outcome(rules, decision)
        if name not in rules:
            continue
        if outcome is None or place is None:
            if outcome is None or any(
                FiredFault(name, Place("", 0), *one).is_fault for one in outcome.items()
            ):
                beyond[name] = None
            continue
        for level, what in outcome.items():
            first = 0
            if level == _REPLAY:
                # The first call acts as usual, and the answers of those that repeat it are the
                # same.
                first = firsts.setdefault(
                    (name, place.op, json.dumps(answers[place[:2]])), place.nth
                )
            if first == place.nth or (level == "latency" and place.op in UNREQUESTED):
                continue  # Nobody waits there.
            # The first rule that says something of a level decides it.
            found.setdefault((place, level), FiredFault(name, place, level, what, first))
    return tuple(found.values()), tuple(beyond)


def _placed(
    entries: Iterable[Mapping[str, Any]], rules: Mapping[str, Source]
) -> Iterator[tuple[Place | None, Mapping[str, Any]]]:
    """Each decision with its place, None where no rule can be aimed."""
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
    entry: Mapping[str, Any], decision: Mapping[str, Any], deliveries: Iterator[int]
) -> Place | None:
    """Where a rule struck that is about no provider: a call, or a webhook that came due without
    one, numbered by ``deliveries`` and known by its object, whose id is the same in each run."""
    op, call = entry["op"], entry["call"]
    if not op.startswith("clock."):
        return None if call is None else Place(op, call, is_upload=decision["stage"] == "upload")
    events = entry["events"] if decision["rule"] is not None else ()
    about = {(str(event["id"]), event["after"]) for event in events}
    return Place(_DELIVERY, next(deliveries), about=about.pop()) if len(about) == 1 else None


def _try(entry: Mapping[str, Any], attempt: int, renewals: Counter[int]) -> Place | None:
    """Where a provider was asked: for a row of a batch, for a call, or for a renewal, whose tries
    ``renewals`` counts."""
    op, call, row = entry["op"], entry["call"], entry.get("row")
    if op == _ROW:
        return None if row is None else Place(op, row, attempt)
    if op in PROVIDER_OPERATIONS - {_RENEWAL}:
        return None if call is None else Place(op, call, attempt)
    renewals[attempt] += 1
    return Place(_RENEWAL, renewals[attempt], attempt)


def _outcome(rules: Mapping[str, Source], decision: Mapping[str, Any]) -> Source | None:
    """The outcome of a rule that was decided on, with the latency drawn; None when it is none of
    the file's."""
    rule, choice = rules.get(decision["rule"]), decision["choice"]
    if rule is None or choice is None:
        return None
    if "sequence" in rule:
        said = rule["sequence"][choice - 1]
    elif "chance" in rule:
        chance = rule["chance"]
        said = (chance[choice - 1] if isinstance(chance, list) else chance)["then"]
    else:
        said = rule["then"]
    said = {
        level: what for level, what in said.items() if what is not None and level not in _NO_FAULT
    }
    return {**said, "latency": decision["delay"]} if "latency" in said else said


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
    places: dict[Place, list[FiredFault]] = {}
    for fault in faults:
        places.setdefault(fault.place, []).append(fault)
    repeats: dict[Place, list[Place]] = {}
    for fault in faults:
        if fault.first:
            repeats.setdefault(first := Place(fault.place.op, fault.first), [first]).append(
                fault.place
            )
    again = [
        _repeating({place: places.pop(place, ()) for place in calls}) for calls in repeats.values()
    ]
    # A rule does not count what a rule before it has decided: the last comes first.
    counted = sorted((place for place in places if place.is_counted), key=lambda place: -place.nth)
    known = [place for place in places if not place.is_counted]
    return [*again, *(_rule(place, places[place]) for place in (*known, *counted))]


def _repeating(calls: Mapping[Place, Sequence[FiredFault]]) -> dict[str, Any]:
    """A rule for calls that get the answer of the first of them again, with what else strikes
    each."""
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
    return "from " + " and ".join(dict.fromkeys(fault.rule for fault in faults))


def _rule(place: Place, faults: Sequence[FiredFault]) -> dict[str, Any]:
    number, key = (
        ("nth", {"key": ["op"]}) if place.is_counted else (_ROW if place.op == _ROW else "call", {})
    )
    when: dict[str, Any] = {"op": place.op, number: place.nth}
    if place.about is not None:
        when = {"op": place.op, "request.id": place.about[0], "request.data.status": place.about[1]}
    if place.attempt is not None:
        when["attempt"] = place.attempt
    stage = (
        "-upload"
        if place.is_upload
        else ""
        if place.attempt is None
        else f"-provider-{place.attempt}"
    )
    return {
        "id": f"{place.op}-{place.nth}{stage}",
        "description": _origin(faults),
        "when": when,
        **key,
        "then": {fault.level: fault.what for fault in faults},
    }


CONFIRMATIONS = 3
"""Runs in which the result must fail before it is believed."""

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
    is looked for, when one is, else by its exit code, else by its first finding of severity
    error."""
    if finding is not None:
        return finding if finding in _failures(seen) else None
    if seen.ended.exit != 0:
        return _failures(seen)[0]
    return next((row["finding"] for row in seen.after.findings if row["severity"] == "error"), None)


def _failures(seen: Observed) -> list[str]:
    """Every way in which a run fails: its exit code, then its findings."""
    code = seen.ended.exit
    return [
        "hung" if code is None else f"exit-{code}",
        *(row["finding"] for row in seen.after.findings),
    ]


def _in_words(failure: str) -> str:
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
        self.timeout = self.timeout or 10 * plain.ended.seconds + 10
        failure, fired = self._first()
        faults = [one for one in fired if one.is_fault]
        smallest: Sequence[FiredFault] = self._repeated(failure, faults, fired)
        calls = len({one.place[:2] for one in faults})

        def fails(chosen: Sequence[FiredFault]) -> bool:
            nonlocal smallest
            found = self._fails(failure, chosen)
            self.report(f"{_parts(chosen)}: {'still fails' if found else 'passes'}")
            if found and len(chosen) < len(smallest):
                smallest = chosen
            return found

        try:
            left = minimise(smallest, fails)
            self._confirm(failure, left)
        except KeyboardInterrupt:
            raise Stopped(
                self._made(failure, calls, smallest, "interrupted, so there may be a smaller one")
            ) from None
        return self._made(failure, calls, left, f"confirmed in {CONFIRMATIONS} runs")

    def _confirm(self, failure: str, left: Sequence[FiredFault]) -> None:
        for turn in range(1, CONFIRMATIONS + 1):
            if not self._fails(failure, left):
                raise NotRepeated(
                    f"the smallest set of faults, {_parts(left)}, failed once and passed in run "
                    f"{turn} of "
                    f"{CONFIRMATIONS} that were to confirm it: the command does not do the same "
                    "every time"
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
        self.report(
            f"under {name}, with {_parts([one for one in fired if one.is_fault])}: "
            f"{_in_words(failure)}"
        )
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
            "faults strike the "
            f"same calls: it does not make the same calls every time{self._beyond}"
        )

    def _fails(self, failure: str, faults: Sequence[FiredFault]) -> bool:
        """Whether the command fails so when these strike and nothing else."""
        return failure in _failures(self._run(faults))

    def _made(
        self, failure: str, calls: int, left: Sequence[FiredFault], how: str
    ) -> dict[str, Any]:
        name = f"{self.source['name']}-{failure}"[:100]
        places = list(dict.fromkeys(str(one.place) for one in left))
        seed = f" with seed {self.source['seed']}" if "seed" in self.source else ""
        story = (
            f"Of the faults of {self.source['name']}{seed} at {calls} calls, "
            f"{'this one is' if len(places) == 1 else 'these are'} enough ({', '.join(places)}): "
            f"`{shlex.join(self.runner.argv)}` {_in_words(failure)}; {how}"
        )
        return scenario_of(left, self.source, name=name, story=mask_text(story))

    def _run(self, faults: Sequence[FiredFault] | None) -> Observed:
        """What is seen when these strike and nothing else; None: under the scenario as it is."""
        name = str(self.source["name"])
        scenario = (
            dict(self.source)
            if faults is None
            else scenario_of(faults, self.source, name=name, story="")
        )
        # What fired, and why, stands in the journal alone.
        limit, wants_journal = self.timeout or FIRST_TIMEOUT, faults is None
        return self.runner.try_out(_RUN, scenario, limit, key=self.key, wants_journal=wants_journal)


def _parts(faults: Sequence[FiredFault]) -> str:
    if not faults:
        return "no fault"
    if len(faults) == 1:
        return f"{faults[0].level} at {faults[0].place}"
    return f"{len(faults)} faults at {len({one.place[:2] for one in faults})} calls"


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
        key = tuple(chosen)
        if key not in known:
            known[key] = fails([things[place] for place in key])
        return known[key]

    parts = 2
    while len(kept) > 1:
        cut = _contiguous(kept, parts)
        rests = [[one for one in kept if one not in part] for part in cut]
        smaller = next(filter(fail, [*cut, *rests]), None)
        if smaller is not None:
            kept, parts = smaller, 2 if smaller in cut else max(parts - 1, 2)
        elif parts < len(kept):
            parts = min(2 * parts, len(kept))
        else:
            break
    return [things[place] for place in kept]


def _contiguous(chosen: list[int], count: int) -> list[list[int]]:
    """Contiguous parts of nearly equal length, none of them empty."""
    ends = [-(-len(chosen) * place // count) for place in range(count + 1)]
    return [chosen[start:end] for start, end in pairwise(ends)]
