"""Scenarios and rules of a sandbox: list, replace, add, clear (``/__admin/scenarios``, ``/__admin/rules``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from mockserver.domain.codes import Code
from mockserver.domain.errors import Invalid
from mockserver.engine.sandbox import Sandbox
from mockserver.scenario.director import RuleReport
from mockserver.scenario.problems import ScenarioProblem, ScenarioRefused
from mockserver.scenario.scenario import Scenario
from mockserver.web.control.call import ControlCall
from mockserver.web.slices import aside, in_slices
from mockserver.wire.dates import moment

_OPENING = ("seed", "setup")
"""Parts of a scenario that count when a sandbox opens; its clock does too, and is refused in a used one."""

LONG = 8_000
"""Signs of a text from which on reading it takes so long that others must not wait for it: some 80 rules."""

MANY = 300
"""Rules from which on making a config of them takes so long that others must not wait for it."""


def listing(call: ControlCall) -> tuple[int, object]:
    """The scenarios in force, in the order in which they were given."""
    return 200, _shown(call.sandbox())


async def replace(call: ControlCall) -> tuple[int, object]:
    """Replace all scenarios by one but the built-in test values."""
    scenario = await _read(call)
    return 200, await _put(call, lambda _: [scenario])


async def add(call: ControlCall) -> tuple[int, object]:
    """Add a scenario: its rules are asked before those that were there. One of the same name is replaced."""
    scenario = await _read(call)
    return 201, await _put(call, lambda own: [*(one for one in own if one.name != scenario.name), scenario])


async def clear(call: ControlCall) -> tuple[int, object]:
    """Remove all scenarios but the built-in test values; ``name`` removes one only."""
    name = call.query.name

    def kept(own: Sequence[Scenario]) -> list[Scenario]:
        if name is not None and name not in {scenario.name for scenario in own}:
            raise Invalid(Code.VALIDATION_ERROR, {"Name": f"no scenario '{name[:60]}' is in force"})
        return [] if name is None else [scenario for scenario in own if scenario.name != name]

    answer = await _put(call, kept)
    answer.pop("notApplied", None)
    return 200, answer


async def rules(call: ControlCall) -> tuple[int, object]:
    """Every rule in the order of asking, with its counters and what is left of it; connections are counted for all
    sandboxes."""
    sandbox, met = call.sandbox(), call.world.directory.connections.reports()

    def shown(one: RuleReport) -> dict[str, object]:
        report = met.get(one.id, one)
        return {
            "id": report.id,
            "file": report.file,
            "line": report.line,
            "stage": report.stage.value,
            "calls": report.calls,
            "hits": report.hits,
            "left": report.left,
            "alive": report.alive,
            "expectationMet": report.expectation_met,
        }

    listed = await in_slices(sandbox.director.reports(sandbox.now), shown)
    return 200, {"rules": listed, "unmet": sandbox.director.unmet()}


async def _put(call: ControlCall, chosen: Callable[[Sequence[Scenario]], list[Scenario]]) -> dict[str, object]:
    """Put the scenarios in force that are chosen of a sandbox's own; ``notApplied`` names what counts only when a
    sandbox opens, and this one was used."""
    world, directory = call.world, call.world.directory
    while True:
        sandbox = call.sandbox()
        before, scenarios = sandbox.config, chosen(_own(sandbox))
        is_long = sum(len(one.rules) for one in scenarios) >= MANY
        # What takes long is made aside, and again when the sandbox has other scenarios by then.
        make = partial(directory.config_under, scenarios)
        config = await aside(make) if is_long else make()
        if is_long:
            await world.runner.catch_up(sandbox)
        if world.sandboxes.present(sandbox) is sandbox and sandbox.config is before:
            break
    late = [] if sandbox.is_untouched() else [name for name in _OPENING if _is_late(name, sandbox, scenarios)]
    shown = _shown(directory.put_in_force(sandbox, config))
    return {**shown, "notApplied": late} if late else shown


def _is_late(name: str, sandbox: Sandbox, scenarios: Sequence[Scenario]) -> bool:
    known = [getattr(scenario, name) for scenario in sandbox.config.scenarios]
    return any(getattr(scenario, name) not in (*known, None, ()) for scenario in scenarios)


def _own(sandbox: Sandbox) -> list[Scenario]:
    return [scenario for scenario in sandbox.config.scenarios if not scenario.builtin]


async def _read(call: ControlCall) -> Scenario:
    """The scenario of the body, YAML or JSON. Raises ``Unauthorised`` (40), ``Invalid`` (90) with line and column of
    every fault."""
    # Who may change nothing is told so, whatever the body says.
    call.sandbox()
    try:
        text = call.raw.decode("utf-8")
    except UnicodeDecodeError:
        raise Invalid(Code.VALIDATION_ERROR, {"Body": "not UTF-8"}) from None
    reader, name = call.world.directory.reader, call.query.name or "posted"
    try:
        return await aside(lambda: reader.read_text(text, name)) if len(text) >= LONG else reader.read_text(text, name)
    except ScenarioRefused as refused:
        faults = {f"line {fault.line}, column {fault.column}": _words(fault) for fault in refused.problems}
        raise Invalid(Code.VALIDATION_ERROR, faults) from None


def _words(fault: ScenarioProblem) -> str:
    return f"{fault.path}: {fault.message}" if fault.path else fault.message


def _shown(sandbox: Sandbox) -> dict[str, object]:
    return {"now": moment(sandbox.now), "scenarios": _listed(sandbox.config.scenarios)}


def _listed(scenarios: Sequence[Scenario]) -> list[dict[str, object]]:
    return [
        {
            "name": scenario.name,
            "file": scenario.file,
            "description": scenario.description,
            "rules": len(scenario.rules),
            "builtIn": scenario.builtin,
        }
        for scenario in scenarios
    ]
