"""Explains which rules a request would meet, without a server, or has met, and why the others do
not fire."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from mockserver.domain.cards import CardNumber, clean, passes_luhn, read_number
from mockserver.domain.clock import Micros, iso, parse_instant
from mockserver.domain.errors import nearest
from mockserver.domain.provider import DEFAULT_PROVIDER_ID
from mockserver.domain.reading import query_pairs, snake
from mockserver.scenario.attempt import Attempt, Stage
from mockserver.scenario.decisions import (
    StageDecision,
    kept_decisions,
    outcome_of,
    reasons,
)
from mockserver.scenario.director import Decision, Director, Ruleset
from mockserver.scenario.operations import (
    NOTIFYING,
    OPERATIONS,
    PROVIDER_OPERATIONS,
    SOURCES,
    UNREQUESTED,
)
from mockserver.scenario.outcome import Outcome
from mockserver.scenario.paths import ALIASES, known_path
from mockserver.scenario.provider_outcome import REFUSALS, Decline
from mockserver.scenario.rule import Rule
from mockserver.scenario.scenario import Scenario
from mockserver.scenario.transport import At
from mockserver.scenario.values import excerpt

OpOf = Callable[[str, str], str | None]
"""The operation that a method and a path mean, or None."""

_REQUEST_KEYS = (
    "op",
    "method",
    "path",
    "headers",
    "body",
    "source",
    "provider",
    "attempt",
    "call",
    "state",
)
_ASKED = {
    Stage.UPLOAD: "as the body is sent",
    Stage.ARRIVAL: "as the request arrives",
    Stage.PROVIDER: "as the provider is asked",
}
_DELIVERY = frozenset({"webhook.deliver"})
_DUE = UNREQUESTED & PROVIDER_OPERATIONS
_NOTIFY = "as webhooks are delivered"
_AS_USUAL = "  as usual"


def explain(
    scenarios: Sequence[Scenario],
    request: Mapping[str, object],
    *,
    now: Micros,
    op_of: OpOf | None = None,
    is_verbose: bool = False,
) -> list[str]:
    """Which rule fires on a request, and the first test that every other rule fails, line by line.

    ``request`` has ``method`` and ``path`` (or ``op``), and may have headers, body, source,
    provider, attempt, call and state. Rules see it as the first request of a fresh sandbox at
    ``now``, and of stored objects what ``state`` says, value by path: ``{"charge.status":
    "Authorised"}``. Raises ``ValueError`` in words.
    """
    op = _operation(request, op_of)
    start = next(
        (one.clock.start for one in scenarios if one.clock and one.clock.start is not None), None
    )
    attempt = _attempt(op, request, now if start is None else start)
    rules = Ruleset(scenarios)
    director = Director(rules, 1, "explain")
    lines = [
        f"{op} at {iso(attempt.now)}: at each stage the first rule that matches decides",
        *_at_connect(rules),
    ]
    fired: list[Decision] = []
    for stage in _stages(rules, op):
        decision = director.decide(stage, attempt)
        lines.append(f"{_NOTIFY if op in _DELIVERY else _ASKED[stage]}:")
        (kept,) = kept_decisions([decision], attempt.request, most_failed=len(rules.rules))
        lines += _asked(rules, op, kept, lambda: attempt, is_verbose=is_verbose)
        fired += [decision] if decision.rule is not None else []
        if _ends(decision.outcome):
            return [
                *lines,
                "  nothing more is asked: this ends the call before anything has happened",
            ]
    return [*lines, *_as_answered(op, fired), *_as_notified(op, fired, rules)]


def told(
    rules: Ruleset,
    op: str,
    decisions: Sequence[StageDecision],
    attempt_of: Callable[[StageDecision], Attempt],
) -> list[str]:
    """The same of a step that has happened, by its decisions: stage by stage, once for each
    provider that was asked. ``attempt_of`` says what the rules were asked with."""
    lines: list[str] = []
    for stage in _stages(rules, op):
        deciding = [one for one in decisions if one.stage is stage]
        for decision in deciding:
            lines.append(f"{_ASKED[stage]}:")
            lines += _asked(rules, op, decision, partial(attempt_of, decision), is_verbose=False)
        if not deciding:
            lines += [f"{_ASKED[stage]}:", "  no rule was asked: the request had ended before"]
    return lines


def _at_connect(rules: Ruleset) -> list[str]:
    asked = [rule for rule in rules.rules if rule.stage is Stage.CONNECT]
    return ["as a connection is made:", *_of_each(asked)] if asked else []


def _stages(rules: Ruleset, op: str) -> Iterator[Stage]:
    """When rules are asked about an operation, a connection apart."""
    if Stage.UPLOAD in rules.stages:
        yield Stage.UPLOAD
    if op not in _DUE:
        yield Stage.ARRIVAL
    if op in PROVIDER_OPERATIONS:
        yield Stage.PROVIDER


def _ends(outcome: Outcome) -> bool:
    """Whether the call ends before anything has happened."""
    fault = outcome.transport
    return (
        fault is not None
        and fault.at is not At.ANSWER
        and not fault.is_reading
        and not fault.goes_on
    )


def _as_answered(op: str, fired: Sequence[Decision]) -> list[str]:
    if op in UNREQUESTED:
        return []
    spoils = _first(
        fired,
        "spoils the answer",
        lambda one: one.transport is not None and one.transport.at is At.ANSWER,
    )
    return ["as it is answered:", spoils]


def _as_notified(op: str, fired: Sequence[Decision], rules: Ruleset) -> list[str]:
    if op not in NOTIFYING or op in _DELIVERY:
        return []
    webhooks = _first(fired, "says how webhooks go", lambda one: one.webhook is not None)
    asked = [
        rule for rule in rules.rules if rule.operations & _DELIVERY and rule.stage is Stage.ARRIVAL
    ]
    return [f"{_NOTIFY}:", webhooks, *(_of_each(asked) if webhooks == _AS_USUAL else ())]


def _of_each(rules: Sequence[Rule]) -> list[str]:
    return [f"  asked of each: {_place(rule)}" for rule in rules]


def _asked(
    rules: Ruleset,
    op: str,
    decision: StageDecision,
    attempt: Callable[[], Attempt],
    *,
    is_verbose: bool,
) -> Iterator[str]:
    """What became of every rule of one stage, line by line; of built-in test values that do not
    fire, how many, or each."""
    deciding = decision.fired[-1] if decision.fired else None
    failed = dict(reasons(decision, deciding, rules, attempt))
    firings = {one.rule: one for one in decision.fired}
    fired, silent = False, 0
    for rule in rules.rules:
        if rule.stage is not decision.stage:
            continue
        if rule.id in firings:
            outcome = outcome_of(firings[rule.id], rule, attempt)
            is_deciding = deciding is not None and rule.id == deciding.rule
            fired = fired or is_deciding
            end = _answered(op, outcome) if is_deciding else ", later rules decide"
            yield f"  fires: {_place(rule)}: {outcome.words}{end}"
        elif rule.builtin and not is_verbose:
            silent += 1
        elif op not in rule.operations:
            wanted = " or ".join(sorted(rule.operations)[:4]) + (
                " ..." if len(rule.operations) > 4 else ""
            )
            yield f"  not:   {_place(rule)}: op: wanted {wanted}, got {op}"
        elif rule.id in failed:
            yield f"  not:   {_place(rule)}: {failed[rule.id]}"
        elif fired:
            yield f"  after: {_place(rule)}: never asked, an earlier rule fired"
    if silent:
        yield f"  not:   {silent} built-in test values"
    if not fired:
        yield "  no rule fires"


def _answered(op: str, outcome: Outcome) -> str:
    """The code of the answer, where that is not the decline's."""
    said, code = outcome.provider, REFUSALS.get(op)
    return (
        f", answered with code {code:d}"
        if code and isinstance(said, Decline) and said.own_code is None
        else ""
    )


