"""From the plain data of a file to a compiled scenario. Reads no files: positions come with the data.

First the models check the shape, then the words are given their meaning; all faults of a file are reported at once.
The scenario that comes with the server, our own and tested with the models, is read without them:
they are built when somebody's own scenario comes.
"""

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import accumulate
from typing import Any

from mockserver.assumptions import read as read_assumption
from mockserver.domain.clock import FAST, UTC_ZONE, ClockMode, Zone, parse_duration
from mockserver.domain.errors import nearest
from mockserver.domain.ids import digest
from mockserver.domain.money import currency
from mockserver.domain.provider import CAPABILITIES, DEFAULT_PROVIDER_ID
from mockserver.scenario.answers import check_calls
from mockserver.scenario.file_model import got_of, read_part
from mockserver.scenario.later_step import Later
from mockserver.scenario.matching import Reader, Stage
from mockserver.scenario.operations import ABOUT_ONE, ALL_OPERATIONS, CONNECTION, PROVIDER_OPERATIONS, UNREQUESTED
from mockserver.scenario.outcome import NOTHING, Outcome, ThenMap, applicability
from mockserver.scenario.paths import DAY_OF_CLOCK, day_reader, known_path
from mockserver.scenario.problems import Path, Positions, Problems, ScenarioRefused
from mockserver.scenario.provider_outcome import BY_NAME, CATALOGUE, Challenge, decline
from mockserver.scenario.rule import PLANS, Always, AtEnd, Chance, ChanceOne, Named, Plan, Rule, RuleMap, Sequence
from mockserver.scenario.scenario import ClockMap, ClockPlan, ProviderMap, Scenario, ScenarioFile
from mockserver.scenario.transport import At
from mockserver.scenario.when import compile_when, named_in, operations_of

_CALLED = (("setup",), ("examples",))
"""Parts whose lines are asked for later: they hold calls."""


def parse(
    data: object, positions: Positions, *, file: str, name: str, builtin: bool = False, is_shipped: bool = False
) -> Scenario:
    """The scenario that plain data describe. ``name`` counts when the file gives none; ``is_shipped`` says that it
    comes with the server, and needs no models. Raises ``ScenarioRefused`` with every problem, each with its line and
    column."""
    problems = Problems(file, positions)
    if not isinstance(data, dict):
        problems.add((), f"got {got_of(data)}, wanted a map that begins with version: 1")
        raise ScenarioRefused(problems.found)
    # What the models would make of the file that comes with the server, but for its rules and examples.
    shipped = ScenarioFile(version=1, name=name, description=data["description"]) if is_shipped else None
    model = shipped or read_part(ScenarioFile, data, problems)
    begun = model or ScenarioFile(version=1)
    rules = _rules(data.get("rules"), begun, problems, is_shipped=is_shipped, builtin=builtin)
    if model is not None:
        _check(model, problems)
    if model is None or problems.found:
        raise ScenarioRefused(problems.found)
    asked, clock = data.get("clock"), None
    if model.clock is not None and not (isinstance(asked, dict) and asked.keys() == {"zone"}):
        mode = model.clock.mode
        clock = ClockPlan(model.clock.start, mode, model.clock.rate or (FAST if mode is ClockMode.FAST else 1))
    return Scenario(
        name=model.name or name,
        file=file,
        said=model,
        clock=clock,
        rules=tuple(rules),
        lines={path: line for path, (line, _) in positions.items() if path[:1] in _CALLED},
        builtin=builtin,
        source=data,
    )


def _rules(given: object, file: ScenarioFile, problems: Problems, *, is_shipped: bool, builtin: bool) -> list[Rule]:
    """The rules of a file, each read by itself: a fault of one, or of another part of the file, hides none of
    another."""
    rules: list[Rule | None] = []
    taken: set[str] = set()
    for index, raw in enumerate(given if isinstance(given, list) else []):
        here = problems.below("rules", index)
        shaped = _shipped_rule(raw) if is_shipped else read_part(RuleMap, raw, here)
        if shaped is None:
            # The faults of ``when`` are reported all the same.
            if isinstance(raw, dict) and isinstance(when := raw.get("when"), dict):
                compile_when(when, here.below("when"), operations_of(when, here.below("when")))
            continue
        if shaped.id in taken:
            here.add(("id",), f"got '{shaped.id}' a second time; the id of a rule must be unique")
        taken.add(shaped.id)
        rules.append(compile_rule(shaped, raw, file, here, builtin=builtin))
    return [rule for rule in rules if rule is not None]


def later_of(data: Mapping[str, Any]) -> tuple[Later | None, dict[str, str]]:
    """What happens to an object, as one of ``later`` says it, and what is wrong with it by field."""
    problems = Problems("later", {})
    read = read_part(Later, {"after": "0s", **data}, problems)
    return read, {one.path or "Body": one.message for one in problems.found}


