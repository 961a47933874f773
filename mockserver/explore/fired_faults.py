"""What the rules of a scenario did in a run, written down as rules for single calls.

The journal says which rule has struck what. A part of an outcome that struck (``FiredFault``) has a
place (``FaultPlace``): the call, the provider of that try, the row of a batch, or the webhook. A
rule that is aimed at the place makes the same happen there again, whatever chance would have it do
(``rules_of``).

Not all can be aimed at: where a webhook tells of several objects at once, say, no rule could tell
which one it was. So the names of rules that struck there are given beside (``Fired.beyond``).

Source: docs/explore.md, Shrinking a chaotic run.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

from mockserver.domain.record import record
from mockserver.explore.run_answers import DecisionRow, EntryRow
from mockserver.explore.scenario_data import RuleData
from mockserver.scenario.file_model import read_model
from mockserver.scenario.operations import PROVIDER_OPERATIONS, UNREQUESTED
from mockserver.scenario.outcome import ThenMap
from mockserver.scenario.provider_outcome import Approve
from mockserver.scenario.webhook_plan import WebhookPlan

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
    what: object
    first: int = 0

    @property
    def is_fault(self) -> bool:
        """Whether it is anything out of the ordinary."""
        return _is_fault(self.level, self.what)


def _is_fault(level: str, what: object) -> bool:
    """Whether a part of an outcome does anything but approve a payment and send its webhook."""
    outcome = read_model(ThenMap, {level: what}).outcome
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
    # The names of rules, in the order in which they struck: a dict, as a set has no order.
    beyond: dict[str, None] = {}
    entries = list(entries)
    first_answers = _FirstAnswers(entries)
    for place, decision in _placed(entries, rules):
        name = decision["rule"]
        if name is None or name not in rules:
            # None has decided, or one that the file does not have, as those of test cards.
            continue
        outcome = _outcome(rules, decision)
        if outcome is None:
            beyond[name] = None
        elif place is None:
            if any(_is_fault(level, what) for level, what in outcome.items()):
                beyond[name] = None
        else:
            for fault in _faults_at(place, name, outcome, first_answers):
                # The first rule that says something of a level decides it.
                found.setdefault((place, fault.level), fault)
    return Fired(tuple(found.values()), tuple(beyond))


def _faults_at(
    place: FaultPlace, rule: str, outcome: Source, first_answers: "_FirstAnswers"
) -> Iterator[FiredFault]:
    """Each part of what a rule made happen at a place, but for what nobody has felt there."""
    for level, what in outcome.items():
        if level == "latency" and place.op in UNREQUESTED:
            # Nobody waits for what comes due by itself.
            continue
        first = 0
        if level == _REPLAY:
            first = first_answers.first_of(rule, place)
            if first == place.nth:
                # The first call of those that get one answer acts as usual.
                continue
        yield FiredFault(rule, place, level, what, first)


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
        attempt, is_try_over = 0, True
        for decision in entry["decisions"]:
            if decision["stage"] != "provider":
                yield _call_or_delivery(entry, decision, deliveries), decision
                continue
            if is_try_over:
                attempt += 1
            yield _try(entry, attempt, renewals), decision
            # A rule that only slows leaves the same try of a provider to the next rule.
            said = _outcome(rules, decision)
            is_try_over = said is None or not said.keys() <= {"latency"}


def _call_or_delivery(
    entry: EntryRow, decision: DecisionRow, deliveries: Iterator[int]
) -> FaultPlace | None:
    """Where a rule struck that is about no provider: a call, or a webhook that came due without
    one, numbered by ``deliveries`` and known by its object, whose id is the same in each run."""
    op, call = entry["op"], entry["call"]
    if not op.startswith("clock."):
        if call is None:
            # Refused unread: no rule knows it by a number.
            return None
        return FaultPlace(op, call, is_upload=decision["stage"] == "upload")
    if decision["rule"] is None:
        # Nothing has struck here.
        return None
    about = {(str(event["id"]), event["after"]) for event in entry["events"]}
    if len(about) != 1:
        # Of several objects a rule could not tell which one it was.
        return None
    return FaultPlace(_DELIVERY, next(deliveries), about=about.pop())


def _try(entry: EntryRow, attempt: int, renewals: Counter[int]) -> FaultPlace | None:
    """Where a provider was asked: for a row of a batch, for a call, or for a renewal, whose tries
    ``renewals`` counts."""
    op = entry["op"]
    if op == _ROW:
        number = entry.get("row")
    elif op in PROVIDER_OPERATIONS - {_RENEWAL}:
        number = entry["call"]
    else:
        # A renewal has no number in the journal; a rule counts those of each try apart.
        renewals[attempt] += 1
        op, number = _RENEWAL, renewals[attempt]
    if number is None:
        return None
    return FaultPlace(op, number, attempt)


def _outcome(rules: Mapping[str, Source], decision: DecisionRow) -> Source | None:
    """The outcome of a rule that was decided on, with the latency drawn; None when it is none of
    the file's."""
    name, choice = decision["rule"], decision["choice"]
    if name is None or name not in rules or choice is None:
        return None
    outcome = {}
    for level, what in _chosen(rules[name], choice).items():
        if what is not None and level not in _NO_FAULT:
            outcome[level] = what
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
) -> dict[str, object]:
    """The plain data of a scenario in which these strike and nothing else. What ``source`` says
    beside its rules stays, its examples apart."""
    kept = {key: value for key, value in source.items() if key not in _REPLACED}
    return {"version": 1, "name": name, "description": story, **kept, "rules": rules_of(faults)}


