"""Steps and journal entries as a store keeps them: the request as it came, what decided, what happened.

A decision is kept by its rule and the place of its outcome there; the rules themselves are known by their number
(``Rulebook``), so that entries from before a change of scenarios keep their evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from mockserver.domain.batch import Batch
from mockserver.domain.cards import CardNumber
from mockserver.domain.events import Event
from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.facts import reader_of
from mockserver.engine.journal import JournalEntry
from mockserver.engine.kept.forms import KeptForm, kept_form
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import Step
from mockserver.engine.tables import ROW_CLASSES
from mockserver.scenario.attempt import Attempt, Stage
from mockserver.scenario.director import SILENCE, Decision, exhausted
from mockserver.scenario.matching import Difference
from mockserver.scenario.outcome import NOTHING, Outcome
from mockserver.scenario.provider_outcome import Decline, ProviderOutcome
from mockserver.scenario.rule import Rule, outcomes_of
from mockserver.scenario.ruleset import Ruleset

_EXHAUSTED = -1

_TABLES = {cls: name for name, cls in ROW_CLASSES.items()}
_EVENTS = kept_form(tuple[Event, ...])
_PASSED = kept_form(tuple[tuple[str, Difference], ...])
_SCRIPTED = kept_form(ProviderOutcome | None)
_DECLINE = kept_form(Decline)
_OBJECT: KeptForm = kept_form(object)
_BYTES = kept_form(bytes)
_CARD = kept_form(CardNumber)

_PLAIN = ("op", "answers", "row", "latency", "urgent", "is_repeat", "pause", "call")
"""What a step has that JSON holds as it is; left out while it is as in a new one."""

_LISTS = ("assumed",)
_TUPLES = ("webhooks", "ignored", "warnings")
_ASKED = ("op", "now", "also", "source", "provider", "attempt", "subject", "row", "bank_account", "call")
_NEW = Step("")
_UNASKED = Attempt("", 0)


class RequestForms(Protocol):
    """What the edge knows of requests: which operation carries one out, and what its fields say."""

    def name_of(self, endpoint: object) -> str | None:
        """The name of an operation; None for what is none."""
        ...

    def endpoint(self, name: str | None) -> object:
        """The operation of a name."""
        ...

    def write(self, request: Mapping[str, object]) -> object:
        """The fields of a request as plain data, without the text that the journal keeps anyway."""
        ...

    def read(self, kept: object, endpoint: object, raw: bytes, query: bytes) -> Mapping[str, object]:
        """The same fields again."""
        ...


class Rulebook:
    """The rules that decisions of a sandbox were made by, by number; ``present`` is that of those in force.

    ``rules_of`` makes the rules of a number that is no longer in force, which are seldom asked for.
    """

    def __init__(self, rules: Ruleset, present: int, rules_of: Callable[[int], Ruleset | None]) -> None:
        self.present = present
        self._known: dict[int, Ruleset | None] = {present: rules}
        self._rules_of = rules_of

    def put_in_force(self, rules: Ruleset) -> bool:
        """The rules that are in force now; True when they are others than before."""
        if self._known[self.present] is rules:
            return False
        self.present += 1
        self._known[self.present] = rules
        return True

    def of(self, number: int) -> Ruleset | None:
        """The rules of a number, None where they are no longer known."""
        if number not in self._known:
            self._known[number] = self._rules_of(number)
        return self._known[number]

    def number_of(self, rule: Rule) -> int:
        """The number of the rules that a rule is one of."""
        for number in range(self.present, max(self.present - 3, -1), -1):
            rules = self._known.get(number)
            if rules is not None and rules.by_id.get(rule.id) is rule:
                return number
        return self.present


class StepForms:
    """The forms of one sandbox: its rules, its cards and its tables."""

    def __init__(self, sandbox: Sandbox, rulebook: Rulebook, requests: RequestForms) -> None:
        self._sandbox = sandbox
        self._rulebook = rulebook
        self._requests = requests

    def write_entry(self, entry: JournalEntry, bodies: Mapping[int, object]) -> dict[str, Any]:
        """An entry as plain data; ``bodies`` are rows that have been written already, by their identity."""
        out: dict[str, Any] = {"at": entry.at, "step": self._write_step(entry.step, bodies)}
        name = self._requests.name_of(entry.endpoint)
        for key, value in (("method", entry.method), ("operation", name), ("path", entry.path)):
            if value:
                out[key] = value
        for key, raw in (("query", entry.query), ("raw", entry.raw), ("answer", entry.answer)):
            if raw:
                out[key] = _BYTES.to_plain(raw)
        if entry.status is not None:
            out["status"] = entry.status
        if entry.fault is not None:
            faults = [decision.outcome.transport for decision in entry.step.decisions]
            out["fault"] = next((place for place, fault in enumerate(faults) if fault is entry.fault), None)
        return out

    def read_entry(self, number: int, raw: Any, cards: CardRegistry) -> JournalEntry:
        """The entry again; its answer has ended by now."""
        endpoint = self._requests.endpoint(raw.get("operation"))
        body, query, answer = (_BYTES.to_value(raw.get(key, "")) for key in ("raw", "query", "answer"))
        step = self._read_step(raw["step"], cards, endpoint, body, query)
        fault = raw.get("fault")
        return JournalEntry(
            number=number,
            at=raw["at"],
            step=step,
            method=raw.get("method", ""),
            endpoint=endpoint,
            path=raw.get("path", ""),
            query=query,
            raw=body,
            status=raw.get("status"),
            answer=answer,
            fault=step.decisions[fault].outcome.transport if fault is not None else None,
        )

    def write_about(self, step: Step | None, bodies: Mapping[int, object]) -> object:
        """The objects that a step is about, by kind: each with its table."""
        if step is None:
            return None
        return {kind: self._write_object(held, bodies) for kind, held in step.about.items()}

    def read_about(self, op: str, raw: Any, cards: CardRegistry) -> Step | None:
        """A step that has ended, of which only that is known."""
        if raw is None:
            return None
        step = Step(op)
        step.about = {kind: self._read_object(held, cards) for kind, held in raw.items()}
        return step

    def _write_step(self, step: Step, bodies: Mapping[int, object]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for name in _PLAIN:
            value = getattr(step, name)
            if value != getattr(_NEW, name):
                out[name] = value
        for name in (*_LISTS, *_TUPLES):
            if value := getattr(step, name):
                out[name] = value
        if step.headers:
            out["headers"] = dict(step.headers)
        if step.path:
            out["path"] = dict(step.path)
        if step.scripted is not None:
            out["scripted"] = _SCRIPTED.to_plain(step.scripted)
        if step.request is not _NEW.request:
            out["request"] = self._requests.write(step.request)
        if step.about:
            out["about"] = self.write_about(step, bodies)
        if step.attempts:
            out["attempts"] = [self._write_attempt(attempt, step) for attempt in step.attempts]
        if step.decisions:
            out["decisions"] = [self._write_decision(decision, step) for decision in step.decisions]
        if step.events:
            out["events"] = _EVENTS.to_plain(step.events)
        return out

    def _read_step(self, raw: Any, cards: CardRegistry, endpoint: object, body: bytes, query: bytes) -> Step:
        step = Step(raw.get("op", ""))
        for name in _PLAIN:
            if name in raw:
                setattr(step, name, raw[name])
        for name in _LISTS:
            setattr(step, name, raw.get(name, []))
        for name in _TUPLES:
            setattr(step, name, tuple(raw.get(name, ())))
        step.headers = raw.get("headers", step.headers)
        step.path = raw.get("path", step.path)
        if "scripted" in raw:
            step.scripted = _SCRIPTED.to_value(raw["scripted"])
        if "request" in raw:
            step.request = self._requests.read(raw["request"], endpoint, body, query)
        step.about = {kind: self._read_object(held, cards) for kind, held in raw.get("about", {}).items()}
        step.attempts = tuple(self._read_attempt(one, step, cards) for one in raw.get("attempts", ()))
        step.decisions = tuple(self._read_decision(one, step, cards) for one in raw.get("decisions", ()))
        step.events = _EVENTS.to_value(raw.get("events", ()))
        return step

    def _write_object(self, held: object, bodies: Mapping[int, object]) -> object:
        if isinstance(held, Batch):
            # It changes in place, so that it is the same as in its table.
            return ["batches", held.batch_id]
        body = bodies.get(id(held))
        name = _TABLES.get(type(held))
        if name is None:
            return ["", _OBJECT.to_plain(held)]
        return [name, kept_form(ROW_CLASSES[name]).to_plain(held) if body is None else body]

    def _read_object(self, raw: Any, cards: CardRegistry) -> object:
        name, held = raw
        if name == "batches":
            return self._sandbox.batches.get(held)
        return kept_form(ROW_CLASSES[name]).to_value(held, cards) if name else _OBJECT.to_value(held)

    def _write_attempt(self, attempt: Attempt, step: Step | None) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for name in _ASKED:
            value = getattr(attempt, name)
            if value != getattr(_UNASKED, name):
                out[name] = value
        if attempt.card is not None:
            out["card"] = _CARD.to_plain(attempt.card)
        if step is None or attempt.request is not step.request:
            out["request"] = self._requests.write(attempt.request)
        if step is None or attempt.headers is not step.headers:
            out["headers"] = dict(attempt.headers)
        if attempt.state is _UNASKED.state:
            out["stateless"] = True
        return out

    def _read_attempt(self, raw: Any, step: Step, cards: CardRegistry) -> Attempt:
        attempt = Attempt("", 0)
        for name in _ASKED:
            if name in raw:
                setattr(attempt, name, raw[name])
        if "card" in raw:
            attempt.card = _CARD.to_value(raw["card"], cards)
        attempt.request = self._requests.read(raw["request"], None, b"", b"") if "request" in raw else step.request
        attempt.headers = raw.get("headers", step.headers)
        if not raw.get("stateless"):
            attempt.state = reader_of(self._sandbox)
        return attempt

    def _write_decision(self, decision: Decision, step: Step) -> object:
        if decision is SILENCE[decision.stage]:
            return decision.stage.value
        asked, fired = decision.attempt, decision.fired
        out: dict[str, Any] = {"stage": decision.stage.value}
        if fired is not None:
            out["rule"] = fired.id
            out["book"] = self._rulebook.number_of(fired)
            out["outcome"] = _place(fired, decision.outcome)
        else:
            out["book"] = self._rulebook.present
        if decision.delay:
            out["delay"] = decision.delay
        if decision.salt:
            out["salt"] = decision.salt
        if decision.passed:
            out["passed"] = _PASSED.to_plain(decision.passed)
        if asked is not None:
            place = next((place for place, one in enumerate(step.attempts) if one is asked), None)
            out["asked"] = place if place is not None else self._write_attempt(asked, step)
        return out

    def _read_decision(self, raw: Any, step: Step, cards: CardRegistry) -> Decision:
        if isinstance(raw, str):
            return SILENCE[Stage(raw)]
        stage, asked = Stage(raw["stage"]), raw.get("asked")
        attempt = None
        if asked is not None:
            attempt = step.attempts[asked] if isinstance(asked, int) else self._read_attempt(asked, step, cards)
        rules = self._rulebook.of(raw["book"])
        fired = rules.by_id.get(raw["rule"]) if rules is not None and "rule" in raw else None
        bucket = rules.bucket(stage, attempt.op, attempt.also) if rules is not None and attempt is not None else None
        return Decision(
            _outcome(fired, raw["outcome"]) if fired is not None else NOTHING,
            raw.get("rule"),
            stage,
            raw.get("delay", 0),
            raw.get("salt", ""),
            bucket,
            attempt,
            _PASSED.to_value(raw.get("passed", ())),
            fired,
        )


def _place(rule: Rule, outcome: Outcome) -> object:
    """Where an outcome stands in its rule; a decline that the rule made up itself."""
    place = next((place for place, one in enumerate(outcomes_of(rule.plan)) if one is outcome), None)
    if place is None and isinstance(outcome.provider, Decline) and outcome != exhausted(rule):
        return _DECLINE.to_plain(outcome.provider)
    return _EXHAUSTED if place is None else place


def _outcome(rule: Rule, place: Any) -> Outcome:
    if isinstance(place, dict):
        return Outcome(provider=_DECLINE.to_value(place))
    outcomes = outcomes_of(rule.plan)
    if place == _EXHAUSTED:
        return exhausted(rule)
    return outcomes[place] if place < len(outcomes) else NOTHING
