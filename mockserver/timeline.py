"""The story of a sandbox as lines of text: what the report of a failing test ends with (docs/pytest.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mockserver.remote import PAGE, RemoteSandbox

LENGTH = 100
"""Newest journal entries that a timeline shows."""

_INDENT = " " * 25


def timeline(sandbox: RemoteSandbox, entries: Sequence[Mapping[str, Any]] | None = None) -> str:
    """What was asked of a sandbox and what it did, oldest first: sandbox time, request, status, rule; then changes.
    ``entries`` is its journal, when that is known."""
    if entries is None:
        entries = sandbox.journal(**({"since": sandbox.since} if sandbox.since is not None else {}))
    kept = sandbox.call("GET", "/__admin/webhooks", params={"limit": PAGE})["webhooks"]
    webhooks = {delivery["id"]: delivery for delivery in kept}
    hidden = len(entries) - LENGTH
    lines = [f"({hidden} entries before these)"] if hidden > 0 else []
    for entry in entries[-LENGTH:]:
        lines.append(f"{_time(entry['at'])}  {_what(entry)}")
        lines += [f"{_INDENT}{_change(event)}" for event in entry["events"]]
        for webhook_id in entry["webhooks"]:
            found = webhooks.get(webhook_id)
            lines += _tries(found, entry["at"]) if found else [f"{_INDENT}webhook {webhook_id}"]
    return "\n".join(lines) or "no request reached this sandbox"


def _time(at: str) -> str:
    return at[:23].replace("T", " ")


def _what(entry: Mapping[str, Any]) -> str:
    request, answer, fault = entry["request"], entry["answer"], entry["fault"]
    words = [f"{request['method']} {request['path']}" if request else f"came due: {entry['op']}"]
    if request and entry["op"] in ("clock.advance", "clock.set"):
        words += [f"{name} {request['body'][name]}" for name in ("by", "to", "now", "mode") if name in request["body"]]
    if entry["status"] is not None:
        words.append(str(entry["status"]))
    if isinstance(answer, dict) and "message" in answer and "code" in answer:
        words.append(f"{answer['message']} (code {answer['code']})")
        if entry["op"] == "none":
            words += answer["details"].values()
    if fault:
        words.append(f"fault {fault['kind']} at {fault['at']}")
    words += [f"rule {decision['rule']}" for decision in entry["decisions"] if decision["rule"]]
    return "  ".join(words)


def _change(event: Mapping[str, Any]) -> str:
    subject = f"{event['subject']} {event['id']}"
    return f"{subject} {event['what']}: {event['before'] or '(new)'} -> {event['after'] or '(gone)'}"


def _tries(delivery: Mapping[str, Any], since: str) -> list[str]:
    """The receiver of each webhook and how each try ended, with its time when it is not ``since``."""
    line = f"{_INDENT}webhook {delivery['eventType']} to {delivery['url']}"
    lines = []
    for number, made in enumerate(delivery["tries"], 1):
        at = f" at {_time(made['at'])}" if made["at"] != since else ""
        lines.append(f"{line}  try {number}{at}  {made['status'] or made['error']}")
    if delivery["state"] != "delivered":
        due = f", next try at {_time(delivery['next'])}" if delivery["next"] else ""
        lines.append(f"{line}  {delivery['state'].replace('_', ' ')}{due}")
    return lines
