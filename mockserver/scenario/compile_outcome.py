"""Gives outcomes of a file their meaning. Every function raises ``ValueError`` with what was got and
what is allowed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from types import MappingProxyType
from typing import TypeVar

from mockserver.domain.clock import SECOND
from mockserver.domain.codes import Code
from mockserver.domain.delivery import header_fault
from mockserver.domain.errors import nearest
from mockserver.scenario.attempt import Attempt
from mockserver.scenario.catalogue import DECLINES, PROVIDER_DOWN, PROVIDER_TIMEOUT, decline
from mockserver.scenario.kinds import NUMBER, TEXT
from mockserver.scenario.matching import compile_test, known_operators
from mockserver.scenario.outcome import (
    Approve,
    At,
    BatchScript,
    Challenge,
    Decline,
    ErrorBody,
    FaultKind,
    Latency,
    Later,
    Move,
    Outcome,
    PartialApprove,
    Pending,
    Progress,
    ProviderOutcome,
    ResultsPlan,
    RowRule,
    Transport,
    WebhookPlan,
)
from mockserver.scenario.outcome_model import (
    BatchMap,
    BatchRowMap,
    ChallengeMap,
    DeclineMap,
    LatencyMap,
    LaterMap,
    OutcomeMap,
    TransportMap,
    WebhookMap,
)
from mockserver.scenario.problems import Misplaced, Path

M = TypeVar("M")
C = TypeVar("C")

PROVIDER_WORDS = ("approve", "decline", "pending", "challenge", "provider_down", "provider_timeout", "partial_approve")
ROW_FIELDS = ("paymentMethodId", "amount", "currency", "reference")
SETTABLE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "payto.status": ("PENDING", "ACTIVE", "DECLINED", "EXPIRED", "SUSPENDED", "CANCELLED"),
        "network_token.status": ("ACTIVE", "INACTIVE", "SUSPENDED", "DELETED"),
        "subscription.status": ("Active", "Suspended", "Cancelled", "Complete"),
    }
)
"""Fields that ``later: set`` may change, and their values; a charge moves by capture, void, refund and
settle instead.
"""

_PAYER_TAKES = 30 * SECOND
_PAYER = {"passes": "SUCCESS", "fails": "FAILED", "abandons": "ABANDONED"}
_FIRST_BAD = 400
_BODILESS = (204, 205, 304)
_FRAMING = ("content-length", "transfer-encoding")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\xa0-\xff]*")
_NEEDS_ANSWER = (FaultKind.CLOSE_AFTER, FaultKind.TRUNCATE, FaultKind.DRIBBLE, FaultKind.MALFORMED_JSON)


def given(model: object, words: Sequence[str]) -> list[str]:
    """Which of the keys the file gives."""
    values = {word: getattr(model, word) for word in words}
    return [word for word, value in values.items() if value is not None]


def compile_outcome(model: OutcomeMap) -> Outcome:
    """What a ``then`` or a step makes happen."""
    asked = given(model, PROVIDER_WORDS)
    if len(asked) > 1:
        raise ValueError(f"got {' and '.join(asked)}, only one of {', '.join(PROVIDER_WORDS)} is allowed")
    later = _each(("later",), compile_later, model.later)
    later += _part("challenge", _payer, model.challenge) or []
    outcome = Outcome(
        provider=_provider(model, asked[0]) if asked else None,
        latency=_part("latency", compile_latency, model.latency),
        transport=_part("transport", compile_transport, model.transport),
        webhook=_part("webhook", compile_webhook, model.webhook),
        batch=_part("batch", compile_batch, model.batch),
        later=tuple(later),
    )
    if outcome == Outcome():
        known = ", ".join(OutcomeMap.model_fields)
        raise ValueError(f"got nothing that can happen, wanted at least one of {known}")
    return outcome


def _part(name: str, compiled: Callable[[M], C], model: M | None) -> C | None:
    return None if model is None else _each((name,), compiled, [model], single=True)[0]


def _each(path: Path, compiled: Callable[[M], C], models: Sequence[M], *, single: bool = False) -> list[C]:
    """The compiled models; a fault is told with its place under ``path``."""
    found = []
    for index, model in enumerate(models):
        place = path if single else (*path, index)
        try:
            found.append(compiled(model))
        except Misplaced as problem:
            raise Misplaced((*place, *problem.path), str(problem)) from None
        except ValueError as problem:
            raise Misplaced(place, str(problem)) from None
    return found


def _provider(model: OutcomeMap, word: str) -> ProviderOutcome:
    declined = _part("decline", compile_decline, model.decline)
    if declined is not None:
        return declined
    if model.pending is not None:
        return Pending(model.pending.settle, model.pending.after)
    if model.partial_approve is not None:
        if model.partial_approve == 0:
            raise Misplaced(("partial_approve",), "got 0, wanted an amount above 0")
        return PartialApprove(model.partial_approve)
    return _SIMPLE[word]


_SIMPLE: Mapping[str, ProviderOutcome] = {
    "approve": Approve(),
    "challenge": Challenge(),
    "provider_down": PROVIDER_DOWN,
    "provider_timeout": PROVIDER_TIMEOUT,
}


def compile_decline(model: DeclineMap) -> Decline:
    """A row of the catalogue with the fields replaced that the file gives."""
    base = DECLINES.get(model.name) if model.name is not None else None
    if base is None:
        if model.error_code is None:
            if model.name is None:
                raise ValueError("wanted the name of a refusal, or an errorCode of your own")
            base = decline(model.name)
        else:
            known = {int(code): code.message for code in Code}
            text = model.error_message or known.get(model.error_code, "Declined")
            base = Decline(
                model.name or f"error_{model.error_code}", model.error_code, text, None, None, is_retryable=False
            )
    code = base.error_code if model.error_code is None else model.error_code
    message = base.error_message
    if model.error_code is not None and model.error_code != base.error_code:
        message = next((known.message for known in Code if known == code), message)
    return Decline(
        name=base.name,
        error_code=code,
        error_message=model.error_message or message,
        gateway_code=base.gateway_code if model.gateway_code is None else model.gateway_code,
        gateway_message=base.gateway_message if model.gateway_message is None else model.gateway_message,
        is_retryable=base.is_retryable if model.is_retryable is None else model.is_retryable,
        own_code=model.error_code,
        own_message=model.error_message,
    )


def compile_latency(model: LatencyMap) -> Latency:
    """A range or two percentiles."""
    if model.p50 is not None or model.p99 is not None:
        if model.min is not None or model.max is not None:
            raise ValueError("got a range and percentiles, allowed: min and max, or p50 and p99")
        if model.p50 is None or model.p99 is None or not 0 < model.p50 <= model.p99:
            raise ValueError("wanted both p50 and p99, above 0 and the shorter first")
        return Latency(p50=model.p50, p99=model.p99)
    low = model.min or 0
    high = low if model.max is None else model.max
    if high < low:
        raise ValueError("wanted min to be no longer than max")
    return Latency(low, high)


def _headers(given: Mapping[str, str]) -> dict[str, str]:
    """Headers that can be sent: the body's length is told by the server alone."""
    for name, value in given.items():
        if _HEADER_NAME.fullmatch(name) is None:
            raise Misplaced(("headers",), f"got '{name[:60]}', which is no name of a header")
        if name.lower() in _FRAMING:
            raise Misplaced(("headers", name), f"{name} is the server's own; use truncate for a wrong length")
        if _HEADER_VALUE.fullmatch(value) is None:
            raise Misplaced(("headers", name), "wanted one line of Latin-1 text")
    return dict(given)


