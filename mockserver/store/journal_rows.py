"""Journal entries as rows of a store: the request as it came, the decisions, and what happened.

A decision is stored by its rule and the place of its outcome there; the rules themselves are known by their number
(``Rulebook``), so that entries from before a change of scenarios keep their evidence.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from mockserver.domain.batch import Batch
from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.codec import ROWS, row_form
from mockserver.engine.config import SandboxConfig
from mockserver.engine.journal import JournalEntry
from mockserver.engine.result import Asked, Result
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import reader_of
from mockserver.engine.tables import ROW_CLASSES, TABLE_NAMES
from mockserver.scenario.director import SILENCE, Decision, Ruleset, exhausted
from mockserver.scenario.matching import Attempt, Difference, Stage
from mockserver.scenario.outcome import NOTHING, Outcome
from mockserver.scenario.provider_outcome import Decline
from mockserver.scenario.rule import Rule
from mockserver.scenario.scenario import Scenario
from mockserver.store.schema import Commit, Fresh

_EXHAUSTED = -1
_REFUSED = 400
_EMPTY = Asked("").request
_STATELESS = Attempt("", 0).state

_BYTES = row_form(bytes)
_OBJECT = row_form(object)
_DECLINE = row_form(Decline)
_PASSED = row_form(tuple[tuple[str, Difference], ...])
_ASKED = ROWS.without(Asked, {"request"})
_ATTEMPT = ROWS.without(Attempt, {"request", "headers", "state", "under_way"})
_RESULT = ROWS.without(Result, {"about", "attempts", "decisions", "ruled", "problem", "answered", "watched"})


class PersistenceContext(Protocol):
    """The server around its stored sandboxes: which operation carries out a request, what the fields of a request say,
    and which scenarios there are. ``unwritten`` are rows of its own that are not in the file yet."""

    unwritten: list[tuple[int, str, int, bytes]]

    def note_written(self, commit: Commit) -> None:
        """A commit is in the file."""

    def name_of(self, endpoint: object) -> str | None:
        """The name of an operation; None for anything else."""

    def endpoint(self, name: str | None) -> object:
        """The operation of a name."""

    def write(self, request: Mapping[str, object], *, is_named: bool) -> object:
        """The fields of a request as plain data, without the text that the journal keeps anyway where the name of the
        operation says how to read it: an entry that cannot be sent again has none."""

    def read(self, kept: object, endpoint: object, raw: bytes, query: bytes) -> Mapping[str, object]:
        """The same fields again."""

    def place_of(self, scenario: Scenario) -> str:
        """Where a store keeps a scenario."""

    def scenario(self, place: str) -> Scenario:
        """The scenario of a place. Raises ``LookupError``."""

    def config(self, scenarios: list[Scenario]) -> SandboxConfig:
        """The config of the server under some scenarios: that in force for new sandboxes, when they are the same."""
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


class JournalRows:
    """The rows of the journal of one sandbox: its rules and its tables."""

    def __init__(self, sandbox: Sandbox, rulebook: Rulebook, context: PersistenceContext, fresh: Fresh) -> None:
        self._fresh = fresh
        self._sandbox = sandbox
        self._rulebook = rulebook
        self._context = context

    def write_entry(self, entry: JournalEntry) -> dict[str, object]:
        """An entry as plain data."""
        asked, result, write = entry.asked, entry.result, _BYTES.to_plain
        name = self._context.name_of(entry.endpoint)
        faults = [decision.outcome.transport for decision in result.decisions] if entry.fault is not None else []
        return _present(
            number=entry.number,
            at=entry.at,
            asked=_ASKED.to_plain(asked),
            request=self._write_request(asked.request, is_named=name is not None),
            result=_RESULT.to_plain(result),
            about=self.write_about(result),
            attempts=[self._write_attempt(one, asked, is_named=name is not None) for one in result.attempts],
            decisions=[self._write_decision(one, asked, result, is_named=name is not None) for one in result.decisions],
            method=entry.method,
            endpoint=name,
            path=entry.path,
            query=write(entry.query),
            raw=write(entry.raw),
            status=entry.status,
            answer=write(entry.answer),
            fault=next((place for place, one in enumerate(faults) if one is entry.fault), None),
        )

    def read_entry(self, raw: Any, cards: CardRegistry) -> JournalEntry:
        """The entry again; its answer has ended by now."""
        endpoint, status, fault = self._context.endpoint(raw.get("endpoint")), raw.get("status"), raw.get("fault")
        query, body, answer = (_BYTES.to_value(raw.get(name, "")) for name in ("query", "raw", "answer"))
        asked, result = _ASKED.to_value(raw["asked"]), _RESULT.to_value(raw.get("result", {}))
        if "request" in raw:
            asked.request = self._context.read(raw["request"], endpoint, body, query)
        result.about = self._read_objects(raw.get("about", {}), cards)
        result.attempts = tuple(self._read_attempt(one, asked, result, cards) for one in raw.get("attempts", ()))
        for one in raw.get("decisions", ()):
            result.note(self._read_decision(one, asked, result, cards))
        if (status or 0) >= _REFUSED and answer.startswith(b"{"):
            result.problem = json.loads(answer)
        return JournalEntry(
            number=raw["number"],
            at=raw["at"],
            asked=asked,
            result=result,
            method=raw.get("method", ""),
            endpoint=endpoint,
            path=raw.get("path", ""),
            query=query,
            raw=body,
            status=status,
            answer=answer,
            fault=result.decisions[fault].outcome.transport if fault is not None else None,
        )

    def write_about(self, result: Result | None) -> dict[str, object] | None:
        """The objects that a step is about, by kind: each with its table."""
        return None if result is None else {kind: self._write_object(held) for kind, held in result.about.items()}

    def _write_object(self, held: Any) -> list[object]:
        if isinstance(held, Batch):
            # It changes in place, so that it is the same as in its table.
            return ["batches", held.batch_id]
        name = TABLE_NAMES.get(type(held))
        if name is None:
            return ["", _OBJECT.to_plain(held)]
        row, plain = self._fresh.get((name, held.seq), (None, None))
        return [name, plain if row is held else row_form(type(held)).to_plain(held)]

    def read_about(self, raw: Any, cards: CardRegistry) -> Result | None:
        """What came of a step that has ended, of which only that is known."""
        return None if raw is None else Result(self._read_objects(raw, cards))

    def _read_objects(self, raw: Any, cards: CardRegistry) -> dict[str, object]:
        return {kind: self._read_object(name, held, cards) for kind, (name, held) in raw.items()}

    def _read_object(self, name: str, held: Any, cards: CardRegistry) -> object:
        if name == "batches":
            return self._sandbox.batches.get(held)
        return row_form(ROW_CLASSES[name]).to_value(held, cards) if name else _OBJECT.to_value(held)

    def _write_request(self, request: Mapping[str, object], *, is_named: bool) -> object:
        return None if request is _EMPTY else self._context.write(request, is_named=is_named)

    def _write_attempt(self, attempt: Attempt, asked: Asked, *, is_named: bool) -> dict[str, object]:
        own = attempt.request is not asked.request
        return {
            **_ATTEMPT.to_plain(attempt),
            **({"request": self._context.write(attempt.request, is_named=is_named)} if own else {}),
            **({"headers": dict(attempt.headers)} if attempt.headers is not asked.headers else {}),
            **({"stateless": True} if attempt.state is _STATELESS else {}),
        }

    def _read_attempt(self, raw: Any, asked: Asked, result: Result, cards: CardRegistry) -> Attempt:
        attempt: Attempt = _ATTEMPT.to_value(raw, cards)
        own = "request" in raw
        attempt.request = self._context.read(raw["request"], None, b"", b"") if own else asked.request
        attempt.headers = raw.get("headers", asked.headers)
        if "stateless" not in raw:
            attempt.state = reader_of(self._sandbox, asked, result.about)
        return attempt

    def _write_decision(self, decision: Decision, asked: Asked, result: Result, *, is_named: bool) -> object:
        if decision is SILENCE[decision.stage]:
            return decision.stage.value
        attempt, fired = decision.attempt, decision.fired
        place = next((place for place, one in enumerate(result.attempts) if one is attempt), None)
        is_apart = attempt is not None and place is None
        return _present(
            stage=decision.stage.value,
            book=self._rulebook.present if fired is None else self._rulebook.number_of(fired),
            tried=place,
            attempt=self._write_attempt(attempt, asked, is_named=is_named) if attempt and is_apart else None,
            rule=None if fired is None else fired.id,
            outcome=None if fired is None else _place(fired, decision.outcome),
            delay=decision.delay or None,
            salt=decision.salt,
            passed=_PASSED.to_plain(decision.passed),
        )

    def _read_decision(self, raw: Any, asked: Asked, result: Result, cards: CardRegistry) -> Decision:
        if isinstance(raw, str):
            return SILENCE[Stage(raw)]
        stage, attempt = Stage(raw["stage"]), None
        if "tried" in raw:
            attempt = result.attempts[raw["tried"]]
        elif "attempt" in raw:
            attempt = self._read_attempt(raw["attempt"], asked, result, cards)
        rule, rules = raw.get("rule"), self._rulebook.of(raw["book"])
        fired = rules.by_id.get(rule) if rules is not None else None
        bucket = rules.bucket(stage, attempt.op, attempt.also) if rules is not None and attempt is not None else None
        return Decision(
            outcome=_outcome(fired, raw["outcome"]) if fired is not None else NOTHING,
            rule=rule,
            stage=stage,
            delay=raw.get("delay", 0),
            salt=raw.get("salt", ""),
            bucket=bucket,
            attempt=attempt,
            passed=_PASSED.to_value(raw.get("passed", [])),
            fired=fired,
        )


def _present(**members: object) -> dict[str, object]:
    """The members that are numbers or not empty."""
    return {name: value for name, value in members.items() if value or isinstance(value, int)}


def _place(rule: Rule, outcome: Outcome) -> object:
    """Where an outcome stands in its rule; a decline that the rule made up itself."""
    place = next((place for place, one in enumerate(rule.plan.outcomes) if one is outcome), None)
    if place is None and isinstance(outcome.provider, Decline) and outcome != exhausted(rule):
        return _DECLINE.to_plain(outcome.provider)
    return _EXHAUSTED if place is None else place


def _outcome(rule: Rule, place: Any) -> Outcome:
    if isinstance(place, dict):
        return Outcome(provider=_DECLINE.to_value(place))
    outcomes = rule.plan.outcomes
    if place == _EXHAUSTED:
        return exhausted(rule)
    return outcomes[place] if place < len(outcomes) else NOTHING