def _shipped_rule(data: Mapping[str, Any]) -> RuleMap:
    """A rule of the file that comes with the server: these make happen what is named here and nothing else."""
    match data["then"]:
        case {"decline": name}:
            then = ThenMap(decline=decline(name))
        case {"challenge": _}:
            then = ThenMap(challenge=Challenge())
        case {"outcome_from": path}:
            then = ThenMap(outcome_from=path)
        case {"later": [{"after": after, "set": changes}]}:
            then = ThenMap(later=(Later(parse_duration(after), set=changes),))
        case other:
            raise ValueError(f"got {other}, which only the models read")
    return RuleMap(id=data["id"], when=data["when"], then=then)


def _check(model: ScenarioFile, problems: Problems) -> None:
    """Find what is wrong with the meaning of a file, its rules apart."""
    for key, value in model.assumptions.items():
        with problems.at("assumptions", key):
            read_assumption(key, value)
    clock = model.clock
    if clock is not None and clock.rate is not None and clock.mode is not ClockMode.FAST:
        problems.add(("clock", "rate"), f"got a rate in mode {clock.mode}, allowed in mode fast only")
    _check_providers(model.providers, problems)
    check_calls(model.setup, model.examples, problems)


def _check_providers(models: list[ProviderMap], problems: Problems) -> None:
    ids = [model.id for model in models]
    for index, model in enumerate(models):
        here = problems.below("providers", index)
        if model.id in ids[:index]:
            here.add(("id",), f"got '{model.id}' a second time; the id of a provider must be unique")
        if model.type not in CAPABILITIES:
            hint = nearest(model.type, CAPABILITIES) or ", such as dummy"
            here.add(("type",), f"got '{model.type}', wanted a known provider type{hint}")
        if model.fallback is not None and model.fallback not in {*ids, DEFAULT_PROVIDER_ID}:
            hint = nearest(model.fallback, ids) or f", one of {', '.join([*ids, DEFAULT_PROVIDER_ID])}"
            here.add(("fallback",), f"got '{model.fallback}', wanted a provider's id{hint}")
        if model.fallback == model.id:
            here.add(("fallback",), "a provider cannot take over from itself")
        with here.at("currency"):
            currency(model.currency)


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


def compile_rule(model: RuleMap, raw: object, file: ScenarioFile, problems: Problems, *, builtin: bool) -> Rule | None:
    """A rule of a file from a model of sound shape, or None when ``problems`` got a fault of it."""
    before, clock, limit = len(problems.found), file.clock or ClockMap(), model.limit
    zone, declared = clock.zone or UTC_ZONE, frozenset(provider.id for provider in file.providers)
    operations = operations_of(model.when, problems.below("when"))
    plan = _plan(model, operations, problems)
    stage = Stage.ARRIVAL
    if plan is not None and len(problems.found) == before:
        stage, operations = _placed(model, plan, operations, problems)
    when = compile_when(
        model.when, problems.below("when"), operations, begins=clock.start, declared=declared, zone=zone
    )
    key = None if model.key is None else tuple(_readers(model.key, operations or ALL_OPERATIONS, problems, zone))
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
        limit=limit.times if limit is not None and limit.per is None else None,
        limit_by_key=limit.times if limit is not None and limit.per is not None else None,
        per=model.per,
        lives=model.for_,
        expect=model.expect,
        draws=file.draws,
        builtin=builtin,
        by_connection=CONNECTION in (model.key or ()) or CONNECTION in model.when,
    )


def _readers(key: list[str], operations: frozenset[str], problems: Problems, zone: Zone) -> Iterator[Reader]:
    for index, part in enumerate(key):
        with problems.at("key", index):
            yield day_reader(zone) if part == DAY_OF_CLOCK else known_path(part, operations).read


def _plan(model: RuleMap, operations: frozenset[str], problems: Problems) -> Plan | None:
    found = [word for word in PLANS if getattr(model, word) is not None]
    if len(found) != 1:
        problems.add((), f"got {' and '.join(found) or 'none'}, wanted exactly one of {', '.join(PLANS)}")
        return None
    if model.at_end is not None and model.sequence is None:
        problems.add(("at_end",), "got at_end without a sequence")
    if model.then is not None:
        return _outcomes_of(model.then, operations, problems.below("then"))
    if model.sequence is not None:
        ends = tuple(accumulate(step.times for step in model.sequence))
        return Sequence(tuple(step.outcome for step in model.sequence), ends, model.at_end or AtEnd.PASS)
    if isinstance(model.chance, ChanceOne):
        return Chance.of([model.chance.then.outcome], [model.chance.p], Decimal(1))
    weighted = model.chance or []
    weights = [one.weight for one in weighted]
    return Chance.of((one.then.outcome for one in weighted), weights, sum(weights, Decimal(0)))


def _outcomes_of(model: ThenMap, operations: frozenset[str], problems: Problems) -> Plan | None:
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
        problems.add_all(_misused_at_connect(model, plan))
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
        early = "copies, hold, virtual at: receive come before a provider is asked: they go with no test of one"
        problems.add((), early)
    if any(one.replay for one in outcomes):
        problems.add_all(_misused_replay(model, plan, asks))
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
        problems.add_all(_misused_at_upload(model, plan))
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
