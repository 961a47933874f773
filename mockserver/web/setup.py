"""The set-up calls of a scenario: ordinary API calls that run in the moment a sandbox opens, without faults or
waiting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from mockserver.domain.codes import Code
from mockserver.domain.errors import Invalid
from mockserver.engine.sandbox import Sandbox
from mockserver.scenario.filling import filled
from mockserver.scenario.scenario import Call
from mockserver.web.dispatch import Dispatcher
from mockserver.web.endpoint import Endpoint, Request
from mockserver.wire.jsonio import dumps, loads

_FIRST_BAD = 400


def prepare(box: Sandbox, routes: Dispatcher) -> None:
    """Run the set-up calls. Raises ``Invalid`` (90) naming the first call that is refused, and the answer it got."""
    answers: dict[str, object] = {}
    for place, call in enumerate(box.charter.setup()):
        name = call.id or str(place)
        try:
            status, answer = _run(box, routes, call, answers)
        except LookupError as missing:
            raise Invalid(Code.VALIDATION_ERROR, {f"Setup.{name}": str(missing)}) from None
        if status >= _FIRST_BAD:
            told = f"{answer.get('code')} {answer.get('message')} {answer.get('details') or ''}"
            raise Invalid(
                Code.VALIDATION_ERROR, {f"Setup.{name}": f"{call.method} {call.path} answered {status}: {told}"}
            )
        answers[name] = answer


def _run(box: Sandbox, routes: Dispatcher, call: Call, answers: Mapping[str, object]) -> tuple[int, dict[str, Any]]:
    target = urlsplit(filled(call.path, answers))
    endpoint, parameters = routes.endpoint(call.method, target.path)
    if not isinstance(endpoint, Endpoint):
        return 404, {"message": "no such operation"}
    request = Request(
        resource=target.path,
        path=parameters,
        query=target.query.encode("latin-1"),
        headers={**filled(call.headers, answers), "x-secretkey": box.key},
        raw=dumps(filled(call.body, answers)) if call.body is not None else b"",
    )
    endpoint.host.present(box)
    reply = endpoint.take(box, request)
    answer = loads(dumps(reply.body))
    return reply.status or 503, answer if isinstance(answer, dict) else {"items": answer}
