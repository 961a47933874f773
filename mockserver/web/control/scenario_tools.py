"""What an editor of scenarios needs: check a text without loading it, try it on the journal, texts to begin with
(``/__admin/scenarios/...``)."""

from __future__ import annotations

import json

from mockserver.domain.codes import Code
from mockserver.domain.errors import Invalid, NotFound, nearest
from mockserver.domain.masking import mask_start, mask_text
from mockserver.engine.dry_run import DryRule, dry_run
from mockserver.engine.sandbox import Sandbox
from mockserver.scenario.problems import ScenarioRefused
from mockserver.scenario.reference import json_schema
from mockserver.scenario.scenario import Scenario
from mockserver.scenario.shielding import warnings
from mockserver.web.absent_members import absent_members
from mockserver.web.control.call import ControlCall
from mockserver.web.control.scenarios import LONG
from mockserver.web.slices import aside, with_pauses
from mockserver.wire.jsonio import dumps


async def check(call: ControlCall) -> tuple[int, object]:
    """What is wrong with a scenario's text, with line and column, and what it says in vain; nothing is loaded."""
    return await aside(lambda: _checked(call)) if len(call.raw) >= LONG else _checked(call)


def _checked(call: ControlCall) -> tuple[int, object]:
    try:
        scenario = _read(call)
    except ScenarioRefused as refused:
        problems = [
            {"line": one.line, "column": one.column, "path": mask_text(one.path), "message": mask_text(one.message)}
            for one in refused.problems
        ]
        return 200, {"valid": False, "problems": problems, "warnings": [], "name": None, "rules": 0}
    found = [
        {"line": one.line, "rule": one.rule, "message": mask_text(f"rule '{one.rule}' {one.words}")}
        for one in sorted((*warnings(scenario), *absent_members(scenario)), key=lambda one: one.line)
    ]
    return 200, {
        "valid": True,
        "problems": [],
        "warnings": found,
        "name": scenario.name,
        "rules": len(scenario.rules),
    }


async def try_out(call: ControlCall) -> tuple[int, object]:
    """On which kept entries each rule of a scenario would have fired; without a body, those of the rules in force.

    Raises ``Invalid`` (90) with line and column of every fault of the text.
    """
    sandbox = call.sandbox()
    in_force = list(sandbox.config.scenarios)
    if call.raw.strip() in (b"", b"{}"):
        return 200, await _tried(sandbox, in_force, None)
    try:
        scenario = await aside(lambda: _read(call)) if len(call.raw) >= LONG else _read(call)
    except ScenarioRefused as refused:
        faults = {f"line {one.line}, column {one.column}": one.message for one in refused.problems}
        raise Invalid(Code.VALIDATION_ERROR, faults) from None
    others = [one for one in in_force if one.name != scenario.name]
    return 200, await _tried(sandbox, [*others, scenario], scenario)


async def _tried(sandbox: Sandbox, scenarios: list[Scenario], only: Scenario | None) -> dict[str, object]:
    rules = await with_pauses(dry_run(sandbox, scenarios, only))
    return {"entries": len(sandbox.journal.entries), "rules": [_rule(one) for one in rules]}


def _rule(one: DryRule) -> dict[str, object]:
    return {
        "id": one.rule.id,
        "file": one.rule.file,
        "line": one.rule.line,
        "stage": one.rule.stage.value,
        "builtIn": one.builtin,
        "concerned": one.concerned,
        "fired": one.fired,
        "entries": one.entries,
        "near": [
            {
                "entry": entry.number,
                "op": entry.step.op,
                "mismatches": [mask_text(str(difference)) for difference in differences],
            }
            for entry, differences in one.near
        ],
    }


def text(call: ControlCall) -> tuple[int, object]:
    """The text of a scenario in force. Card numbers and credentials are masked for those without the secret key."""
    sandbox, name = call.sandbox(), call.path["name"]
    known = {one.name: one for one in sandbox.config.scenarios}
    if name not in known:
        reason = f"no scenario '{mask_start(name, 60)}' is in force{nearest(name, known)}"
        raise NotFound(Code.UNKNOWN_ERROR, {"Name": reason}, message="Not Found")
    scenario = known[name]
    whole = scenario.text or json.dumps(json.loads(dumps(scenario.source)), indent=2)
    shown = whole if call.headers.get("x-secretkey") == sandbox.key else mask_text(whole)
    return 200, {"name": name, "text": shown, "masked": shown != whole, "builtIn": scenario.builtin}


def shipped(call: ControlCall) -> tuple[int, object]:
    """The scenarios that come with the product, with their texts."""
    return 200, {
        "scenarios": [
            {"name": name, "description": description, "text": whole}
            for name, description, whole in call.world.directory.reader.shipped()
        ]
    }


def schema(_: ControlCall) -> tuple[int, bytes]:
    """The JSON Schema of scenario files."""
    return 200, json.dumps(json_schema()).encode()


def _read(call: ControlCall) -> Scenario:
    """The scenario of the body. Raises ``ScenarioRefused``, and ``Invalid`` (90) for what is not UTF-8."""
    try:
        given = call.raw.decode("utf-8")
    except UnicodeDecodeError:
        raise Invalid(Code.VALIDATION_ERROR, {"Body": "not UTF-8"}) from None
    return call.world.directory.reader.read_text(given, "posted")
