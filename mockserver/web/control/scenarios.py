"""Scenarios and rules of a sandbox: list, replace, add, clear (``/__admin/scenarios``,
``/__admin/rules``); and what an editor of them needs: check a text without loading it, try it on
the journal, texts to begin with.

Scenarios are never changed. What is in force is a list of them, which a call puts in the place of
the one before, as a whole or, with a fault in the text, not at all. A long text takes a second to
read, so a thread reads it, and the sandbox is looked up again afterwards. The built-in test values
stay in force, whatever is replaced: without them no test card would be declined.
"""

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from pydantic import Field

from mockserver.domain.errors import invalid, nearest
from mockserver.domain.masking import mask_start, mask_text
from mockserver.engine.dry_run import DryRule, DryRun
from mockserver.engine.sandbox import Sandbox
from mockserver.scenario.attempt import Stage
from mockserver.scenario.problems import MOST_BYTES, ScenarioRefused
from mockserver.scenario.scenario import Scenario
from mockserver.scenario.tally import CountedRule
from mockserver.web.control.call import AnyCall, ControlCall, ControlRoute, missing
from mockserver.web.control.findings import idle_of
from mockserver.web.journaled import fields_of
from mockserver.web.runner import for_each
from mockserver.wire.control_body import ControlBody, OpenBody
from mockserver.wire.jsonio import dumps
from mockserver.wire.replies import reply_of


class ScenarioQuery(ControlBody):
    """Which scenario."""

    name: str | None = Field(None, description="name of the scenario when its text gives none")


class ScenarioText(OpenBody):
    """A scenario as in a file, YAML or JSON, or the name of a shipped one: ``{"shipped":
    "three-ds-passed"}``."""


class ScenarioRemoval(ControlBody):
    """Which scenario."""

    name: str | None = Field(None, description="the only scenario to take away")


T = TypeVar("T")

_NAMED = re.compile(r'\s*\{\s*"shipped"\s*:\s*"([\w.-]{1,100})"\s*\}\s*')
"""A body that names a shipped scenario."""

_POSTED = "posted"
"""The name of a text that has none."""

LONG = 8_000
"""Bytes of a text from which on a thread reads it, as other requests must not wait so long: some 80
rules."""


def listing(call: AnyCall) -> dict[str, object]:
    """The scenarios in force: their rules are asked from the last to the first, test values at the
    end."""
    sandbox = call.sandbox()
    scenarios = [
        reply_of("ScenarioInForceAnswer", scenario, rules=len(scenario.rules))
        for scenario in sandbox.config.scenarios
    ]
    return reply_of("ScenariosAnswer", sandbox, scenarios=scenarios)


async def replace(call: ControlCall[ScenarioText, ScenarioQuery]) -> object:
    """Replace all scenarios by one but the built-in test values; ``warnings`` name rules without
    effect, which are no fault: a rule may be kept for later."""
    scenario, warned = await _read(call)
    return {**_put_in_force(call, [scenario]), "warnings": warned}


async def add(call: ControlCall[ScenarioText, ScenarioQuery]) -> object:
    """Add a scenario: its rules are asked before those that were there. One of the same name is
    replaced."""
    scenario, warned = await _read(call)
    return {
        **_put_in_force(call, [*_own(call.sandbox(), scenario.name), scenario]),
        "warnings": warned,
    }


async def set_up(call: ControlCall[ScenarioText, ScenarioQuery]) -> object:
    """Ask the set-up calls of a scenario now, which is not put in force. Raises ``Invalid`` (90)
    naming the first whose answer is not as expected: those before it have happened."""
    scenario, _ = await _read(call)
    if not scenario.said.setup:
        raise invalid({"Setup": f"scenario '{scenario.name}' has no set-up calls"})
    return {"calls": await call.world.set_up(call.sandbox(), scenario, call.sender())}


def clear(call: ControlCall[ControlBody, ScenarioRemoval]) -> object:
    """Remove all scenarios but the built-in test values; ``name`` removes one only."""
    name, sandbox = call.query.name, call.sandbox()
    remaining: list[Scenario] = []
    if name is not None:
        remaining = _own(sandbox, but=name)
        # As many as before: none has that name.
        if len(remaining) == len(_own(sandbox)):
            raise invalid({"Name": f"no scenario '{name[:60]}' is in force"})
    _put_in_force(call, remaining)
    return listing(call)


