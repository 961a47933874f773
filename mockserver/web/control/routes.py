"""The table of the control API."""

from __future__ import annotations

from mockserver.web.control import assumptions, clock, health, journal, openapi, sandboxes, scenarios, state, verify
from mockserver.web.control.call import ControlRoute

CONTROL_ROUTES: tuple[ControlRoute, ...] = (
    ControlRoute("GET", "/healthz", health.alive, "Whether the server lives"),
    ControlRoute("GET", "/readyz", health.ready, "Whether the server is ready, else the reasons"),
    ControlRoute("GET", "/openapi.json", openapi.payments, "The payments API as an OpenAPI document, profile applied"),
    ControlRoute("GET", "/__admin/sandboxes", sandboxes.listing, "Every sandbox, keys masked"),
    ControlRoute("POST", "/__admin/reset", sandboxes.reset, "Empty this sandbox, or with all=true every one"),
    ControlRoute("GET", "/__admin/clock", clock.read, "The clock of this sandbox"),
    ControlRoute("PUT", "/__admin/clock", clock.change, "Set mode, rate and time"),
    ControlRoute("POST", "/__admin/clock/advance", clock.advance, "Move forward by a duration or to a date-time"),
    ControlRoute("GET", "/__admin/scenarios", scenarios.listing, "The scenarios in force"),
    ControlRoute("PUT", "/__admin/scenarios", scenarios.replace, "Put one scenario in the place of all others"),
    ControlRoute("POST", "/__admin/scenarios", scenarios.add, "Add a scenario before those that are there"),
    ControlRoute("DELETE", "/__admin/scenarios", scenarios.clear, "Clear all scenarios, or the one of ?name="),
    ControlRoute("GET", "/__admin/rules", scenarios.rules, "Every rule with its counters, hits and what is left"),
    ControlRoute("GET", "/__admin/journal", journal.listing, "Requests, answers, decisions and changes, oldest first"),
    ControlRoute("GET", "/__admin/journal/{entry_id}", journal.get, "One step of the journal"),
    ControlRoute("GET", "/__admin/state", state.read, "Everything in this sandbox as one document"),
    ControlRoute("PUT", "/__admin/state", state.write, "Put an exported document in the place of this sandbox"),
    ControlRoute("POST", "/__admin/fork", state.fork, "Copy this sandbox to another key, now or at a journal entry"),
    ControlRoute("GET", "/__admin/assumptions", assumptions.listing, "The assumption table of this sandbox"),
    ControlRoute("PUT", "/__admin/assumptions", assumptions.override, "Override rows, or choose the profile"),
    ControlRoute("POST", "/__admin/verify", verify.verify, "Whether what was expected has happened, with near misses"),
)