def _place(rule: Rule) -> str:
    return f"{rule.id} ({rule.file}:{rule.line})"


def _first(fired: Sequence[Decision], does: str, part: Callable[[Outcome], bool]) -> str:
    """The first rule that has fired and says something of a stage at which none is asked."""
    return next((f"  {one.rule} {does}" for one in fired if part(one.outcome)), _AS_USUAL)


def _operation(request: Mapping[str, object], op_of: OpOf | None) -> str:
    for key in request:
        if key not in _REQUEST_KEYS:
            raise ValueError(
                f"unknown key '{key[:60]}'{nearest(key, _REQUEST_KEYS)}, allowed: "
                f"{', '.join(_REQUEST_KEYS)}"
            )
    op = request.get("op")
    if op is None:
        method, path = request.get("method"), request.get("path")
        if not isinstance(method, str) or not isinstance(path, str):
            raise ValueError("wanted method and path, or op")
        op = op_of(method.upper(), path.partition("?")[0]) if op_of is not None else None
        if op is None:
            raise ValueError(
                f"got {method} {path}, which is not an operation of the service; give op to name "
                "one"
            )
    if op not in OPERATIONS:
        raise ValueError(f"got op '{op}', which is not an operation{nearest(str(op), OPERATIONS)}")
    return str(op)


