"""Gives the words of a file their meaning: the parts around the rules (clock, providers, setup, examples)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields

from mockserver.assumptions import read as read_assumption
from mockserver.domain.clock import FAST, ClockMode
from mockserver.domain.errors import nearest
from mockserver.domain.money import currency
from mockserver.domain.provider import CAPABILITIES, DEFAULT_PROVIDER_ID
from mockserver.domain.record import replace
from mockserver.scenario.answers import placeholders
from mockserver.scenario.model import ClockMap, FindingsMap, ScenarioFile
from mockserver.scenario.problems import Path, Problems
from mockserver.scenario.rule import Rule
from mockserver.scenario.scenario import AdvanceMap, CallMap, ClockPlan, ExampleMap, ProviderMap, Scenario, WaitMap


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
        certificate=model.tls.certificate if model.tls is not None else None,
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
        path: Path = ("providers", index)
        if model.id in ids[:index]:
            problems.add((*path, "id"), f"got '{model.id}' a second time; the id of a provider must be unique")
        if model.type not in CAPABILITIES:
            hint = nearest(model.type, CAPABILITIES) or ", such as dummy"
            problems.add((*path, "type"), f"got '{model.type}', wanted a known provider type{hint}")
        if model.fallback is not None and model.fallback not in {*ids, DEFAULT_PROVIDER_ID}:
            problems.add(
                (*path, "fallback"), f"got '{model.fallback}', wanted a provider's id{nearest(model.fallback, ids)}"
            )
        if model.fallback == model.id:
            problems.add((*path, "fallback"), "a provider cannot take over from itself")
        with problems.at(*path, "currency"):
            currency(model.currency)


def _check_setup(models: list[CallMap], problems: Problems) -> set[str]:
    """The ids of the calls."""
    known: set[str] = set()
    for index, model in enumerate(models):
        path: Path = ("setup", index)
        if model.expect is not None and model.expect.fault:
            problems.add((*path, "expect", "fault"), "set-up calls meet no faults, so a whole answer always arrives")
        _check_call(model, path, known, problems)
    return known


def _calls(model: ScenarioFile) -> Iterator[Path]:
    """The places of all calls, and of the examples."""
    yield from (("setup", index) for index in range(len(model.setup)))
    for index, example in enumerate(model.examples):
        yield "examples", index
        yield from (("examples", index, "calls", number) for number in range(len(example.calls)))


def _check_call(model: CallMap, path: Path, known: set[str], problems: Problems) -> None:
    expect = model.expect.body if model.expect is not None else None
    for key, value in (("call", model.path), ("body", model.body), ("headers", model.headers), ("expect", expect)):
        for name, text in placeholders(value):
            if name not in known:
                hint = nearest(name, known)
                problems.add((*path, key), f"got {text}, but no earlier call has the id '{name}'{hint}")
    if model.id is not None:
        if model.id in known:
            problems.add((*path, "id"), f"got '{model.id}' a second time; the id of a call must be unique")
        known.add(model.id)


def _check_example(model: ExampleMap, index: int, known: set[str], problems: Problems) -> None:
    for number, step in enumerate(model.calls):
        if not isinstance(step, AdvanceMap):
            call = step.call if isinstance(step, WaitMap) else step
            _check_call(call, ("examples", index, "calls", number), known, problems)
