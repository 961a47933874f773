"""What struck in a run, from its journal, as parts that can be left out one by one, and as rules that make the same
happen again at the same calls. Source: docs/explore.md, Shrinking a chaotic run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import starmap
from typing import Any, NamedTuple

from mockserver.domain.record import record
from mockserver.scenario.operations import PROVIDER_OPERATIONS
from mockserver.scenario.outcome import ThenMap
from mockserver.scenario.part import read_part
from mockserver.scenario.provider_outcome import Approve
from mockserver.scenario.webhook_plan import WebhookPlan

Source = Mapping[str, Any]
"""The plain data of a scenario file."""

_RENEWAL = "subscription.renew"
_SEQUENCE_ONLY = "times"
_NOT_AIMED = "replay"
"""An earlier answer again: a rule for one call has seen none."""

_REPLACED = ("version", "name", "description", "draws", "rules", "examples")


class Place(NamedTuple):
    """Where something struck: call ``nth`` of ``op``, as the provider of that try was asked (None: no provider), or
    while its body was sent."""

    op: str
    nth: int
    attempt: int | None = None
    is_upload: bool = False

    @property
    def is_counted(self) -> bool:
        """Whether a rule must count for itself to find it: the number of the call is not known there."""
        return self.op == _RENEWAL or self.is_upload

    def __str__(self) -> str:
        return f"{self.op}#{self.nth}"


@record
class Strike:
    """One part of what a rule made happen: ``level`` is a key of an outcome, ``what`` stands under it in the file."""

    rule: str
    place: Place
    level: str
    what: Any


def is_fault(level: str, what: object) -> bool:
    """Whether a part of an outcome is anything out of the ordinary."""
    outcome = read_part(ThenMap, {level: what}).outcome
    return outcome.provider != Approve() and outcome.webhook != WebhookPlan()


@record
class Struck:
    """What struck in a run. ``beyond`` names the rules that struck where no rule can be aimed: at rows of a batch, in
    work that came due, after a sequence had ended, or with an earlier answer."""

    strikes: tuple[Strike, ...]
    beyond: tuple[str, ...]


def struck(entries: Iterable[Mapping[str, Any]], source: Source) -> Struck:
    """What the rules of a scenario did, by the journal (``GET /__admin/journal``) of a sandbox in which it was in
    force."""
    rules = {str(rule["id"]): rule for rule in source.get("rules", ())}
    found: dict[tuple[Place, str], Strike] = {}
    beyond: dict[str, None] = {}
    for place, decision in _placed(entries):
        name = decision["rule"]
        if name not in rules:
            continue
        outcome = _outcome(rules[name], decision["choice"])
        if outcome is None or place is None or _NOT_AIMED in outcome:
            beyond |= {name: None} if outcome is None or any(starmap(is_fault, outcome.items())) else {}
            continue
        for level, what in outcome.items():
            drawn = decision["delay"] if level == "latency" else what
            # The first rule that says something of a level decides it.
            found.setdefault((place, level), Strike(name, place, level, drawn))
    return Struck(tuple(found.values()), tuple(beyond))


def _placed(entries: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Place | None, Mapping[str, Any]]]:
    """Each decision with its place, None where no rule can be aimed."""
    renewals: Counter[int] = Counter()
    for entry in entries:
        op, attempt = entry["op"], 0
        for decision in entry["decisions"]:
            if decision["stage"] != "provider":
                place = Place(op, entry["call"], is_upload=decision["stage"] == "upload")
                yield (None if entry["call"] is None else place), decision
                continue
            attempt += 1
            if op in PROVIDER_OPERATIONS:
                yield (None if entry["call"] is None else Place(op, entry["call"], attempt)), decision
            else:
                renewals[attempt] += 1
                yield Place(_RENEWAL, renewals[attempt], attempt), decision


def _outcome(rule: Source, choice: int | None) -> Source | None:
    """The outcome of a rule that was drawn; None where it is none of the file's."""
    if choice is None:
        return None
    if "sequence" in rule:
        said = rule["sequence"][choice - 1]
    elif "chance" in rule:
        chance = rule["chance"]
        said = (chance[choice - 1] if isinstance(chance, list) else chance)["then"]
    else:
        said = rule["then"]
    return {level: what for level, what in said.items() if what is not None and level != _SEQUENCE_ONLY}


def scenario_of(strikes: Sequence[Strike], source: Source, *, name: str, story: str) -> dict[str, Any]:
    """The plain data of a scenario in which this strikes and nothing else. What ``source`` says beside its rules stays,
    its examples apart."""
    kept = {key: value for key, value in source.items() if key not in _REPLACED}
    return {"version": 1, "name": name, "description": story, **kept, "rules": rules_of(strikes)}


def rules_of(strikes: Sequence[Strike]) -> list[dict[str, Any]]:
    """A rule for each place, with all that strikes there."""
    places: dict[Place, list[Strike]] = {}
    for strike in strikes:
        places.setdefault(strike.place, []).append(strike)
    # A rule does not count what a rule before it has decided: the last comes first.
    counted = sorted((place for place in places if place.is_counted), key=lambda place: -place.nth)
    known = [place for place in places if not place.is_counted]
    return [_rule(place, places[place]) for place in (*known, *counted)]


def _rule(place: Place, strikes: Sequence[Strike]) -> dict[str, Any]:
    number, key = ("nth", {"key": ["op"]}) if place.is_counted else ("call", {})
    when = {"op": place.op, number: place.nth}
    if place.attempt is not None:
        when["attempt"] = place.attempt
    stage = "-upload" if place.is_upload else "" if place.attempt is None else f"-provider-{place.attempt}"
    return {
        "id": f"{place.op}-{place.nth}{stage}",
        "description": "from " + " and ".join(dict.fromkeys(strike.rule for strike in strikes)),
        "when": when,
        **key,
        "then": {strike.level: strike.what for strike in strikes},
    }
