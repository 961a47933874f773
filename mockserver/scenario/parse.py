"""From the plain data of a file to a compiled scenario. Reads no files: positions come with the
data.

First the models check the shape (``file_model``), then the words are given their meaning: which
operations ``op`` means, what a path leads to (``paths``), at which stage a rule is asked
(``placing``). A faulty file is never half in force, and its author corrects it once: all faults are
reported together, each at its line. So nothing here raises at the first fault; each part adds its
own to ``problems``, and a rule is made when it has got none.

The scenario that comes with the server, our own and tested with the models, is read without them:
they are built when somebody's own scenario comes, which saves most servers the time.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
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
from mockserver.scenario.attempt import Reader, Stage
from mockserver.scenario.file_model import got_of, read_part
from mockserver.scenario.later_step import Later
from mockserver.scenario.operations import ABOUT_ONE, ALL_OPERATIONS, CONNECTION
from mockserver.scenario.outcome import ThenMap
from mockserver.scenario.paths import DAY_OF_CLOCK, check_there, day_reader, known_path
from mockserver.scenario.placing import Placing
from mockserver.scenario.problems import MOST_RULES, Path, Positions, Problems, ScenarioRefused
from mockserver.scenario.provider_outcome import Challenge, decline
from mockserver.scenario.rule import (
    PLANS,
    Always,
    AtEnd,
    Chance,
    ChanceOne,
    Named,
    Plan,
    Rule,
    RuleMap,
    Sequence,
)
from mockserver.scenario.scenario import ClockMap, ClockPlan, ProviderMap, Scenario, ScenarioFile
from mockserver.scenario.when import compile_when, operations_of

_CALLED = (("setup",), ("examples",))
"""Parts whose lines are asked for later: they hold calls."""


def parse(
    data: object,
    positions: Positions,
    *,
    file: str,
    name: str,
    builtin: bool = False,
    is_shipped: bool = False,
    was_taken: bool = False,
) -> Scenario:
    """The scenario that plain data describe. ``name`` counts when the file gives none;
    ``is_shipped`` says that it comes with the server, and needs no models; ``was_taken``, that a
    sandbox has it from a version that refused less. Raises ``ScenarioRefused`` with every problem,
    each with its line and column."""
    problems = Problems(file, positions, was_taken=was_taken)
    if not isinstance(data, dict):
        problems.add((), f"got {got_of(data)}, wanted a map that begins with version: 1")
        raise ScenarioRefused(problems.faults)
    model: ScenarioFile | None
    if is_shipped:
        # What the models would make of it, but for its rules and examples.
        model = ScenarioFile(version=1, name=name, description=data["description"])
    else:
        model = read_part(ScenarioFile, data, problems)
    raw_rules = data.get("rules")
    rules: list[Rule] = []
    # Rules that are no list are a fault of the model.
    if isinstance(raw_rules, list):
        if len(raw_rules) > MOST_RULES and not was_taken:
            problems.add(("rules",), f"got {len(raw_rules)} rules, wanted at most {MOST_RULES}")
        else:
            rules = _rules(
                raw_rules,
                # Rules are read also where the rest is at fault.
                model or ScenarioFile(version=1),
                problems,
                is_shipped=is_shipped,
                builtin=builtin,
            )
    if model is not None:
        _check(model, problems)
    if model is None or problems.faults:
        raise ScenarioRefused(problems.faults)
    return Scenario(
        name=model.name or name,
        file=file,
        said=model,
        clock=_clock_plan(model.clock, data.get("clock")),
        rules=tuple(rules),
        lines=_lines_of_calls(positions),
        builtin=builtin,
        source=data,
    )


def _lines_of_calls(positions: Positions) -> dict[Path, int]:
    """The lines of set-up and examples, by their paths: those of all other parts are not asked for
    once the file is read."""
    lines: dict[Path, int] = {}
    for path, (line, _) in positions.items():
        if path[:1] in _CALLED:
            lines[path] = line
    return lines


def _clock_plan(clock: ClockMap | None, raw_clock: object) -> ClockPlan | None:
    """How the clock begins and runs; None where the file says nothing but its zone: that is of its
    own rules, and the clock is left to other files."""
    if clock is None:
        return None
    if isinstance(raw_clock, dict) and raw_clock.keys() == {"zone"}:
        return None
    usual_rate = FAST if clock.mode is ClockMode.FAST else 1
    return ClockPlan(clock.start, clock.mode, clock.rate or usual_rate)


def _rules(
    raw_rules: list[Any],
    file: ScenarioFile,
    problems: Problems,
    *,
    is_shipped: bool,
    builtin: bool,
) -> list[Rule]:
    """The rules of a file, each read by itself: a fault of one, or of another part of the file,
    hides none of another."""
    rules: list[Rule] = []
    ids: set[str] = set()
    for index, raw in enumerate(raw_rules):
        here = problems.below("rules", index)
        model = _shipped_rule(raw) if is_shipped else read_part(RuleMap, raw, here)
        if model is None:
            _find_faults_of_when(raw, here)
            continue
        if model.id in ids:
            here.add(("id",), f"got '{model.id}' a second time; the id of a rule must be unique")
        ids.add(model.id)
        rule = compile_rule(model, raw, file, here, builtin=builtin)
        if rule is None:
            continue
        if not is_shipped and not problems.was_taken:
            # Last, as it needs the operations that remain when the whole rule has its place.
            _check_there(model, rule.operations, here)
        rules.append(rule)
    return rules


def _find_faults_of_when(raw_rule: object, problems: Problems) -> None:
    """The faults of ``when`` of a rule whose shape is wrong elsewhere, as its author is to see all
    faults at once."""
    if not isinstance(raw_rule, dict):
        return
    when = raw_rule.get("when")
    if isinstance(when, dict):
        below = problems.below("when")
        compile_when(when, below, operations_of(when, below))


def _check_there(model: RuleMap, operations: frozenset[str], problems: Problems) -> None:
    """Find what a rule looks at that is there in none of its operations: it would never fire."""
    for key, wanted in model.when.items():
        path = key
        if key == "overlaps":
            # ``overlaps: charge`` looks for another call about the same charge, by its id.
            path = f"state.{wanted}"
        with problems.at("when", key):
            check_there(path, operations)
    for index, path in enumerate(model.key or ()):
        with problems.at("key", index):
            check_there(path, operations)


def later_of(data: Mapping[str, Any]) -> tuple[Later | None, dict[str, str]]:
    """What happens to an object, as one of ``later`` says it (None where that is refused), and what
    is wrong with it, by field. A control call lets it happen at once, in the words of files."""
    problems = Problems("later", {})
    later = None
    # Raised where there are more faults than anybody is told: those are in ``problems``.
    with suppress(ScenarioRefused):
        later = read_part(Later, {"after": "0s", **data}, problems)
    return later, {problem.path or "Body": problem.message for problem in problems.faults}


def _shipped_rule(data: Mapping[str, Any]) -> RuleMap:
    """A rule of the file that comes with the server: these make happen what is named here and
    nothing else."""
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
    """Find what is wrong with the meaning of a file, its rules apart: what no model can see, as it
    is known by tables or follows from two keys."""
    for key, value in model.assumptions.items():
        with problems.at("assumptions", key):
            read_assumption(key, value)
    clock = model.clock or ClockMap()
    if clock.rate is not None and clock.mode is not ClockMode.FAST:
        problems.add(
            ("clock", "rate"), f"got a rate in mode {clock.mode}, allowed in mode fast only"
        )
    _check_providers(model.providers, problems)
    check_calls(model.setup, model.examples, problems)


def _check_providers(models: list[ProviderMap], problems: Problems) -> None:
    """Find what is wrong with the providers of a file."""
    ids = [model.id for model in models]
    for index, model in enumerate(models):
        here = problems.below("providers", index)
        if model.id in ids[:index]:
            here.add(
                ("id",), f"got '{model.id}' a second time; the id of a provider must be unique"
            )
        if model.type not in CAPABILITIES:
            hint = nearest(model.type, CAPABILITIES) or ", such as dummy"
            here.add(("type",), f"got '{model.type}', wanted a known provider type{hint}")
        known_ids = [*ids, DEFAULT_PROVIDER_ID]
        if model.fallback is not None and model.fallback not in known_ids:
            hint = nearest(model.fallback, ids) or f", one of {', '.join(known_ids)}"
            here.add(("fallback",), f"got '{model.fallback}', wanted a provider's id{hint}")
        if model.fallback == model.id:
            here.add(("fallback",), "a provider cannot take over from itself")
        with here.at("currency"):
            currency(model.currency)


def compile_rule(
    model: RuleMap, raw: object, file: ScenarioFile, problems: Problems, *, builtin: bool
) -> Rule | None:
    """A rule of a file from a model of sound shape, or None when ``problems`` got a fault of it.
    Each part is looked at also when one before it is at fault: its author sees all faults at
    once."""
    faults_before = len(problems.faults)
    clock = file.clock or ClockMap()
    zone = clock.zone or UTC_ZONE
    operations = operations_of(model.when, problems.below("when"))
    plan = _plan(model, operations, problems)
    stage = Stage.ARRIVAL
    if plan is not None and len(problems.faults) == faults_before:
        # Only then: a misspelt ``op`` means no operation, and a second fault would be told of it.
        stage, operations = Placing(model, plan, operations).place(problems)
    when = compile_when(
        model.when,
        problems.below("when"),
        operations,
        begins=clock.start,
        declared=frozenset(provider.id for provider in file.providers),
        zone=zone,
    )
    key = _key(model, stage, operations, problems, zone)
    # ``nth`` is no field of the model: it is one of the tests of ``when``.
    counts_calls = model.sequence is not None or "nth" in model.when
    if model.per is not None and model.limit is None and not counts_calls:
        problems.add(("per",), "per resets nothing here: it needs nth, a sequence or a limit")
    if len(problems.faults) > faults_before or plan is None:
        return None
    limit = limit_by_key = None
    if model.limit is not None and model.limit.per is not None:
        limit_by_key = model.limit.times
    elif model.limit is not None:
        limit = model.limit.times
    line, _ = problems.place()
    return Rule(
        id=model.id,
        file=problems.file,
        line=line,
        text=digest(json.dumps(raw, sort_keys=True, default=str)).hex(),
        stage=stage,
        operations=operations,
        when=when,
        plan=plan,
        key=key,
        limit=limit,
        limit_by_key=limit_by_key,
        per=model.per,
        lives=model.for_,
        expect=model.expect,
        draws=file.draws,
        builtin=builtin,
        by_connection=CONNECTION in (model.key or ()) or CONNECTION in model.when,
    )


def _key(
    model: RuleMap, stage: Stage, operations: frozenset[str], problems: Problems, zone: Zone
) -> tuple[Reader, ...] | None:
    """What reads the key by which calls are counted; None for the object that the call is about."""
    if model.key is not None:
        return tuple(_readers(model.key, operations or ALL_OPERATIONS, problems, zone))
    if stage is Stage.ARRIVAL and not operations <= ABOUT_ONE:
        # No object is known yet: all calls count together.
        return ()
    return None


def _readers(
    key: list[str], operations: frozenset[str], problems: Problems, zone: Zone
) -> list[Reader]:
    """What reads each part of a key. A path that leads nowhere is noted as a fault (``problems.at``
    takes it) and has no reader: of a file with a fault no rule is made."""
    readers = list[Reader]()
    for index, part in enumerate(key):
        with problems.at("key", index):
            if part == DAY_OF_CLOCK:
                readers.append(day_reader(zone))
            else:
                readers.append(known_path(part, operations).read)
    return readers


def _plan(model: RuleMap, operations: frozenset[str], problems: Problems) -> Plan | None:
    """What a rule makes happen; None with a fault. The models read each of ``then``, ``sequence``
    and ``chance``; that there is one of them is said here."""
    words = [word for word in PLANS if getattr(model, word) is not None]
    if len(words) != 1:
        problems.add(
            (), f"got {' and '.join(words) or 'none'}, wanted exactly one of {', '.join(PLANS)}"
        )
        return None
    if model.at_end is not None and model.sequence is None:
        problems.add(("at_end",), "got at_end without a sequence")
    if model.then is not None:
        return _outcomes_of(model.then, operations, problems.below("then"))
    if model.sequence is not None:
        outcomes = tuple(step.outcome for step in model.sequence)
        ends = tuple(accumulate(step.times for step in model.sequence))
        return Sequence(outcomes, ends, model.at_end or AtEnd.PASS)
    if isinstance(model.chance, ChanceOne):
        return Chance.of([model.chance.then.outcome], [model.chance.p], Decimal(1))
    weighted = model.chance or []
    outcomes = tuple(choice.then.outcome for choice in weighted)
    weights = [choice.weight for choice in weighted]
    return Chance.of(outcomes, weights, sum(weights, Decimal(0)))


def _outcomes_of(model: ThenMap, operations: frozenset[str], problems: Problems) -> Plan | None:
    """What ``then`` makes happen: its outcome, or the one that the request names."""
    if model.outcome_from is None:
        return Always((model.outcome,))
    path = model.outcome_from
    named = None
    with problems.at("outcome_from"):
        if model != ThenMap(outcome_from=path):
            raise ValueError(
                "outcome_from names the whole outcome: it cannot be combined with anything else"
            )
        # What is stored, or who pays, is no word of the client's.
        if not path.startswith(("request.", "header.")):
            raise ValueError(f"got '{path}', wanted request.<path> or header.<name>")
        named = Named(path, known_path(path, operations).read)
    return named
