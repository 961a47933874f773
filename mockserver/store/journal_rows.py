"""Journal entries as rows of a store: the request as it came, the decisions, and what happened.

A decision is stored by its rule and the place of its outcome there; the rules themselves are known
by their number (``Rulebook``), so that entries from before a change of scenarios keep their
evidence.
"""

import json
from collections.abc import Mapping
from typing import Any, Protocol

from mockserver.domain.batch import Batch
from mockserver.engine.card_registry import CardRegistry
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
from mockserver.store.row_codec import Record, form_of
from mockserver.store.schema import Commit

_EXHAUSTED = -1
_REFUSED = 400
_EMPTY = Asked("").request
_STATELESS = Attempt("", 0).state

_ANY = form_of(object)
_BYTES = form_of(bytes)
_MICROS = form_of(int)
_DECLINE = Record.of(Decline)
_PASSED = form_of(tuple[tuple[str, Difference], ...])
_ASKED = Record(Asked, {"request"})
_ATTEMPT = Record(Attempt, {"request", "headers", "state", "under_way"})
_UNKEPT = {
    *("about", "attempts", "decisions", "ruled", "problem", "answered", "watched", "search_text"),
    "undocumented",
}
"""What is written beside a result, follows from something else, or has been judged by then."""

_RESULT = Record(Result, _UNKEPT)


class PersistenceContext(Protocol):
    """The server around its stored sandboxes: which operation carries out a request, what the
    fields of a request say, and which scenarios there are. ``unwritten`` are rows of its own that
    are not in the file yet."""

    unwritten: list[tuple[int, str, int, bytes]]

    def note_written(self, commit: Commit) -> None:
        """A commit is in the file."""

    def name_of(self, endpoint: object) -> str | None:
        """The name of an operation; None for anything else."""

    def endpoint(self, name: str | None) -> object:
        """The operation of a name."""

    def write(self, request: Mapping[str, object], *, is_named: bool) -> object:
        """The fields of a request as plain data, without the text that the journal keeps anyway
        where the name of the operation says how to read it: an entry that cannot be sent again has
        none."""

    def read(
        self, stored: object, endpoint: object, raw: bytes, query: bytes
    ) -> Mapping[str, object]:
        """The same fields again."""

    def place_of(self, scenario: Scenario) -> str:
        """Where a store keeps a scenario."""

    def scenario(self, place: str) -> Scenario:
        """The scenario of a place. Raises ``LookupError``."""

    def config(self, scenarios: list[Scenario]) -> SandboxConfig:
        """The config of the server under some scenarios: that in force for new sandboxes, when they
        are the same."""
        ...


