"""Gives a rule of a file its meaning: operations, stage, tests of ``when``, key, plan."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from itertools import accumulate

from mockserver.domain.clock import UTC_ZONE, Micros, Zone
from mockserver.domain.ids import digest
from mockserver.scenario.attempt import Stage
from mockserver.scenario.matching import Reader
from mockserver.scenario.model import PLANS, ChanceOne, RuleMap
from mockserver.scenario.operations import ABOUT_ONE, ALL_OPERATIONS, CONNECTION, PROVIDER_OPERATIONS, UNREQUESTED
from mockserver.scenario.outcome import NOTHING, Outcome, ThenMap, applicability
from mockserver.scenario.outcome_catalogue import CATALOGUE
from mockserver.scenario.paths import DAY_OF_CLOCK, day_reader, known_path
from mockserver.scenario.problems import Path, Problems
from mockserver.scenario.provider_outcome import BY_NAME
from mockserver.scenario.rule import (
    Always,
    AtEnd,
    Chance,
    Named,
    Plan,
    RandomScope,
    Rule,
    Sequence,
    thresholds,
)
from mockserver.scenario.transport import At
from mockserver.scenario.when import compile_when, named_in, operations_of

NAMED_OUTCOMES = {name: Outcome(provider=row.provider) for name, row in CATALOGUE.items()}
"""What a request can name: every row of the catalogue."""

_NEED_PROVIDER = ("provider", "attempt", "source", "card", "bank_account.", "batch.row")
_KNOWN_EARLY = ("op", "nth", "clock")
_DELIVERY = frozenset({"webhook.deliver"})
_UNDER_WAY = {"in_flight": UNREQUESTED, "overlaps": _DELIVERY}
"""What looks at calls that are not answered yet, and where no such call can be meant."""
_TESTED_OF_DELIVERIES = "request.<path>, state.<path>, age, idle, nth and clock"
_ASKED_WITH_PROVIDER = UNREQUESTED - _DELIVERY
"""Operations whose rules are all asked as the provider is: nothing arrives before."""


def compile_rule(
    model: RuleMap,
    raw: object,
    problems: Problems,
    *,
    begins: Micros | None,
    declared: frozenset[str] = frozenset(),
    draws: RandomScope = RandomScope.SANDBOX,
    zone: Zone = UTC_ZONE,
    builtin: bool = False,
) -> Rule | None:
    """A rule from a model of sound shape, or None when ``problems`` got a fault of it."""
    before = len(problems.found)
    operations = operations_of(model.when, problems.below("when"))
    plan = _plan(model, operations, problems)
    stage = Stage.ARRIVAL
    if plan is not None and len(problems.found) == before:
        stage, operations = _placed(model, plan, operations, problems)
    when = compile_when(model.when, problems.below("when"), operations, begins=begins, declared=declared, zone=zone)
    key = _key(model, operations or ALL_OPERATIONS, problems, zone)
    if key is None and stage is Stage.ARRIVAL and not operations <= ABOUT_ONE:
        key = ()
    if model.per is not None and model.limit is None and model.sequence is None and "nth" not in model.when:
        problems.add(("per",), "per resets nothing here: it needs nth, a sequence or a limit")
    if len(problems.found) > before or plan is None:
        return None
    return Rule(
        id=model.id,
        file=problems.file,
        line=problems.place()[0],
        text=digest(json.dumps(raw, sort_keys=True, default=str)).hex(),
        stage=stage,
        operations=operations,
        when=when,
        plan=plan,
        key=key,
        limit=model.limit.times if model.limit is not None else None,
        limit_by_key=model.limit is not None and model.limit.per is not None,
        per=model.per,
        zone=zone,
        lives=model.for_,
        expect=model.expect,
        draws=draws,
        builtin=builtin,
        by_connection=CONNECTION in (model.key or ()) or CONNECTION in model.when,
    )


def _key(model: RuleMap, operations: frozenset[str], problems: Problems, zone: Zone) -> tuple[Reader, ...] | None:
    if model.key is None:
        return None
    readers = []
    for index, part in enumerate(model.key):
        with problems.at("key", index):
            day = part == DAY_OF_CLOCK
            readers.append(day_reader(zone) if day else known_path(part, operations).read)
    return tuple(readers)


def _plan(model: RuleMap, operations: frozenset[str], problems: Problems) -> Plan | None:
    found = [word for word in PLANS if getattr(model, word) is not None]
    if len(found) != 1:
        problems.add((), f"got {' and '.join(found) or 'none'}, wanted exactly one of {', '.join(PLANS)}")
        return None
    if model.at_end is not None and model.sequence is None:
        problems.add(("at_end",), "got at_end without a sequence")
    if model.then is not None:
        return _then(model.then, operations, problems.below("then"))
    if model.sequence is not None:
        ends = tuple(accumulate(step.times for step in model.sequence))
        return Sequence(tuple(step.outcome for step in model.sequence), ends, model.at_end or AtEnd.PASS)
    match model.chance:
        case ChanceOne() as one:
            return Chance((one.then.outcome,), thresholds([one.p], Decimal(1)))
        case list() as weighted:
            weights = [one.weight for one in weighted]
            outcomes = tuple(one.then.outcome for one in weighted)
            return Chance(outcomes, thresholds(weights, sum(weights, Decimal(0))))
        case _:
            return None


def _then(model: ThenMap, operations: frozenset[str], problems: Problems) -> Plan | None:
    if model.outcome_from is None:
        return Always((model.outcome,))
    named = None
    with problems.at("outcome_from"):
        if model != ThenMap(outcome_from=model.outcome_from):
            raise ValueError("outcome_from names the whole outcome: it cannot be combined with anything else")
        if not model.outcome_from.startswith(("request.", "header.")):
            raise ValueError(f"got '{model.outcome_from}', wanted request.<path> or header.<name>")
        named = Named(model.outcome_from, known_path(model.outcome_from, operations).read, NAMED_OUTCOMES)
    return named


def _placed(model: RuleMap, plan: Plan, operations: frozenset[str], problems: Problems) -> tuple[Stage, frozenset[str]]:
    """When the rule is asked, and in which operations: those in which all that it looks at and makes happen has a
    place. A fault where none is left, or one that ``op`` names in full is not among them."""
    outcomes = plan.outcomes
    if any(_strikes(At.CONNECT, one) for one in outcomes):
        for place, words in _misused_at_connect(model, plan):
            problems.add(place, words)
        return Stage.CONNECT, frozenset({CONNECTION})
    looks = [key for key in (*model.when, *(model.key or ())) if key.startswith(_NEED_PROVIDER)]
    fits = [(key, PROVIDER_OPERATIONS) for key in looks]
    fits += [(word, ALL_OPERATIONS - lost) for word, lost in _UNDER_WAY.items() if word in model.when]
    if isinstance(plan, Named):
        fits.append(("outcome_from", PROVIDER_OPERATIONS))
    else:
        fits += [fit for outcome in outcomes for fit in applicability(outcome)]
    asks = looks or any(one.provider is not None or one.latency is not None for one in outcomes)
    # What is as usual shields from later rules for the provider, where one is asked.
    asks = asks or (all(one == NOTHING for one in outcomes) and operations <= PROVIDER_OPERATIONS)
    if not asks and not operations <= _ASKED_WITH_PROVIDER:
        fits.append(("a rule that looks at no provider", ALL_OPERATIONS - _ASKED_WITH_PROVIDER))
    if asks and any(one.transport is not None and one.transport.comes_first for one in outcomes):
        problems.add(
            (), "copies, hold, virtual at: receive come before a provider is asked: they go with no test of one"
        )
    if any(one.replay for one in outcomes):
        for place, words in _misused_replay(model, plan, asks):
            problems.add(place, words)
    exact = named_in(model.when.get("op"))
    left = operations
    for word, everywhere in fits:
        fit = everywhere - (BY_NAME.get(word, frozenset()) - exact)
        lost = exact - fit if left & fit else left
        if lost:
            problems.add(("when", word if word in _UNDER_WAY else "op"), _misfit(word, lost, everywhere))
            return Stage.ARRIVAL, operations
        left &= fit
    if any(_strikes(At.UPLOAD, one) for one in outcomes):
        for place, words in _misused_at_upload(model, plan):
            problems.add(place, words)
        return Stage.UPLOAD, left
    return Stage.PROVIDER if asks or left <= _ASKED_WITH_PROVIDER else Stage.ARRIVAL, left


def _strikes(at: At, outcome: Outcome) -> bool:
    return outcome.transport is not None and outcome.transport.at is at


def _is_all(at: At, plan: Plan) -> bool:
    """Whether a plan does nothing besides faults at one place."""
    return all(_strikes(at, one) and one == Outcome(transport=one.transport) for one in plan.outcomes)


def _misused_at_connect(model: RuleMap, plan: Plan) -> Iterator[tuple[Path, str]]:
    """When a connection is made, neither its sandbox nor the request is known."""
    unknown = "no request and no sandbox is known when a connection is made"
    yield from ((("when",), f"got {key}, and {unknown}: only nth can be tested") for key in model.when if key != "nth")
    for word in ("key", "per", "for_", "expect"):
        if getattr(model, word) is not None:
            name = word.rstrip("_")
            yield (), f"{name} has no meaning at: connect: no request and no sandbox time is known"
    if model.limit is None or model.limit.per is not None:
        yield (), "at: connect needs a limit, a number: without one no client of any API could ever connect"
    if not _is_all(At.CONNECT, plan):
        yield (), "a fault at: connect comes before any request: it cannot be combined with anything else"


def _misused_at_upload(model: RuleMap, plan: Plan) -> Iterator[tuple[Path, str]]:
    """While a body is sent only the head of the request is known."""
    known = f"at: upload only the head has come: it knows {', '.join(_KNOWN_EARLY)}, header.<name>"
    for part, keys in (("when", list(model.when)), ("key", model.key or [])):
        early = (*_KNOWN_EARLY, *(key for key in keys if key.startswith("header.")))
        yield from (((part,), f"got {key}, and {known}") for key in keys if key not in early)
    if not _is_all(At.UPLOAD, plan):
        yield (), "a fault at: upload ends or slows the request itself: it cannot be combined with anything else"


def _misused_replay(model: RuleMap, plan: Plan, asks: object) -> Iterator[tuple[Path, str]]:
    """The first answer is looked for as a request arrives, by a key that it has then; it is that of the first firing,
    so there must be one and more after it."""
    nth = model.when.get("nth")
    fires_once = [
        *(["limit: 1"] if model.limit is not None and model.limit.times == 1 else []),
        *([f"nth: {nth}"] if isinstance(nth, int) else []),
        *(["a sequence with one step of it"] if _replays_once(plan) else []),
    ]
    if fires_once:
        yield (), f"got replay with {fires_once[0]}: it repeats the answer of its first firing, and fires once"
    faults = [one.transport for one in plan.outcomes if one.replay and one.transport is not None]
    if any(fault.at is At.RECEIVE and not fault.goes_on for fault in faults):
        yield (), "got replay with a fault at: receive: nothing happens, so there is no first answer to repeat"
    if model.key is None:
        yield (), "replay needs a key that says which calls are the same, such as key: [request.reference]"
    if asks:
        yield (), "replay answers before a provider is asked: tests and outcomes of a provider cannot be used with it"


def _replays_once(plan: Plan) -> bool:
    """Whether a sequence comes to a replay a single time."""
    if not isinstance(plan, Sequence) or plan.at_end in (AtEnd.HOLD, AtEnd.LOOP):
        return False
    steps = zip(plan.outcomes, (0, *plan.ends), plan.ends, strict=False)
    return sum(end - start for outcome, start, end in steps if outcome.replay) == 1


def _misfit(word: str, lost: frozenset[str], fit: frozenset[str]) -> str:
    named = " and ".join(sorted(lost))
    if word == "batch":
        return "batch scripts a whole batch: use op: batch.create, and rows for its rows"
    if word in _UNDER_WAY:
        allowed = f"; a rule for it may test {_TESTED_OF_DELIVERIES}" if lost == _DELIVERY else ""
        return f"no request comes in for {named}, so {word} cannot be used there{allowed}"
    if lost == _DELIVERY:
        return "a delivery takes only webhook outcomes, such as webhook: {receiver: [500, 200]}"
    if word == "transport":
        return f"no request comes in for {named}, so transport cannot be used there"
    if fit == PROVIDER_OPERATIONS:
        return f"no provider is asked in {named}, so {word} cannot be used there; it fits {', '.join(sorted(fit))}"
    return f"{word} means nothing in {named}; it fits {', '.join(sorted(fit))}"
