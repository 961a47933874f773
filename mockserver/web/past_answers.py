"""Answers that do not show the present state: lagging reads and repeated answers.

Source: docs/scenario-language.md, outcome (``lag``, ``replay``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import cast

from mockserver.domain.problem import Problem
from mockserver.engine.long_search import Scan
from mockserver.engine.past import Past, lag_of
from mockserver.engine.step import Step
from mockserver.scenario.transport import Transport
from mockserver.web.request import Reply
from mockserver.web.routes import OperationCall, Route
from mockserver.wire.jsonio import loads

_REFUSED = 400


def as_of(past: Past, route: Route, call: OperationCall) -> object:
    """What a route answers, as far behind as the rules say. What was made ahead shows the present, so it is made anew
    for a read that lags; but a look at a long list counts, as it hears of every row that is taken back."""
    if not lag_of(call.step.result):
        return route.handle(call)
    ready = call.ready if isinstance(call.ready, Scan) else None
    return past.seen(call.step.result, partial(route.handle, replace(call, ready=ready)))


def again(step: Step, status: int, text: str, fault: Transport | None = None) -> Reply:
    """The reply with the text of an earlier answer."""
    if status >= _REFUSED and step.result.problem is None:
        # Of an answer out of a state document or a store the text alone is known.
        step.result.problem = cast(Problem, loads(text.encode()))
    return Reply(status, text.encode(), step, fault)


def replayed(step: Step, act: Callable[[], Reply], fault: Transport | None) -> Reply:
    """The first answer of a key, when a rule wants that, spoilt by ``fault``; else that of ``act``, which is kept."""
    replays = step.sandbox.replays
    first = replays.first(step)
    if first is not None:
        return again(step, first.status, first.text, fault)
    reply = act()
    if reply.status is not None:
        text = reply.text()
        replays.keep(step, reply.status, text)
    return reply
