"""Steps and journal entries as a store keeps them: the request as it came, what decided, what happened.

A decision is kept by its rule and the place of its outcome there; the rules themselves are known by their number
(``Rulebook``), so that entries from before a change of scenarios keep their evidence.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from mockserver.domain.batch import Batch
from mockserver.domain.cards import CardNumber
from mockserver.domain.events import Event
from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.codec import Form
from mockserver.engine.journal import JournalEntry
from mockserver.engine.kept.forms import Forms, without_end
from mockserver.engine.result import Asked, Result
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.state_facts import reader_of
from mockserver.engine.tables import ROW_CLASSES, TABLE_NAMES
from mockserver.scenario.attempt import Attempt, Stage
from mockserver.scenario.director import SILENCE, Decision, exhausted
from mockserver.scenario.matching import Difference
from mockserver.scenario.outcome import NOTHING, Outcome
from mockserver.scenario.provider_outcome import Decline, ProviderOutcome
from mockserver.scenario.rule import Rule
from mockserver.scenario.ruleset import Ruleset

_EXHAUSTED = -1
_REFUSED = 400

_NEW = Asked("")
_UNASKED = Attempt("", 0)
_ENTRY, _STEP, _ATTEMPT, _DECISION = 11, 20, 14, 8
"""Places of each list. Their order is that of the format: what is new stands at the end."""

_ATTEMPT_FACTS = ("op", "now", "also", "source", "provider", "attempt", "subject", "row", "bank_account", "call")


class RequestForms(Protocol):
    """What the edge knows of requests: which operation carries one out, and what its fields say."""

    def name_of(self, endpoint: object) -> str | None:
        """The name of an operation; None for what is none."""

    def endpoint(self, name: str | None) -> object:
        """The operation of a name."""

    def write(self, request: Mapping[str, object], *, is_named: bool) -> object:
        """The fields of a request as plain data, without the text that the journal keeps anyway where the name of the
        operation says how to read it: an entry that cannot be sent again has none."""

    def read(self, kept: object, endpoint: object, raw: bytes, query: bytes) -> Mapping[str, object]:
        """The same fields again."""


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

    def __init__(self, sandbox: Sandbox, rulebook: Rulebook, requests: RequestForms, forms: Forms) -> None:
        self._sandbox = sandbox
        self._rulebook = rulebook
        self._requests = requests
        self._forms = forms
        self._events = forms.of(tuple[Event, ...])
        self._passed = forms.of(tuple[tuple[str, Difference], ...])
        self._scripted = forms.of(ProviderOutcome | None)
        self._decline = forms.of(Decline)
        self._object: Form = forms.of(object)
        self._bytes = forms.of(bytes)
        self._card = forms.of(CardNumber)

    def write_entry(self, entry: JournalEntry) -> list[object]:
        """An entry as plain data."""
        fault, write = entry.fault, self._bytes.to_plain
        name = self._requests.name_of(entry.endpoint)
        place = None
        if fault is not None:
            faults = [decision.outcome.transport for decision in entry.result.decisions]
            place = next((place for place, one in enumerate(faults) if one is fault), None)
        return without_end(
            [
                entry.at,
                self._write_step(entry.asked, entry.result, is_named=name is not None),
                entry.method or None,
                name,
                entry.path or None,
                write(entry.query) or None,
                write(entry.raw) or None,
                entry.status,
                write(entry.answer) or None,
                place,
            ]
        )

    def read_entry(self, number: int, raw: Any, cards: CardRegistry) -> JournalEntry:
        """The entry again; its answer has ended by now."""
        at, plain, method, name, path, *texts, fault, _ = _whole(raw, _ENTRY)
        query, body, status, answer = texts
        endpoint = self._requests.endpoint(name)
        query, body, answer = (self._bytes.to_value(text or "") for text in (query, body, answer))
        asked, result = self._read_step(plain, cards, endpoint, body, query)
        if (status or 0) >= _REFUSED and answer.startswith(b"{"):
            result.problem = json.loads(answer)
        return JournalEntry(
            number=number,
            at=at,
            asked=asked,
            result=result,
            method=method or "",
            endpoint=endpoint,
            path=path or "",
            query=query,
            raw=body,
            status=status,
            answer=answer,
            fault=result.decisions[fault].outcome.transport if fault is not None else None,
        )

    def write_about(self, result: Result | None) -> object:
        """The objects that a step is about, by kind: each with its table."""
        if result is None:
            return None
        return {kind: self._write_object(held) for kind, held in result.about.items()}

    def read_about(self, raw: Any, cards: CardRegistry) -> Result | None:
        """What came of a step that has ended, of which only that is known."""
        if raw is None:
            return None
        return Result({kind: self._read_object(held, cards) for kind, held in raw.items()})

    def _write_step(self, asked: Asked, result: Result, *, is_named: bool) -> list[object]:
        return without_end(
            [
                asked.op,
                asked.answers,
                asked.row,
                result.latency,
                result.urgent,
                result.is_repeat,
                result.pause,
                asked.call,
                result.assumed or None,
                result.webhooks or None,
                result.ignored or None,
                result.warnings or None,
                dict(asked.headers) or None,
                dict(asked.path) or None,
                self._scripted.to_plain(asked.scripted),
                self._requests.write(asked.request, is_named=is_named) if asked.request is not _NEW.request else None,
                self.write_about(result) or None,
                [self._write_attempt(attempt, asked, is_named=is_named) for attempt in result.attempts] or None,
                [self._write_decision(decision, asked, result, is_named=is_named) for decision in result.decisions]
                or None,
                self._events.to_plain(result.events) or None,
            ]
        )

    def _read_step(
        self, raw: Any, cards: CardRegistry, endpoint: object, body: bytes, query: bytes
    ) -> tuple[Asked, Result]:
        op, answers, row, latency, urgent, is_repeat, pause, call, *more = _whole(raw, _STEP)
        assumed, webhooks, ignored, warnings, headers, path, scripted, request, about, *decided = more
        attempts, decisions, events = decided
        asked = Asked(
            op,
            answers=answers,
            headers=headers or _NEW.headers,
            path=path or _NEW.path,
            request=_NEW.request if request is None else self._requests.read(request, endpoint, body, query),
            call=call,
            row=row,
            scripted=self._scripted.to_value(scripted),
        )
        result = Result({kind: self._read_object(held, cards) for kind, held in (about or {}).items()})
        result.latency, result.urgent, result.is_repeat, result.pause = latency, urgent, is_repeat, pause
        result.assumed = assumed or []
        result.webhooks, result.ignored, result.warnings = (
            tuple(texts or ()) for texts in (webhooks, ignored, warnings)
        )
        result.attempts = tuple(self._read_attempt(one, asked, result, cards) for one in attempts or ())
        for one in decisions or ():
            result.note(self._read_decision(one, asked, result, cards))
        result.events = self._events.to_value(events or [])
        return asked, result

    def _write_object(self, held: object) -> object:
        if isinstance(held, Batch):
            # It changes in place, so that it is the same as in its table.
            return ["batches", held.batch_id]
        name = TABLE_NAMES.get(type(held))
        if name is None:
            return ["", self._object.to_plain(held)]
        return [name, self._forms.of(type(held)).to_plain(held)]

    def _read_object(self, raw: Any, cards: CardRegistry) -> object:
        name, held = raw
        if name == "batches":
            return self._sandbox.batches.get(held)
        return self._forms.of(ROW_CLASSES[name]).to_value(held, cards) if name else self._object.to_value(held)

    def _write_attempt(self, attempt: Attempt, asked: Asked, *, is_named: bool) -> list[object]:
        return without_end(
            [
                *(getattr(attempt, name) for name in _ATTEMPT_FACTS),
                self._card.to_plain(attempt.card) if attempt.card is not None else None,
                self._requests.write(attempt.request, is_named=is_named)
                if attempt.request is not asked.request
                else None,
                dict(attempt.headers) if attempt.headers is not asked.headers else None,
                True if attempt.state is _UNASKED.state else None,
            ]
        )

    def _read_attempt(self, raw: Any, asked: Asked, result: Result, cards: CardRegistry) -> Attempt:
        plain = _whole(raw, _ATTEMPT)
        card, request, headers, is_stateless = plain[len(_ATTEMPT_FACTS) :]
        attempt = Attempt(**dict(zip(_ATTEMPT_FACTS, plain, strict=False)))
        if card is not None:
            attempt.card = self._card.to_value(card, cards)
        attempt.request = asked.request if request is None else self._requests.read(request, None, b"", b"")
        attempt.headers = asked.headers if headers is None else headers
        if not is_stateless:
            attempt.state = reader_of(self._sandbox, asked, result.about)
        return attempt

    def _write_decision(self, decision: Decision, asked: Asked, result: Result, *, is_named: bool) -> object:
        if decision is SILENCE[decision.stage]:
            return decision.stage.value
        attempt, fired = decision.attempt, decision.fired
        tried: object = None
        if attempt is not None:
            tried = next((place for place, one in enumerate(result.attempts) if one is attempt), None)
            if tried is None:
                tried = self._write_attempt(attempt, asked, is_named=is_named)
        return without_end(
            [
                decision.stage.value,
                self._rulebook.present if fired is None else self._rulebook.number_of(fired),
                tried,
                None if fired is None else fired.id,
                None if fired is None else self._place(fired, decision.outcome),
                decision.delay or None,
                decision.salt or None,
                self._passed.to_plain(decision.passed) or None,
            ]
        )

    def _read_decision(self, raw: Any, asked: Asked, result: Result, cards: CardRegistry) -> Decision:
        if isinstance(raw, str):
            return SILENCE[Stage(raw)]
        word, book, tried, rule, place, delay, salt, passed = _whole(raw, _DECISION)
        stage, attempt = Stage(word), None
        if isinstance(tried, int):
            attempt = result.attempts[tried]
        elif tried is not None:
            attempt = self._read_attempt(tried, asked, result, cards)
        rules = self._rulebook.of(book)
        fired = rules.by_id.get(rule) if rules is not None and rule is not None else None
        bucket = rules.bucket(stage, attempt.op, attempt.also) if rules is not None and attempt is not None else None
        return Decision(
            outcome=self._outcome(fired, place) if fired is not None else NOTHING,
            rule=rule,
            stage=stage,
            delay=delay or 0,
            salt=salt or "",
            bucket=bucket,
            attempt=attempt,
            passed=self._passed.to_value(passed or []),
            fired=fired,
        )

    def _place(self, rule: Rule, outcome: Outcome) -> object:
        """Where an outcome stands in its rule; a decline that the rule made up itself."""
        place = next((place for place, one in enumerate(rule.plan.outcomes) if one is outcome), None)
        if place is None and isinstance(outcome.provider, Decline) and outcome != exhausted(rule):
            return self._decline.to_plain(outcome.provider)
        return _EXHAUSTED if place is None else place

    def _outcome(self, rule: Rule, place: Any) -> Outcome:
        if isinstance(place, list):
            return Outcome(provider=self._decline.to_value(place))
        outcomes = rule.plan.outcomes
        if place == _EXHAUSTED:
            return exhausted(rule)
        return outcomes[place] if place < len(outcomes) else NOTHING


def _whole(raw: Any, count: int) -> list[Any]:
    """The same list again, with ``count`` places. Raises ``TypeError`` for what is no list."""
    return [*raw[:count], *[None] * (count - len(raw))]
