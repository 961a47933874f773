"""From the plain data of a file to a compiled scenario. Reads no files: positions come with the data.

First the models check the shape, then the words are given their meaning; all faults of a file are reported at once.
The scenario that comes with the server, our own and tested with the models, is read without them:
they are built when somebody's own scenario comes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from pydantic_core import ValidationError

from mockserver.assumptions import read as read_assumption
from mockserver.domain.clock import FAST, UTC_ZONE, ClockMode, parse_duration
from mockserver.domain.errors import nearest
from mockserver.domain.money import currency
from mockserver.domain.provider import CAPABILITIES, DEFAULT_PROVIDER_ID
from mockserver.domain.record import replace
from mockserver.scenario.answers import placeholders
from mockserver.scenario.compile_rule import compile_rule
from mockserver.scenario.file_model import got_of, in_words, read_model
from mockserver.scenario.later_step import Later
from mockserver.scenario.model import ClockMap, FindingsMap, RuleMap, ScenarioFile
from mockserver.scenario.outcome import ThenMap
from mockserver.scenario.outcome_catalogue import decline
from mockserver.scenario.problems import Path, Positions, Problems, ScenarioRefused
from mockserver.scenario.provider_outcome import Challenge
from mockserver.scenario.rule import RandomScope, Rule
from mockserver.scenario.scenario import CallMap, ClockPlan, ExampleMap, ProviderMap, Scenario, TogetherMap, WaitMap
from mockserver.scenario.when import compile_when, operations_of

P = TypeVar("P")


def parse(
    data: object, positions: Positions, *, file: str, name: str, builtin: bool = False, is_shipped: bool = False
) -> Scenario:
    """The scenario that plain data describe. ``name`` counts when the file gives none.

    Raises ``ScenarioRefused`` with every problem, each with its line and column; ``ValueError`` when ``is_shipped``
    says that it comes with the server, and it needs the models all the same.
    """
    problems = Problems(file, positions)
    if not isinstance(data, dict):
        problems.add((), f"got {got_of(data)}, wanted a map that begins with version: 1")
        raise ScenarioRefused(problems.found)
    model = file_of(data) if is_shipped else _shaped(ScenarioFile, data, problems)
    rules = _rules(data.get("rules"), model, problems, is_shipped=is_shipped, builtin=builtin)
    scenario = compile_scenario(model, rules, data, problems, name=name, builtin=builtin) if model else None
    problems.refuse()
    if scenario is None:
        raise RuntimeError("a file of unsound shape has no problems")
    return scenario


def _rules(
    given: object, model: ScenarioFile | None, problems: Problems, *, is_shipped: bool, builtin: bool
) -> tuple[Rule, ...]:
    """The rules of a file, each read by itself: a fault of one, or of another part of the file, hides none of
    another."""
    begins = model.clock.start if model is not None and model.clock is not None else None
    declared = frozenset(provider.id for provider in model.providers) if model is not None else frozenset()
    draws = model.draws if model is not None else RandomScope.SANDBOX
    zone = (model.clock.zone if model is not None and model.clock is not None else None) or UTC_ZONE
    rules: list[Rule] = []
    taken: set[str] = set()
    for index, raw in enumerate(given if isinstance(given, list) else []):
        here = problems.below("rules", index)
        shaped = rule_of(raw) if is_shipped else _shaped(RuleMap, raw, here)
        if shaped is None:
            _check_when(raw, here)
            continue
        if shaped.id in taken:
            here.add(("id",), f"got '{shaped.id}' a second time; the id of a rule must be unique")
        taken.add(shaped.id)
        rule = compile_rule(
            shaped, raw, here, begins=begins, declared=declared, draws=draws, zone=zone, builtin=builtin
        )
        rules += [rule] if rule is not None else []
    return tuple(rules)


def _check_when(raw: object, problems: Problems) -> None:
    """Report the faults of ``when`` in a rule that is out of shape elsewhere."""
    when = raw.get("when") if isinstance(raw, dict) else None
    if isinstance(when, dict):
        operations = operations_of(when, problems.below("when"))
        compile_when(when, problems.below("when"), operations)


def _shaped(model: type[P], data: object, problems: Problems) -> P | None:
    try:
        return read_model(model, data)
    except ValidationError as refused:
        # A short form may stand for two fields: its fault is named once.
        for path, words in dict.fromkeys(in_words(fault, data) for fault in refused.errors(include_url=False)):
            problems.add(path, words)
        return None


def later_of(data: Mapping[str, Any]) -> tuple[Later | None, dict[str, str]]:
    """What happens to an object, as one of ``later`` says it, and what is wrong with it by field."""
    problems = Problems("later", {})
    read = _shaped(Later, {"after": "0s", **data}, problems)
    return read, {one.path or "Body": one.message for one in problems.found}


def file_of(data: Mapping[str, Any]) -> ScenarioFile:
    """The file, but for its rules and examples. Raises ``ValueError`` for what only the models read."""
    _know(data, {"version", "name", "description", "rules", "examples"})
    return ScenarioFile(version=1, name=data["name"], description=data["description"])


def rule_of(data: Mapping[str, Any]) -> RuleMap:
    """One rule. Raises ``ValueError`` for what only the models read."""
    _know(data, {"id", "when", "then"})
    return RuleMap(id=data["id"], when=data["when"], then=_then(data["then"]))


def _then(data: Mapping[str, Any]) -> ThenMap:
    match data:
        case {"decline": str() as name, **others} if not others:
            return ThenMap(decline=decline(name))
        case {"challenge": {**details}, **others} if not (others or details):
            return ThenMap(challenge=Challenge())
        case {"outcome_from": str() as path, **others} if not others:
            return ThenMap(outcome_from=path)
        case {"later": [{"after": str() as after, "set": dict(), **more}], **others} if not (others or more):
            return ThenMap(later=(Later(parse_duration(after), set=dict(data["later"][0]["set"])),))
    raise ValueError(f"got {', '.join(data)}, which only the models read")


def _know(data: Mapping[str, Any], names: set[str]) -> None:
    if not data.keys() <= names:
        raise ValueError(f"got {', '.join(data.keys() - names)}, which only the models read")


def compile_scenario(
    model: ScenarioFile,
    rules: tuple[Rule, ...],
    data: Mapping[str, object],
    problems: Problems,
    *,
    name: str,
    builtin: bool,
) -> Scenario:
    """A scenario from a model of sound shape and its rules; faults of meaning go to ``problems``."""
    for key, value in model.assumptions.items():
        with problems.at("assumptions", key):
            read_assumption(key, value)
    clock = _clock(model.clock, problems) if model.clock is not None else None
    asked = data.get("clock")
    if isinstance(asked, dict) and asked.keys() == {"zone"}:
        clock = None
    _check_providers(model.providers, problems)
    ids = _check_setup(model.setup, problems)
    for index, example in enumerate(model.examples):
        _check_example(example, index, set(ids), problems)
    return Scenario(
        name=model.name or name,
        file=problems.file,
        description=model.description,
        seed=model.seed,
        clock=clock,
        assumptions=model.assumptions,
        providers=tuple(replace(one, currency=one.currency.upper()) for one in model.providers),
        setup=tuple(model.setup),
        rules=rules,
        findings=_findings(model.findings),
        tls=model.tls,
        examples=tuple(model.examples),
        lines={path: problems.place(path)[0] for path in _calls(model)},
        builtin=builtin,
        source=data,
    )


def _findings(model: FindingsMap | None) -> Mapping[str, object]:
    if model is None:
        return {}
    given: dict[str, object] = {
        one.name: value for one in fields(model) if (value := getattr(model, one.name)) is not None
    }
    return {**given, "allow": frozenset(model.allow)} if model.allow is not None else given


def _clock(model: ClockMap, problems: Problems) -> ClockPlan:
    if model.rate is not None and model.mode is not ClockMode.FAST:
        problems.add(("clock", "rate"), f"got a rate in mode {model.mode}, allowed in mode fast only")
    return ClockPlan(model.start, model.mode, model.rate or (FAST if model.mode is ClockMode.FAST else 1))


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


def _check_setup(models: list[CallMap], problems: Problems) -> set[str]:
    """The ids of the calls."""
    known: set[str] = set()
    for index, model in enumerate(models):
        here = problems.below("setup", index)
        if model.expect is not None and model.expect.fault:
            here.add(("expect", "fault"), "set-up calls meet no faults, so a whole answer always arrives")
        _check_call(model, known, here)
    return known


def _calls(model: ScenarioFile) -> Iterator[Path]:
    """The places of all calls, and of the examples."""
    yield from (("setup", index) for index in range(len(model.setup)))
    for index, example in enumerate(model.examples):
        yield "examples", index
        yield from (("examples", index, "calls", number) for number in range(len(example.calls)))


def _check_call(model: CallMap, known: set[str], problems: Problems) -> None:
    expect = model.expect.body if model.expect is not None else None
    for key, value in (("call", model.path), ("body", model.body), ("headers", model.headers), ("expect", expect)):
        for name, text in placeholders(value):
            if name not in known:
                hint = nearest(name, known)
                problems.add((key,), f"got {text}, but no earlier call has the id '{name}'{hint}")
    if model.id is not None:
        if model.id in known:
            problems.add(("id",), f"got '{model.id}' a second time; the id of a call must be unique")
        known.add(model.id)


def _check_example(model: ExampleMap, index: int, known: set[str], problems: Problems) -> None:
    for number, step in enumerate(model.calls):
        here = problems.below("examples", index, "calls", number)
        match step:
            case CallMap():
                _check_call(step, known, here)
            case WaitMap():
                _check_call(step.call, known, here)
            case TogetherMap():
                for place, call in enumerate(step.together):
                    _check_call(call, known, here.below("together", place))
            case _:
                pass