def compile_transport(model: TransportMap) -> Transport:
    """One fault of the network, with its place."""
    asked = [(kind, getattr(model, kind.value)) for kind in FaultKind if kind is not FaultKind.DELAY]
    kinds = [kind for kind, value in asked if value is not None and value is not False]
    if len(kinds) > 1:
        raise ValueError(f"got {' and '.join(kinds)}, only one of them is allowed (delay may join any)")
    if not kinds and model.delay is None:
        raise ValueError(f"wanted one of {', '.join(FaultKind)}")
    kind = kinds[0] if kinds else FaultKind.DELAY
    if kind in _NEEDS_ANSWER and model.at is At.RECEIVE:
        raise ValueError(f"{kind} spoils an answer, and at: receive there is none; use at: answer")
    extra = [word for word in ("body", "headers", "retry_after") if word in model.model_fields_set]
    if extra and kind is not FaultKind.STATUS:
        raise ValueError(f"{' and '.join(extra)} belong to status, which is not given")
    if model.status in _BODILESS and model.body is not None:
        raise ValueError(f"got a body, and an answer of status {model.status} has none")
    headers = _headers(model.headers or {})
    if model.retry_after is not None:
        headers["Retry-After"] = str(model.retry_after)
    body = model.body
    if (model.status or 0) >= _FIRST_BAD and "body" not in model.model_fields_set:
        body = ErrorBody()
    return Transport(
        at=model.at,
        kind=kind,
        delay=model.delay or 0,
        status=model.status or 0,
        body=body,
        headers=headers or None,
        count=model.close_after or 0,
        chunk=model.dribble.chunk if model.dribble else 0,
        every=model.dribble.every if model.dribble else 0,
    )


