"""The table of the control API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockserver.web.control.call import ControlCall, ControlRoute
from mockserver.web.lazy import lazy

if TYPE_CHECKING:
    from mockserver.web.control import (
        assumptions,
        clock,
        coming,
        compare,
        description,
        findings,
        health,
        inbox,
        journal,
        metrics,
        repeat,
        sandboxes,
        scenario_tools,
        scenarios,
        state,
        timeline,
        verify,
        wait,
        webhooks,
    )
    from mockserver.wire import control_bodies as bodies
    from mockserver.wire import control_queries as queries
else:  # the same names, imported when a call first needs them
    assumptions, clock, coming, compare, findings, health, inbox = lazy(
        "mockserver.web.control", "assumptions", "clock", "coming", "compare", "findings", "health", "inbox"
    )
    description, journal, metrics, repeat, sandboxes, scenario_tools, scenarios = lazy(
        "mockserver.web.control",
        "description",
        "journal",
        "metrics",
        "repeat",
        "sandboxes",
        "scenario_tools",
        "scenarios",
    )
    state, timeline, verify, wait, webhooks = lazy(
        "mockserver.web.control", "state", "timeline", "verify", "wait", "webhooks"
    )
    bodies, queries = lazy("mockserver.wire", "control_bodies", "control_queries")

LARGEST_STATE = 500_000_000
"""Bytes of a state document that can be imported: far more than a request of the payments API may have."""


def _describe(call: ControlCall) -> tuple[int, object]:
    from mockserver.web.control.description import control

    return 200, control(CONTROL_ROUTES, call.world.directory.config.public_url)


CONTROL_ROUTES: tuple[ControlRoute, ...] = (
    ControlRoute("GET", "/healthz", health.alive, "Whether the server is alive", keyed=False),
    ControlRoute("GET", "/readyz", health.ready, "Whether the server is ready, else the reasons", keyed=False,
                 answers={503: "Not ready, with the reasons"}),
    ControlRoute("GET", "/metrics", metrics.read, "Counts and measures of the server, for Prometheus", keyed=False,
                 media="text/plain; version=0.0.4; charset=utf-8"),
    ControlRoute("GET", "/openapi.json", description.payments,
                 "The payments API as an OpenAPI document, profile applied", keyed=False),
    ControlRoute("GET", "/asyncapi.json", description.webhooks,
                 "The webhooks as an AsyncAPI 3.0 document, profile applied", keyed=False),
    ControlRoute("GET", "/__admin/openapi.json", _describe, "This API as an OpenAPI document", keyed=False),
    ControlRoute("GET", "/__admin/sandboxes", sandboxes.listing, "Every sandbox, last used first, keys masked",
                 query=queries.SandboxQuery, keyed=False),
    ControlRoute("POST", "/__admin/sandboxes", sandboxes.name, "Name the sandbox of a key, opening it if needed",
                 body=bodies.NamedSandbox, keyed=False, success=201),
    ControlRoute("GET", "/__admin/sandbox", sandboxes.one, "This sandbox, key masked"),
    ControlRoute("POST", "/__admin/reset", sandboxes.reset, "Empty this sandbox, or with all=true every one",
                 query=queries.ResetQuery),
    ControlRoute("POST", "/__admin/undo", sandboxes.undo, "Undo a reset or an import that had undo=true",
                 answers={404: "Nothing is kept aside"}),
    ControlRoute("GET", "/__admin/clock", clock.read, "The clock of this sandbox"),
    ControlRoute("PUT", "/__admin/clock", clock.change, "Set mode, rate and time",
                 body=bodies.ClockSetting),
    ControlRoute("POST", "/__admin/clock/advance", clock.advance, "Move forward by a duration or to a date-time",
                 body=bodies.ClockAdvance),
    ControlRoute("GET", "/__admin/clock/due", coming.due, "What time will cause next, the earliest first",
                 query=queries.DueQuery),
    ControlRoute("GET", "/__admin/scenarios", scenarios.listing, "The scenarios in force"),
    ControlRoute("PUT", "/__admin/scenarios", scenarios.replace, "Replace all scenarios by one",
                 query=queries.ScenarioQuery, body=bodies.ScenarioText),
    ControlRoute("POST", "/__admin/scenarios", scenarios.add, "Add a scenario before the present ones",
                 query=queries.ScenarioQuery, body=bodies.ScenarioText, success=201),
    ControlRoute("DELETE", "/__admin/scenarios", scenarios.clear, "Clear all scenarios, or the one of ?name=",
                 query=queries.ScenarioRemoval),
    ControlRoute("GET", "/__admin/scenarios/shipped", scenario_tools.shipped,
                 "The scenarios that come with the product, with their texts", keyed=False),
    ControlRoute("GET", "/__admin/scenarios/schema", scenario_tools.schema, "The JSON Schema of scenario files",
                 keyed=False),
    ControlRoute("POST", "/__admin/scenarios/check", scenario_tools.check,
                 "Check a scenario's text: every fault with line and column; nothing is loaded",
                 body=bodies.ScenarioText, keyed=False),
    ControlRoute("POST", "/__admin/scenarios/dry-run", scenario_tools.try_out,
                 "Try rules on the journal: where each would have fired, and its near misses; nothing is loaded",
                 body=bodies.ScenarioText),
    ControlRoute("GET", "/__admin/scenarios/texts/{name}", scenario_tools.text, "The text of a scenario in force",
                 answers={404: "No such scenario is in force"}),
    ControlRoute("GET", "/__admin/rules", scenarios.rules, "Every rule with its counters and remaining firings"),
    ControlRoute("GET", "/__admin/journal", journal.listing, "Requests, answers, decisions and changes, oldest first",
                 query=queries.JournalQuery),
    ControlRoute("GET", "/__admin/journal/{entry_id}", journal.get, "One step of the journal",
                 answers={404: "No such entry is kept"}),
    ControlRoute("GET", "/__admin/journal/{entry_id}/request", repeat.request,
                 "The request of a step as another client can send it: no secret in it, test cards as they are",
                 answers={404: "No such entry is kept"}),
    ControlRoute("POST", "/__admin/journal/{entry_id}/repeat", repeat.repeat, "Send a request again as it came",
                 answers={404: "No such entry is kept"}),
    ControlRoute("GET", "/__admin/state", state.read, "Everything in this sandbox as one document",
                 query=queries.StateQuery),
    ControlRoute("PUT", "/__admin/state", state.write, "Replace this sandbox by an exported document",
                 query=queries.UndoQuery, body=bodies.StateDocument, largest=LARGEST_STATE),
    ControlRoute("GET", "/__admin/compare", compare.compare, "What differs from another sandbox, object by object",
                 query=queries.CompareQuery),
    ControlRoute("POST", "/__admin/fork", state.fork, "Copy this sandbox to another key, now or at a journal entry",
                 body=bodies.ForkTarget, success=201),
    ControlRoute("GET", "/__admin/assumptions", assumptions.listing, "The assumption table of this sandbox"),
    ControlRoute("PUT", "/__admin/assumptions", assumptions.override, "Override rows, or choose the profile",
                 body=bodies.Overrides),
    ControlRoute("POST", "/__admin/verify", verify.verify, "Verify what was asked, with near misses",
                 query=queries.SinceQuery, body=bodies.Expectations,
                 answers={409: "Something does not hold: differences and near misses"}),
    ControlRoute("GET", "/__admin/findings", findings.listing, "What the client did wrong, oldest first",
                 query=queries.FindingQuery),
    ControlRoute("POST", "/__admin/findings/finish", findings.finish,
                 "Finish: report what was left open, then list", query=queries.FindingQuery),
    ControlRoute("DELETE", "/__admin/findings", findings.clear, "Delete the findings of this sandbox"),
    ControlRoute("POST", "/__admin/marks", findings.mark, "Name this place in the journal, for since=NAME",
                 body=bodies.Mark, success=201),
    ControlRoute("GET", "/__admin/timeline", timeline.lines, "The journal in short lines", query=queries.TimelineQuery),
    ControlRoute("GET", "/__admin/objects", timeline.objects, "Objects of a kind, newest first, or how many of each",
                 query=queries.ObjectQuery),
    ControlRoute("GET", "/__admin/objects/{kind}/{object_id}", timeline.one, "One object, card data masked",
                 answers={404: "No such object"}),
    ControlRoute("GET", "/__admin/states", timeline.states, "Every state table", keyed=False),
    ControlRoute("GET", "/__admin/webhooks", webhooks.listing, "Deliveries of webhooks with every try, oldest first",
                 query=queries.DeliveryQuery),
    ControlRoute("GET", "/__admin/webhooks/{delivery_id}", webhooks.one, "One webhook with every try",
                 answers={404: "No such webhook"}),
    ControlRoute("POST", "/__admin/webhooks/{delivery_id}/resend", webhooks.resend, "Send a webhook again, now",
                 answers={404: "No such webhook", 409: "It is being sent"}),
    ControlRoute("POST", "/__admin/wait", wait.wait, "Wait until conditions hold, or say why they did not in time",
                 body=bodies.WaitFor),
    ControlRoute("POST", "/__admin/events", webhooks.emit, "Emit any webhook with data of your own",
                 body=bodies.EmittedEvent, success=201),
    ControlRoute("GET", "/__admin/inbox", inbox.listing, "Every inbox that has messages"),
    ControlRoute("GET", "/__admin/inbox/{name}", inbox.read, "Messages of an inbox, signatures checked",
                 query=queries.InboxQuery),
    ControlRoute("GET", "/__admin/inbox/{name}/{message_id}", inbox.one, "One message of an inbox",
                 answers={404: "No such message"}),
    ControlRoute("DELETE", "/__admin/inbox/{name}", inbox.clear, "Delete the messages of an inbox"),
)  # fmt: skip