def rules(call: AnyCall) -> object:
    """Every rule in the order of asking, with its counters and what is left of it; connections are
    counted for all sandboxes. ``idle`` has a sentence on each scenario of which no rule has
    fired."""
    sandbox = call.sandbox()
    rules = [
        reply_of(
            "RuleReportAnswer",
            report,
            alive=report.spent is None,
            expectationMet=report.unmet is None,
        )
        for report in reports_of(call, sandbox)
    ]
    return {"rules": rules, "unmet": sandbox.director.unmet(), "idle": idle_of(sandbox)}


def reports_of(call: AnyCall, sandbox: Sandbox) -> list[CountedRule]:
    """Every rule of a sandbox with its counters, in the order of asking."""
    # Rules of connections are asked before a sandbox is known, so the server counts them.
    reports_of_connections: dict[str, CountedRule] = {}
    for report in call.world.directory.connections.rules():
        if report.rule.stage is Stage.CONNECT:
            reports_of_connections[report.rule.id] = report
    return [
        reports_of_connections.get(report.rule.id, report)
        for report in sandbox.director.rules(sandbox.now)
    ]


def _put_in_force(call: AnyCall, scenarios: Sequence[Scenario]) -> dict[str, object]:
    """Put scenarios in force in the place of a sandbox's own, and list them; ``notApplied`` names
    what counts only when a sandbox opens, and this one was used: its ids have been drawn by another
    seed already."""
    sandbox, directory = call.sandbox(), call.world.directory
    config = directory.config_under(scenarios)
    too_late: list[str] = []
    if not sandbox.is_untouched():
        too_late = _opening_keys(sandbox, scenarios)
    directory.put_in_force(sandbox, config)
    answer = listing(call)
    if too_late:
        answer["notApplied"] = too_late
    return answer


def _opening_keys(sandbox: Sandbox, scenarios: Sequence[Scenario]) -> list[str]:
    """The keys of scenarios that count only when a sandbox opens, and say something else than what
    is in force. A clock counts then too, and is refused in a used one."""
    in_force = [scenario.said for scenario in sandbox.config.scenarios]
    keys = []
    for key in ("seed", "setup"):
        # What says nothing, or the same again, changes nothing.
        known = [None, [], *(getattr(said, key) for said in in_force)]
        if any(getattr(scenario.said, key) not in known for scenario in scenarios):
            keys.append(key)
    return keys


def _own(sandbox: Sandbox, but: str | None = None) -> list[Scenario]:
    """The scenarios in force that are not built in, but for that of a name: what stays when it is
    taken away or replaced."""
    return [
        scenario
        for scenario in sandbox.config.scenarios
        if not scenario.builtin and scenario.name != but
    ]


async def _read(
    call: ControlCall[ScenarioText, ScenarioQuery],
) -> tuple[Scenario, list[dict[str, object]]]:
    """The scenario of the body, YAML or JSON, and its warnings. Raises ``Unauthorised`` (40),
    ``Invalid`` (90) with line and column of every fault."""
    # A request without a valid key is refused before its body is read.
    call.sandbox()
    name = call.query.name or _POSTED
    return await _read_soundly(call, partial(_read_with_warnings, call, name))


async def _read_soundly(call: AnyCall, read: Callable[[], T]) -> T:
    """As ``_read_in_time``. Raises ``Invalid`` (90) with line and column of every fault of a
    text."""
    try:
        return await _read_in_time(call, read)
    except ScenarioRefused as refused:
        faults: dict[str, str] = {}
        for problem in refused.problems:
            place = f"line {problem.line}, column {problem.column}"
            words = problem.message
            if problem.path:
                words = f"{problem.path}: {words}"
            # Details have one text for each name, and a place may have several faults.
            if place in faults:
                words = f"{faults[place]}; {words}"
            faults[place] = words
        raise invalid(faults) from None


async def _read_in_time(call: AnyCall, read: Callable[[], T]) -> T:
    """What ``read`` makes of the body; a thread reads a long one, so that other requests are served
    meanwhile. The models that read any are built for the first."""
    if len(call.raw) >= LONG:
        return await asyncio.to_thread(read)
    return await call.world.runner.aside(read)


