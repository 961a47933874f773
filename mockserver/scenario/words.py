"""Outcomes in words, for explanations, journals and pages."""

from __future__ import annotations

from dataclasses import fields
from typing import assert_never

from mockserver.domain.clock import duration_text
from mockserver.scenario.outcome import (
    Approve,
    BatchScript,
    Challenge,
    Decline,
    FaultKind,
    Latency,
    Later,
    Outcome,
    PartialApprove,
    Pending,
    ProviderOutcome,
    Transport,
    WebhookPlan,
)


def outcome_words(outcome: Outcome) -> str:
    """One line that says all an outcome makes happen, level by level."""
    parts = [_provider(outcome.provider)] if outcome.provider is not None else []
    parts += [_latency(outcome.latency)] if outcome.latency is not None else []
    parts += [_transport(outcome.transport)] if outcome.transport is not None else []
    parts += [_webhook(outcome.webhook)] if outcome.webhook is not None else []
    parts += [_batch(outcome.batch)] if outcome.batch is not None else []
    parts += [_later(later) for later in outcome.later]
    return "; ".join(parts) or "nothing out of the ordinary"


def _provider(provider: ProviderOutcome) -> str:
    match provider:
        case Approve():
            return "approve"
        case Decline():
            gateway = f", gateway {provider.gateway_code}" if provider.gateway_code is not None else ""
            retry = "retryable" if provider.is_retryable else "not retryable"
            return f"decline {provider.name} (code {provider.error_code}{gateway}, {retry})"
        case Pending(settle, after):
            return f"pending, then {settle}" + (f" after {duration_text(after)}" if after is not None else "")
        case Challenge():
            return "3-D Secure challenge"
        case PartialApprove(amount):
            return f"approve {amount:f} only"
        case _:
            assert_never(provider)


def _latency(latency: Latency) -> str:
    if latency.p50 is not None and latency.p99 is not None:
        return f"latency p50 {duration_text(latency.p50)}, p99 {duration_text(latency.p99)}"
    low, high = duration_text(latency.low), duration_text(latency.high)
    return f"latency {low}" if low == high else f"latency {low} to {high}"


def _transport(fault: Transport) -> str:
    words = {
        FaultKind.STATUS: f"status {fault.status}",
        FaultKind.CLOSE_AFTER: f"close after {fault.count} bytes",
        FaultKind.DRIBBLE: f"dribble {fault.chunk} bytes every {duration_text(fault.every)}",
        FaultKind.DELAY: f"delay {duration_text(fault.delay)}",
    }.get(fault.kind, fault.kind.value)
    delay = f" after {duration_text(fault.delay)}" if fault.delay and fault.kind is not FaultKind.DELAY else ""
    return f"transport at {fault.at}: {words}{delay}"


def _webhook(plan: WebhookPlan) -> str:
    plain = WebhookPlan()
    said = []
    for field in fields(plan):
        value = getattr(plan, field.name)
        if value == getattr(plain, field.name):
            continue
        if field.name in ("delay", "gap"):
            said.append(f"{field.name} {duration_text(value)}")
        elif field.name == "authorization":
            said.append("another authorization")
        elif field.name == "receiver":
            said.append("receiver answers " + ", ".join(str(answer) for answer in value))
        else:
            said.append(field.name if value is True else f"{field.name} {value}")
    return "webhook: " + (", ".join(said) or "as usual")


def _batch(script: BatchScript) -> str:
    said = [f"{len(script.rows)} rules for rows"] if script.rows else []
    said += [f"{len(script.progress)} steps of progress"] if script.progress else []
    said += [f"stalls at {script.stall_at:f}"] if script.stall_at is not None else []
    said += [f"ends {script.end}"] if script.end is not None else []
    said += ["results spoilt"] if script.results != type(script.results)() else []
    return "batch: " + ", ".join(said)


def _later(later: Later) -> str:
    details = ", ".join(f"{name} {value}" for name, value in later.changes.items() if value is not None)
    return f"{duration_text(later.after)} later: {later.move}" + (f" {details}" if details else "")