class Rulebook:
    """The rules that decisions of a sandbox were made by, by number; ``present`` is that of those
    in force, ``books`` are the places of their scenarios, by the number as JSON has it. Rules that
    are no longer in force are seldom asked for, and made then."""

    def __init__(
        self,
        context: PersistenceContext,
        rules: Ruleset,
        present: int,
        books: Mapping[str, list[str]],
    ) -> None:
        self.present = present
        self.books = dict(books)
        self._context = context
        self._known: dict[int, Ruleset | None] = {present: rules}

    def put_in_force(self, config: SandboxConfig) -> None:
        """The rules of a config are in force now."""
        if self._known[self.present] is not config.rules:
            self.present += 1
            self._known[self.present] = config.rules
        if (number := str(self.present)) not in self.books:
            self.books[number] = [self._context.place_of(one) for one in config.scenarios]

    def of(self, number: int) -> Ruleset | None:
        """The rules of a number, None where they are no longer known."""
        if number not in self._known:
            try:
                self._known[number] = Ruleset(
                    [self._context.scenario(place) for place in self.books[str(number)]]
                )
            except LookupError:
                self._known[number] = None
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

    def __init__(self, sandbox: Sandbox, rulebook: Rulebook, context: PersistenceContext) -> None:
        self._sandbox = sandbox
        self._rulebook = rulebook
        self._context = context

    def write_entry(self, entry: JournalEntry) -> list[object]:
        """An entry as plain data."""
        asked, result, name = entry.asked, entry.result, self._context.name_of(entry.endpoint)
        faults = (
            [decision.outcome.transport for decision in result.decisions]
            if entry.fault is not None
            else []
        )
        return [
            entry.number,
            entry.at,
            _ASKED.write(asked),
            None
            if asked.request is _EMPTY
            else self._context.write(asked.request, is_named=name is not None),
            _RESULT.write(result),
            self.write_about(result),
            [self._write_attempt(one, asked, is_named=name is not None) for one in result.attempts],
            [
                self._write_decision(one, asked, result, is_named=name is not None)
                for one in result.decisions
            ],
            entry.method,
            name,
            entry.path,
            entry.query,
            entry.raw,
            entry.status,
            entry.answer,
            next((place for place, one in enumerate(faults) if one is entry.fault), None),
        ]

    def read_entry(self, plain: Any, cards: CardRegistry) -> JournalEntry:
        """The entry again; its answer has ended by now."""
        (
            number,
            at,
            asked,
            request,
            result,
            about,
            attempts,
            decisions,
            method,
            name,
            path,
            *rest,
        ) = plain
        query, raw, status, answer, fault = rest
        endpoint = self._context.endpoint(name)
        query, raw, answer = (_BYTES.read(one, cards) for one in (query, raw, answer))
        asked, result = _ASKED.read(asked, cards), _RESULT.read(result, cards)
        if request is not None:
            asked.request = self._context.read(request, endpoint, raw, query)
        result.about = self._read_objects(about, cards)
        result.attempts = tuple(self._read_attempt(one, asked, result, cards) for one in attempts)
        for one in decisions:
            result.note(self._read_decision(one, asked, result, cards))
        if (status or 0) >= _REFUSED and answer.startswith(b"{"):
            result.problem = json.loads(answer)
        return JournalEntry(
            number=number,
            at=_MICROS.read(at, cards),
            asked=asked,
            result=result,
            method=method,
            path=path,
            endpoint=endpoint,
            query=query,
            raw=raw,
            status=status,
            answer=answer,
            fault=result.decisions[fault].outcome.transport if fault is not None else None,
        )

    def write_about(self, result: Result | None) -> dict[str, object] | None:
        """The objects that a step is about, by kind: each with its table."""
        return (
            None if result is None else {kind: _about(held) for kind, held in result.about.items()}
        )

    def read_about(self, plain: Any, cards: CardRegistry) -> Result | None:
        """What came of a step that has ended, of which only that is known."""
        return None if plain is None else Result(self._read_objects(plain, cards))

    def _read_objects(self, plain: Any, cards: CardRegistry) -> dict[str, object]:
        return {kind: self._read_object(name, held, cards) for kind, (name, held) in plain.items()}

    def _read_object(self, name: str, held: Any, cards: CardRegistry) -> object:
        if name == "batches":
            return self._sandbox.batches.get(held)
        return Record.of(ROW_CLASSES[name]).read(held, cards) if name else _ANY.read(held, cards)

    def _write_attempt(self, attempt: Attempt, asked: Asked, *, is_named: bool) -> list[object]:
        own = attempt.request is not asked.request
        return [
            _ATTEMPT.write(attempt),
            self._context.write(attempt.request, is_named=is_named) if own else None,
            attempt.headers if attempt.headers is not asked.headers else None,
            attempt.state is _STATELESS,
        ]

    def _read_attempt(
        self, plain: Any, asked: Asked, result: Result, cards: CardRegistry
    ) -> Attempt:
        fields, request, headers, is_stateless = plain
        attempt: Attempt = _ATTEMPT.read(fields, cards)
        attempt.request = (
            asked.request if request is None else self._context.read(request, None, b"", b"")
        )
        attempt.headers = asked.headers if headers is None else headers
        if not is_stateless:
            attempt.state = reader_of(self._sandbox, asked, result.about)
        return attempt

    def _write_decision(
        self, decision: Decision, asked: Asked, result: Result, *, is_named: bool
    ) -> object:
        if decision is SILENCE[decision.stage]:
            return decision.stage
        attempt, fired = decision.attempt, decision.fired
        place = next((place for place, one in enumerate(result.attempts) if one is attempt), None)
        is_apart = attempt is not None and place is None
        return [
            decision.stage,
            self._rulebook.present if fired is None else self._rulebook.number_of(fired),
            place,
            self._write_attempt(attempt, asked, is_named=is_named)
            if attempt and is_apart
            else None,
            None if fired is None else fired.id,
            None if fired is None else _place(fired, decision.outcome),
            decision.delay,
            decision.salt,
            decision.passed,
        ]

    def _read_decision(
        self, plain: Any, asked: Asked, result: Result, cards: CardRegistry
    ) -> Decision:
        if isinstance(plain, str):
            return SILENCE[Stage(plain)]
        word, book, tried, apart, rule, outcome, delay, salt, passed = plain
        stage, attempt = Stage(word), None if tried is None else result.attempts[tried]
        if apart is not None:
            attempt = self._read_attempt(apart, asked, result, cards)
        rules = self._rulebook.of(book)
        fired = rules.by_id.get(rule) if rules is not None else None
        return Decision(
            outcome=_outcome(fired, outcome, cards) if fired is not None else NOTHING,
            rule=rule,
            stage=stage,
            delay=delay,
            salt=salt,
            bucket=rules.buckets[stage, attempt.op, attempt.also]
            if rules is not None and attempt is not None
            else None,
            attempt=attempt,
            passed=_PASSED.read(passed, cards),
            fired=fired,
        )


def _about(held: Any) -> tuple[str, object]:
    if isinstance(held, Batch):
        # It changes in place, so that it is the same as in its table.
        return "batches", held.batch_id
    name = TABLE_NAMES.get(type(held))
    return ("", _ANY.write(held)) if name is None else (name, held)


def _place(rule: Rule, outcome: Outcome) -> object:
    """Where an outcome stands in its rule; a decline that the rule made up itself."""
    place = next((place for place, one in enumerate(rule.plan.outcomes) if one is outcome), None)
    if place is None and isinstance(outcome.provider, Decline) and outcome != exhausted(rule):
        return outcome.provider
    return _EXHAUSTED if place is None else place


def _outcome(rule: Rule, place: Any, cards: CardRegistry) -> Outcome:
    if isinstance(place, list):
        return Outcome(provider=_DECLINE.read(place, cards))
    outcomes = rule.plan.outcomes
    if place == _EXHAUSTED:
        return exhausted(rule)
    return outcomes[place] if place < len(outcomes) else NOTHING