async def check(call: ControlCall[ScenarioText, ControlBody]) -> object:
    """What is wrong with a scenario's text, with line and column, and its rules without effect;
    nothing is loaded. An editor asks while somebody types, so a fault is an answer and no
    refusal."""
    try:
        scenario, warned = await _read_in_time(call, partial(_read_with_warnings, call, _POSTED))
    except ScenarioRefused as refused:
        problems = [reply_of("ScenarioProblemAnswer", problem) for problem in refused.problems]
        return {"valid": False, "problems": problems, "warnings": [], "name": None, "rules": 0}
    return {
        "valid": True,
        "problems": [],
        "warnings": warned,
        "name": scenario.name,
        "rules": len(scenario.rules),
    }


def _read_with_warnings(call: AnyCall, name: str) -> tuple[Scenario, list[dict[str, object]]]:
    """The scenario of the body and its rules without effect, in the order of its lines."""
    # Takes a moment to import, and is needed with the first scenario of a client.
    from mockserver.web.absent_members import scenario_warnings

    scenario = _scenario_of_body(call, name)
    warnings: list[dict[str, object]] = []
    for warning in scenario_warnings(scenario):
        message = mask_text(f"rule '{warning.rule.id}' {warning.words}")
        warnings.append({"line": warning.rule.line, "rule": warning.rule.id, "message": message})
    return scenario, warnings


async def try_out(call: ControlCall[ScenarioText, ControlBody]) -> object:
    """On which kept entries each rule of a scenario would have fired; without a body, those of the
    rules in force. Raises ``Invalid`` (90) with line and column of every fault of the text."""
    sandbox = call.sandbox()
    scenarios = list(sandbox.config.scenarios)
    tried: Scenario | None = None
    # A client that sends no body sends an empty object.
    if call.raw.strip() not in (b"", b"{}"):
        tried = await _read_soundly(call, partial(_scenario_of_body, call))
        # The last is asked first, as one that is added.
        others = [scenario for scenario in scenarios if scenario.name != tried.name]
        scenarios = [*others, tried]
    trial = DryRun(sandbox, scenarios, fields_of, tried)
    # Others are served between one entry and the next, and one rule and the next.
    await for_each(trial.entries, trial.ask)
    return {"entries": len(trial.entries), "rules": await for_each(trial.rules, _dry_rule_reply)}


def _dry_rule_reply(rule: DryRule) -> dict[str, object]:
    """Where a rule would have fired, and where it nearly would have: what an author mends."""
    near_misses = [
        reply_of(
            "DryNearMissAnswer",
            entry,
            mismatches=[mask_text(str(difference)) for difference in differences],
        )
        for entry, differences in rule.near()
    ]
    return reply_of("DryRuleAnswer", rule, near=near_misses)


def text(call: AnyCall) -> object:
    """The text of a scenario in force. Card numbers and credentials are masked for those without
    the secret key."""
    sandbox, name = call.sandbox(), call.path["name"]
    in_force = {scenario.name: scenario for scenario in sandbox.config.scenarios}
    if name not in in_force:
        hint = nearest(name, in_force)
        raise missing("Name", f"no scenario '{mask_start(name, 60)}' is in force{hint}")
    scenario = in_force[name]
    # One that was made by a program has no text of its own.
    whole = scenario.text or json.dumps(json.loads(dumps(scenario.source)), indent=2)
    text = whole
    # An id or a public key, which many know, names the sandbox too.
    if call.headers.get("x-secretkey") != sandbox.key:
        text = mask_text(whole)
    return {"name": name, "text": text, "masked": text != whole, "builtIn": scenario.builtin}


def shipped(call: AnyCall) -> object:
    """The scenarios that come with the product."""
    return {
        "scenarios": [
            {"name": name, "description": description, "text": text}
            for name, description, text in call.world.directory.reader.shipped()
        ]
    }


def schema(call: AnyCall) -> bytes:
    """The JSON Schema of scenario files."""
    return json.dumps(json.loads(call.world.directory.reader.schema_text())).encode()


