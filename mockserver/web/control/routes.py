"""The table of the control API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockserver.web.control.call import ControlCall, ControlRoute, Given
from mockserver.web.lazy import lazy

if TYPE_CHECKING:
    from mockserver.web.control import (
        assumptions,
        clock,
        coming,
        compare,
        findings,
        health,
        inbox,
        journal,
        openapi,
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
else:  # the same names, imported when a call first needs them
    assumptions, clock, coming, compare, findings, health, inbox = lazy(
        "mockserver.web.control", "assumptions", "clock", "coming", "compare", "findings", "health", "inbox"
    )
    journal, openapi, repeat, sandboxes, scenario_tools, scenarios = lazy(
        "mockserver.web.control", "journal", "openapi", "repeat", "sandboxes", "scenario_tools", "scenarios"
    )
    state, timeline, verify, wait, webhooks = lazy(
        "mockserver.web.control", "state", "timeline", "verify", "wait", "webhooks"
    )

LARGEST_STATE = 500_000_000
"""Bytes of a state document that can be imported: far more than a request of the payments API may have."""

_PAGE = (
    Given("after", "integer", "entries after this number, oldest first; without it the newest ones"),
    Given("limit", "integer", "at most so many entries, 1 to 1000, default 100"),
)
_UNDO = Given("undo", "boolean", "keep what is there aside for POST /__admin/undo")
_SEARCH = Given(
    "q",
    "string",
    'words, "phrases" and operators that must all hold, a hyphen before one excludes: status:4xx op:charge.create '
    "rule:x code:15 ref:order-5 id:3f2a amount:12.50 currency:AUD method:POST path:/charge/card since:10m "
    "is:failed|declined|refused|fault|finding|due|repeat|scripted; other words are looked for in all that is shown",
)
_FILTERS = (
    Given("op", "string", "operation by name or glob, such as charge.create or charge.*"),
    Given("status", "string", "status of the answer, or its class such as 4xx"),
    Given("rule", "string", "rule that fired"),
    Given("method", "string", "HTTP method"),
    Given("path", "string", "path of the request"),
    Given("subject", "string", "id of an object that changed"),
)
_SINCE = Given("since", "string", "after this mark, or after the journal entry of this number")
_FINDINGS = (
    Given("severity", "string", "at least note, warning or error"),
    Given("finding", "string", "one kind, such as double-charge"),
    _SINCE,
    Given("raised", "integer", "raised, or raised again, after so many raises: the field raised of an earlier answer"),
)
_SHORT = (
    _SEARCH,
    Given("after", "integer", "lines after this number; without it the newest ones"),
    Given("before", "integer", "the newest lines before this number"),
    Given("limit", "integer", "at most so many, 2000"),
    _SINCE,
)
_OBJECTS = (
    Given("kind", "string", "kind of object, such as charge; without it the numbers alone"),
    Given(
        "q",
        "string",
        "words that must all hold, and state:SUCCESS ref:order-5 id:3f2a amount:12.50 currency:AUD is:finding",
    ),
    Given("skip", "integer", "leave out so many of the newest"),
    Given("limit", "integer", "at most so many, 1000"),
)
_TIMEOUT = Given("timeout", "string", "how long it may take in real time; 10m unless told, and at most")
_SCENARIO = (Given("name", "string", "name of the scenario when its text gives none"),)
_WEBHOOKS = (
    Given("state", "string", "held, waiting, sending, delivered or given_up"),
    Given("type", "string", "meta.type, such as transaction"),
    Given("eventType", "string", "meta.eventType, such as transaction.status.changed"),
    Given("subject", "string", "id of the object that it is about"),
    Given("url", "string", "receiver"),
    Given("messageId", "string", "meta.messageId"),
    Given("limit", "integer", "at most so many, the newest ones; 1 to 1000, default 100"),
    Given("skip", "integer", "leave out so many of the newest"),
    Given("changed", "integer", "to which something has happened since: the field changes of an earlier answer"),
    Given("bodies", "boolean", "whether bodies are shown, true unless told"),
)
_MESSAGES = (
    Given("after", "integer", "messages after the one of this id"),
    Given("limit", "integer", "at most so many, the newest ones"),
    Given("bodies", "boolean", "whether bodies and headers are shown, true unless told"),
)
_WAIT = (
    Given(
        "for",
        "object",
        "what to wait for: {charge: {id, status}}, {batch: ...}, {webhook: {state, subject}}, "
        "{inbox: {name, count}} or {inbox: name}; all must hold",
        required=True,
    ),
    Given(
        "timeout", "string", "how long, in real time, such as 5s (the default; with advance 30s), 10m at the longest"
    ),
    Given("advance", "boolean", "move the sandbox's clock to what is due next, and so on, instead of waiting for it"),
    Given("within", "string", "how far to move the clock, such as 31d (the default)"),
)
_EVENT = (
    Given("type", "string", "transaction, batch, subscription, customer or paymentMethod", required=True),
    Given("eventType", "string", "meta.eventType; default <type>.status.changed"),
    Given("data", "object", "the data of the webhook; default an empty object"),
    Given("url", "string", "receiver; without it every webhook subscription of the type"),
    Given("authorization", "string", "Authorization header for that receiver"),
)


def _describe(call: ControlCall) -> tuple[int, object]:
    from mockserver.web.control.openapi import control

    return 200, control(CONTROL_ROUTES, call.world.directory.config.public_url)


CONTROL_ROUTES: tuple[ControlRoute, ...] = (
    ControlRoute("GET", "/healthz", health.alive, "Whether the server lives", keyed=False),
    ControlRoute("GET", "/readyz", health.ready, "Whether the server is ready, else the reasons", keyed=False,
                 answers={503: "Not ready, with the reasons"}),
    ControlRoute("GET", "/openapi.json", openapi.payments, "The payments API as an OpenAPI document, profile applied",
                 keyed=False),
    ControlRoute("GET", "/__admin/openapi.json", _describe, "This API as an OpenAPI document", keyed=False),
    ControlRoute("GET", "/__admin/sandboxes", sandboxes.listing, "Every sandbox, the last used first, keys masked",
                 keyed=False),
    ControlRoute("POST", "/__admin/sandboxes", sandboxes.name, "Give the sandbox of a key a name, open it if need be",
                 body=(Given("key", "string", "secret key of the sandbox", required=True),
                       Given("name", "string", "name for people, 1 to 100 characters", required=True)),
                 keyed=False, success=201),
    ControlRoute("GET", "/__admin/sandbox", sandboxes.one, "This sandbox, key masked"),
    ControlRoute("POST", "/__admin/reset", sandboxes.reset, "Empty this sandbox, or with all=true every one",
                 query=(Given("all", "boolean", "every sandbox of the server; no key is needed then"),
                        Given("scenario", "boolean", "forget scenarios and overrides of its own too"), _UNDO)),
    ControlRoute("POST", "/__admin/undo", sandboxes.undo, "Put back what a reset or an import with undo=true took away",
                 answers={404: "Nothing is kept aside"}),
    ControlRoute("GET", "/__admin/clock", clock.read, "The clock of this sandbox"),
    ControlRoute("PUT", "/__admin/clock", clock.change, "Set mode, rate and time",
                 body=(Given("mode", "string", "real, manual or fast"),
                       Given("rate", "integer", "how fast, 1 to 1000000, in mode fast; 60 unless told"),
                       Given("now", "string", "an ISO date-time that is not in the past of the sandbox"), _TIMEOUT)),
    ControlRoute("POST", "/__admin/clock/advance", clock.advance, "Move forward by a duration or to a date-time",
                 body=(Given("by", "string", "a duration such as 1h30m"), Given("to", "string", "an ISO date-time"),
                       _TIMEOUT)),
    ControlRoute("GET", "/__admin/clock/due", coming.due, "What time will cause next, the earliest first",
                 query=(Given("limit", "integer", "at most so many, 1 to 100, default 10"),)),
    ControlRoute("GET", "/__admin/scenarios", scenarios.listing, "The scenarios in force"),
    ControlRoute("PUT", "/__admin/scenarios", scenarios.replace, "Put one scenario in the place of all others",
                 query=_SCENARIO, anything=True),
    ControlRoute("POST", "/__admin/scenarios", scenarios.add, "Add a scenario before those that are there",
                 query=_SCENARIO, anything=True, success=201),
    ControlRoute("DELETE", "/__admin/scenarios", scenarios.clear, "Clear all scenarios, or the one of ?name=",
                 query=(Given("name", "string", "the only scenario to take away"),)),
    ControlRoute("GET", "/__admin/scenarios/shipped", scenario_tools.shipped,
                 "The scenarios that come with the product, with their texts", keyed=False),
    ControlRoute("GET", "/__admin/scenarios/schema", scenario_tools.schema, "The JSON Schema of scenario files",
                 keyed=False),
    ControlRoute("POST", "/__admin/scenarios/check", scenario_tools.check,
                 "What is wrong with a scenario's text, with line and column; nothing is loaded", anything=True,
                 keyed=False),
    ControlRoute("POST", "/__admin/scenarios/dry-run", scenario_tools.try_out,
                 "On which kept entries each rule would have fired, and its near misses; nothing is loaded",
                 anything=True),
    ControlRoute("GET", "/__admin/scenarios/texts/{name}", scenario_tools.text, "The text of a scenario in force",
                 answers={404: "No such scenario is in force"}),
    ControlRoute("GET", "/__admin/rules", scenarios.rules, "Every rule with its counters, hits and what is left"),
    ControlRoute("GET", "/__admin/journal", journal.listing, "Requests, answers, decisions and changes, oldest first",
                 query=(_SEARCH, *_FILTERS, *_PAGE, _SINCE)),
    ControlRoute("GET", "/__admin/journal/{entry_id}", journal.get, "One step of the journal",
                 answers={404: "No such entry is kept"}),
    ControlRoute("POST", "/__admin/journal/{entry_id}/repeat", repeat.repeat, "Take a request again as it came",
                 answers={404: "No such entry is kept"}),
    ControlRoute("GET", "/__admin/state", state.read, "Everything in this sandbox as one document",
                 query=(Given("secrets", "boolean", "card numbers and ccv too"),)),
    ControlRoute("PUT", "/__admin/state", state.write, "Put an exported document in the place of this sandbox",
                 query=(_UNDO,), anything=True, largest=LARGEST_STATE),
    ControlRoute("GET", "/__admin/compare", compare.compare, "What differs from another sandbox, object by object",
                 query=(Given("with", "string", "id of the other sandbox", required=True),)),
    ControlRoute("POST", "/__admin/fork", state.fork, "Copy this sandbox to another key, now or at a journal entry",
                 body=(Given("to", "string", "secret key of the copy; what it opened is lost", required=True),
                       Given("at", "integer", "journal entry after which the copy shall stand")), success=201),
    ControlRoute("GET", "/__admin/assumptions", assumptions.listing, "The assumption table of this sandbox"),
    ControlRoute("PUT", "/__admin/assumptions", assumptions.override, "Override rows, or choose the profile",
                 body=(Given("profile", "string", "documented or sdk"),), anything=True),
    ControlRoute("POST", "/__admin/verify", verify.verify, "Whether what was expected has happened, with near misses",
                 query=(_SINCE,),
                 body=(Given("requests", "array", "a list of {op, where, count: {exactly | min, max}}"),
                       Given("findings", "string", "error, warning or none (allow none at all)"),
                       Given("rules", "boolean", "whether every expect of a rule must be met too")),
                 answers={409: "Something does not hold: differences and near misses"}),
    ControlRoute("GET", "/__admin/findings", findings.listing, "What the client did wrong, oldest first",
                 query=_FINDINGS),
    ControlRoute("POST", "/__admin/findings/finish", findings.finish,
                 "End the story: judge what was left open, then list", query=_FINDINGS),
    ControlRoute("DELETE", "/__admin/findings", findings.clear, "Forget the findings of this sandbox"),
    ControlRoute("POST", "/__admin/marks", findings.mark, "Name this place in the journal, for since=NAME",
                 body=(Given("name", "string", "name of the mark", required=True),), success=201),
    ControlRoute("GET", "/__admin/timeline", timeline.lines, "The journal in short lines", query=_SHORT),
    ControlRoute("GET", "/__admin/objects", timeline.objects, "Objects of a kind, newest first, or how many of each",
                 query=_OBJECTS),
    ControlRoute("GET", "/__admin/objects/{kind}/{object_id}", timeline.one, "One object, card data masked",
                 answers={404: "No such object"}),
    ControlRoute("GET", "/__admin/states", timeline.states, "Every state table", keyed=False),
    ControlRoute("GET", "/__admin/webhooks", webhooks.listing, "Deliveries of webhooks with every try, oldest first",
                 query=_WEBHOOKS),
    ControlRoute("GET", "/__admin/webhooks/{delivery_id}", webhooks.one, "One webhook with every try",
                 answers={404: "No such webhook"}),
    ControlRoute("POST", "/__admin/webhooks/{delivery_id}/resend", webhooks.resend, "Send a webhook again, now",
                 answers={404: "No such webhook", 409: "It is being sent"}),
    ControlRoute("POST", "/__admin/wait", wait.wait, "Answer when a condition holds, or say that it did not in time",
                 body=_WAIT),
    ControlRoute("POST", "/__admin/events", webhooks.emit, "Emit any webhook with data of your own",
                 body=_EVENT, success=201),
    ControlRoute("GET", "/__admin/inbox", inbox.listing, "Every inbox that something has arrived at"),
    ControlRoute("GET", "/__admin/inbox/{name}", inbox.read, "What has arrived at an inbox, signatures checked",
                 query=_MESSAGES),
    ControlRoute("GET", "/__admin/inbox/{name}/{message_id}", inbox.one, "One message of an inbox",
                 answers={404: "No such message"}),
    ControlRoute("DELETE", "/__admin/inbox/{name}", inbox.clear, "Forget what has arrived at an inbox"),
)  # fmt: skip