def rules_of(faults: Sequence[FiredFault]) -> list[RuleData]:
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
    rules: list[RuleData] = []
    for places in repeats.values():
        # The first of them may have no fault of its own.
        faults_of_calls = {place: by_place.pop(place, ()) for place in places}
        rules.append(_repeating(faults_of_calls))
    numbered = [place for place in by_place if not place.is_counted]
    counted = [place for place in by_place if place.is_counted]
    # A rule does not count what a rule before it has decided: the last comes first.
    counted.sort(key=lambda place: -place.nth)
    rules += [_rule(place, by_place[place]) for place in (*numbered, *counted)]
    return rules


def _repeating(calls: Mapping[FaultPlace, Sequence[FiredFault]]) -> RuleData:
    """A rule for calls that get one answer, with what else strikes each. The first of ``calls``
    acts as usual, though its step says ``replay`` too: by that its answer is kept, and the others
    get it again. It is kept by rule and key, so all of them stand in one rule."""
    first = next(iter(calls))
    all_faults = [fault for faults in calls.values() for fault in faults]
    return {
        "id": f"{first.op}-{first.nth}-{_REPLAY}",
        "description": _origin(all_faults),
        "when": {"op": first.op, "call": {"in": [place.nth for place in calls]}},
        "key": ["op"],
        "sequence": [{_REPLAY: True, **_outcome_of(faults)} for faults in calls.values()],
    }


def _outcome_of(faults: Iterable[FiredFault]) -> dict[str, object]:
    """All that strikes one place, as a rule says it."""
    return {fault.level: fault.what for fault in faults}


def _origin(faults: Iterable[FiredFault]) -> str:
    """Which rules of the scenario have done it, for the reader of the smaller one."""
    return "from " + " and ".join(dict.fromkeys(fault.rule for fault in faults))


def _rule(place: FaultPlace, faults: Sequence[FiredFault]) -> RuleData:
    """A rule for one place."""
    name = f"{place.op}-{place.nth}"
    if place.is_upload:
        name += "-upload"
    elif place.attempt is not None:
        name += f"-provider-{place.attempt}"
    rule: RuleData = {"id": name, "description": _origin(faults), "when": _when(place)}
    if place.is_counted:
        rule["key"] = ["op"]
    rule["then"] = _outcome_of(faults)
    return rule


def _when(place: FaultPlace) -> Mapping[str, object]:
    """When the rule of a place fires."""
    when: dict[str, object] = {"op": place.op}
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