def _scenario_of_body(call: AnyCall, name: str = _POSTED) -> Scenario:
    """The scenario of the body, or the one that comes with the product whose name ``{"shipped":
    ...}`` gives. Raises ``ScenarioRefused``, and ``Invalid`` (90) for what is not UTF-8 and for an
    unknown name."""
    reader = call.world.directory.reader
    try:
        body = call.raw.decode("utf-8")
    except UnicodeDecodeError:
        raise invalid({"Body": "not UTF-8"}) from None
    match = _NAMED.fullmatch(body)
    if match is None:
        # The usual case: a scenario is read once, with lines and columns, and not first as JSON.
        return reader.read_text(body, name)
    shipped_name = match[1]
    texts = {known: text for known, _, text in reader.shipped()}
    if shipped_name not in texts:
        hint = nearest(shipped_name, texts)
        words = f"got '{shipped_name}', which is not a shipped scenario{hint}"
        raise invalid({"Shipped": words})
    return reader.read_text(texts[shipped_name], shipped_name)


ROUTES = (
    ControlRoute(
        "GET",
        "/__admin/scenarios",
        listing,
        keyed=True,
        reply="ScenariosAnswer",
        summary="The scenarios in force",
    ),
    ControlRoute(
        "PUT",
        "/__admin/scenarios",
        replace,
        query=ScenarioQuery,
        body=ScenarioText,
        keyed=True,
        reply="ScenariosAnswer",
        largest=MOST_BYTES,
        example={"body": {"shipped": "soft-decline-then-success"}},
        summary="Replace all scenarios by one",
    ),
    ControlRoute(
        "POST",
        "/__admin/scenarios",
        add,
        query=ScenarioQuery,
        body=ScenarioText,
        keyed=True,
        reply="ScenariosAnswer",
        success=201,
        largest=MOST_BYTES,
        example={
            "name": "declined",
            "body": {
                "version": 1,
                "rules": [
                    {
                        "id": "no-money",
                        "when": {"op": "charge.create"},
                        "then": {"decline": "insufficient_funds"},
                    }
                ],
            },
        },
        summary="Add a scenario before the present ones",
    ),
    ControlRoute(
        "DELETE",
        "/__admin/scenarios",
        clear,
        query=ScenarioRemoval,
        keyed=True,
        reply="ScenariosAnswer",
        example={"name": "first", "body": {}},
        summary="Clear all scenarios, or the one of ?name=",
    ),
    ControlRoute(
        "POST",
        "/__admin/scenarios/setup",
        set_up,
        query=ScenarioQuery,
        body=ScenarioText,
        keyed=True,
        reply="SetUpAnswer",
        largest=MOST_BYTES,
        example={"body": {"shipped": "sample-shop"}},
        summary="Make the set-up calls of a scenario now, as requests of the journal that rules "
        "neither hear nor count",
    ),
    ControlRoute(
        "GET",
        "/__admin/scenarios/shipped",
        shipped,
        reply="ShippedScenariosAnswer",
        summary="The scenarios that come with the product, with their texts",
    ),
    ControlRoute(
        "GET",
        "/__admin/scenarios/schema",
        schema,
        reply="DocumentAnswer",
        summary="The JSON Schema of scenario files",
    ),
    ControlRoute(
        "POST",
        "/__admin/scenarios/check",
        check,
        body=ScenarioText,
        reply="ScenarioCheckAnswer",
        largest=MOST_BYTES,
        example={
            "body": {
                "version": 1,
                "rules": [
                    {
                        "id": "no-money",
                        "when": {"op": "charge.creat"},
                        "then": {"decline": "insufficient_funds"},
                    }
                ],
            }
        },
        summary="Check a scenario's text: every fault with line and column; nothing is loaded",
    ),
    ControlRoute(
        "POST",
        "/__admin/scenarios/dry-run",
        try_out,
        body=ScenarioText,
        keyed=True,
        reply="DryRunAnswer",
        largest=MOST_BYTES,
        example={
            "body": {
                "version": 1,
                "name": "large",
                "rules": [
                    {
                        "id": "large",
                        "when": {"op": "charge.create", "request.amount": {"gt": 100}},
                        "then": {"decline": "insufficient_funds"},
                    }
                ],
            }
        },
        summary="Try rules on the journal: where each would have fired, and its near misses; "
        "nothing is loaded",
    ),
    ControlRoute(
        "GET",
        "/__admin/scenarios/texts/{name}",
        text,
        keyed=True,
        reply="ScenarioTextAnswer",
        answers={404: "No such scenario is in force"},
        example={"name": "first"},
        summary="The text of a scenario in force",
    ),
    ControlRoute(
        "GET",
        "/__admin/rules",
        rules,
        keyed=True,
        reply="RulesAnswer",
        summary="Every rule with its counters and remaining firings",
    ),
)