def compile_webhook(model: WebhookMap) -> WebhookPlan:
    """What becomes of webhooks."""
    if not model.model_fields_set:
        raise ValueError(f"got nothing, wanted at least one of {', '.join(WebhookMap.model_fields)}")
    if model.drop and model.model_fields_set != {"drop"}:
        raise ValueError("drop sends nothing, so nothing else can be said about it")
    if model.before_answer and model.delay:
        raise ValueError("got before_answer and delay, only one of them is allowed")
    if model.authorization is not None and (told := header_fault(model.authorization)) is not None:
        raise Misplaced(("authorization",), told)
    return WebhookPlan(
        drop=model.drop,
        delay=model.delay,
        copies=model.copies,
        gap=model.gap,
        before_answer=model.before_answer,
        swap_with_next=model.swap_with_next,
        stale=model.stale,
        bad_signature=model.bad_signature,
        authorization=model.authorization,
        receiver=tuple(model.receiver),
    )


def compile_batch(model: BatchMap) -> BatchScript:
    """What becomes of a batch and its rows."""
    if not model.model_fields_set:
        raise ValueError(f"got nothing, wanted at least one of {', '.join(BatchMap.model_fields)}")
    progress = tuple(Progress(one.reach, one.after) for one in model.progress)
    for before, after in pairwise(progress):
        if after.reach < before.reach or after.after < before.after:
            raise ValueError("progress: wanted steps that rise in reach and in time")
    results = model.results
    return BatchScript(
        rows=tuple(_each(("rows",), _row, model.rows)),
        progress=progress,
        stall_at=model.stall_at,
        end=model.end,
        results=ResultsPlan(frozenset(results.omit_rows), results.shuffle, results.cut) if results else ResultsPlan(),
    )


def _row(model: BatchRowMap) -> RowRule:
    which = given(model, ("at", "every", "where", "share"))
    if len(which) != 1:
        raise ValueError(f"got {' and '.join(which) or 'none'}, wanted exactly one of at, every, where, share")
    what = given(model, ("decline", "approve", "provider_down", "provider_timeout"))
    if len(what) != 1:
        raise ValueError(
            f"got {' and '.join(what) or 'none'}, "
            "wanted exactly one of decline, approve, provider_down, provider_timeout"
        )
    where = None
    if model.where is not None:
        for name, wanted in model.where.items():
            if name not in ROW_FIELDS:
                hint = nearest(name, ROW_FIELDS) or f", allowed: {', '.join(ROW_FIELDS)}"
                raise ValueError(f"where: unknown column '{name}'{hint}")
            known_operators(wanted)
        where = tuple(
            compile_test(name, _no_reader, (NUMBER if name == "amount" else TEXT).wanted(wanted))
            for name, wanted in model.where.items()
        )
    declined = _part("decline", compile_decline, model.decline)
    outcome = _SIMPLE[what[0]] if declined is None else declined
    return RowRule(
        outcome=outcome,
        at=frozenset(model.at) if model.at is not None else None,
        every=model.every,
        share=model.share,
        where=where,
    )


def _no_reader(attempt: Attempt) -> object:
    return None


def compile_later(model: LaterMap) -> Later:
    """Something that happens on its own."""
    moves = [move for move in Move if getattr(model, move.value) is not None]
    if len(moves) != 1:
        raise ValueError(f"got {' and '.join(moves) or 'none'}, wanted exactly one of {', '.join(Move)}")
    move = moves[0]
    changes: dict[str, object] = {}
    if model.set is not None:
        changes = dict(model.set)
        for path, value in changes.items():
            _settable(path, value)
        if not changes:
            raise ValueError(f"set: wanted at least one of {', '.join(SETTABLE)}")
    if model.settle is not None:
        changes = {"to": model.settle.value}
    part = model.capture or model.refund
    if part is not None:
        if part.amount == Decimal(0):
            raise ValueError(f"{move}.amount: got 0, wanted an amount above 0")
        changes = {"amount": part.amount, "comment": part.comment}
    return Later(model.after, move, MappingProxyType(changes))


def _settable(path: str, value: object) -> None:
    if path not in SETTABLE:
        raise ValueError(f"set: got '{path}', allowed: {', '.join(SETTABLE)}{nearest(path, SETTABLE)}")
    if value not in SETTABLE[path]:
        raise ValueError(f"set: {path}: got '{value}', allowed: {', '.join(SETTABLE[path])}")


def _payer(model: ChallengeMap) -> list[Later]:
    if model.payer is None:
        if model.after is not None:
            raise ValueError("after says when the payer acts, and payer is not given")
        return []
    after = _PAYER_TAKES if model.after is None else model.after
    return [Later(after, Move.SETTLE, MappingProxyType({"to": _PAYER[model.payer]}))]