def _attempt(op: str, request: Mapping[str, object], now: Micros) -> Attempt:
    # As on the server: what an operation without a body is asked for stands in its query.
    body = _camel(request.get("body") or _query(_text(request.get("path")) or ""))
    if not isinstance(body, Mapping):
        raise ValueError("body: wanted an object")
    headers = request.get("headers") or {}
    if not isinstance(headers, Mapping):
        raise ValueError("headers: wanted an object")
    number, call = (request.get(name, 1) for name in ("attempt", "call"))
    if not isinstance(number, int) or not isinstance(call, int):
        raise ValueError(
            f"{'call' if isinstance(number, int) else 'attempt'}: wanted a whole number"
        )
    card = _card(body)
    bank = body.get("bankPaymentInformation")
    return Attempt(
        op=op,
        now=now,
        source=_text(request.get("source")) or _source(op, _text(request.get("path")) or ""),
        provider=_text(request.get("provider"))
        or _text(body.get("providerId"))
        or DEFAULT_PROVIDER_ID,
        attempt=number,
        card=card,
        request=body,
        headers={str(name).lower(): str(value) for name, value in headers.items()},
        state=partial(_stored, _state(request.get("state") or {})),
        subject=card.fingerprint if card else None,
        bank_account=_text(bank.get("accountNumber")) if isinstance(bank, Mapping) else None,
        call=None if op in UNREQUESTED else call,
    )


def _query(path: str) -> dict[str, str]:
    """The parameters that stand in a path; one without a value counts as absent."""
    pairs = query_pairs(path.partition("?")[2].encode())
    return {name: value for name, value in pairs if value}


def _state(given: object) -> dict[str, object]:
    if not isinstance(given, Mapping):
        raise ValueError('state: wanted an object such as {"charge.status": "Authorised"}')
    try:
        return stored_values(given)
    except ValueError as fault:
        raise ValueError(f"state: {fault}") from None


def stored_values(given: Mapping[str, object]) -> dict[str, object]:
    """What stored objects hold, as rules read it. Raises ``ValueError`` for a path that no rule
    could test, and for a value that is never there."""
    values = dict[str, object]()
    for path, value in given.items():
        bare = path.removeprefix("state.")
        if "." not in bare:
            raise ValueError(
                f"got {excerpt(bare)}, wanted the path of a stored value, such as charge.status"
            )
        kind, plain = known_path(f"state.{bare}").kind, _plain(bare)
        try:
            # Rules count the age of an object from here.
            values[plain] = (
                parse_instant(str(value)) if plain.endswith(".added") else kind.wanted(value)
            )
        except ValueError as fault:
            raise ValueError(f"{bare}: {fault}") from None
    return values


def _stored(values: Mapping[str, object], path: str) -> object:
    """The value at a path; of an object of which something is given, that it is there."""
    plain = _plain(path)
    is_there = any(known.startswith(f"{plain}.") for known in values)
    return values.get(plain, "something" if is_there else None)


def _plain(path: str) -> str:
    """A path by one of the names that a field may have: rules and the reader of an explanation may
    use another."""
    return ".".join(ALIASES.get(snake(part), snake(part)) for part in path.split("."))


def _camel(value: object) -> object:
    """Field names with a small first letter, as rules write them; metadata is the caller's own."""
    if isinstance(value, Mapping):
        folded = {str(key)[:1].lower() + str(key)[1:]: one for key, one in value.items()}
        return {key: one if key == "metadata" else _camel(one) for key, one in folded.items()}
    return [_camel(one) for one in value] if isinstance(value, list) else value


def _card(body: Mapping[str, object]) -> CardNumber | None:
    details = body.get("paymentInformation")
    given = details.get("cardNumber") if isinstance(details, Mapping) else None
    number = clean(given) if isinstance(given, str) else None
    return (
        read_number(number, "explain")
        if number and len(number) >= 12 and passes_luhn(number)
        else None
    )


def _source(op: str, path: str) -> str | None:
    """The source that the last part of a charge's path names."""
    last = path.partition("?")[0].rstrip("/").rpartition("/")[2]
    if op != "charge.create" or not path:
        return None
    return last if last in SOURCES else {"least_cost": "card", "apple": "wallet"}.get(last)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
