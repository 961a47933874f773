"""Scenarios and rules of a sandbox: list, replace, add, clear (``/__admin/scenarios``, ``/__admin/rules``)."""

from __future__ import annotations

from collections.abc import Sequence

from mockserver.domain.codes import Code
from mockserver.domain.errors import Invalid
from mockserver.engine.sandbox import Sandbox
from mockserver.scenario.problems import ScenarioProblem, ScenarioRefused
from mockserver.scenario.scenario import Scenario
from mockserver.web.control.call import ControlCall
from mockserver.wire.dates import moment

_OPENING = ("seed", "setup")
"""Parts of a scenario that count when a sandbox opens; its clock does too, and is refused in a used one."""


def listing(call: ControlCall) -> tuple[int, object]:
    """The scenarios in force, in the order in which they were given."""
    return 200, _shown(call.sandbox())


def replace(call: ControlCall) -> tuple[int, object]:
    """Replace all scenarios by one but the built-in test values."""
    sandbox, scenario = call.sandbox(), _read(call)
    return 200, _put(call, sandbox, [scenario])


def add(call: ControlCall) -> tuple[int, object]:
    """Add a scenario: its rules are asked before those that were there. One of the same name is replaced."""
    sandbox, scenario = call.sandbox(), _read(call)
    kept = [known for known in _own(sandbox) if known.name != scenario.name]
    return 201, _put(call, sandbox, [*kept, scenario])


def clear(call: ControlCall) -> tuple[int, object]:
    """Put no scenario in force but the built-in test values; ``name`` takes away one only."""
    sandbox, name = call.sandbox(), call.query.name
    own = _own(sandbox)
    if name is not None and name not in {scenario.name for scenario in own}:
        raise Invalid(Code.VALIDATION_ERROR, {"Name": f"no scenario '{name[:60]}' is in force"})
    kept = [] if name is None else [scenario for scenario in own if scenario.name != name]
    return 200, _shown(call.world.directory.put_in_force(sandbox, kept))


def rules(call: ControlCall) -> tuple[int, object]:
    """Every rule in the order of asking, with its counters and what is left of it; connections are counted for all
    sandboxes."""
    sandbox, met = call.sandbox(), call.world.directory.connections.reports()
    return 200, {
        "rules": [
            {
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
            for report in (met.get(one.id, one) for one in sandbox.director.rules(sandbox.now))
        ],
        "unmet": sandbox.director.unmet(),
    }


def _put(call: ControlCall, sandbox: Sandbox, scenarios: Sequence[Scenario]) -> dict[str, object]:
    """Put scenarios in force; ``notApplied`` names what counts only when a sandbox opens, and this one was used."""
    late = [] if sandbox.is_untouched() else [name for name in _OPENING if _is_late(name, sandbox, scenarios)]
    shown = _shown(call.world.directory.put_in_force(sandbox, scenarios))
    return {**shown, "notApplied": late} if late else shown


def _is_late(name: str, sandbox: Sandbox, scenarios: Sequence[Scenario]) -> bool:
    known = [getattr(scenario, name) for scenario in sandbox.config.scenarios]
    return any(getattr(scenario, name) not in (*known, None, ()) for scenario in scenarios)


def _own(sandbox: Sandbox) -> list[Scenario]:
    return [scenario for scenario in sandbox.config.scenarios if not scenario.builtin]


def _read(call: ControlCall) -> Scenario:
    """The scenario of the body, YAML or JSON. Raises ``Invalid`` (90) with line and column of every fault."""
    try:
        text = call.raw.decode("utf-8")
    except UnicodeDecodeError:
        raise Invalid(Code.VALIDATION_ERROR, {"Body": "not UTF-8"}) from None
    try:
        return call.world.directory.reader.read_text(text, call.query.name or "posted")
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
