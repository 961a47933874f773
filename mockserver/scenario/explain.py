"""Explains which rules a request would meet, without a server, or has met, and why the others do
not fire.

A rule that does not fire says nothing by itself, and its author asks why. So a director asks the
rules here as one does in a sandbox, and every rule of each stage gets a line: that it fires, the
first test that it fails, or that it was never asked.
"""

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
from mockserver.scenario.paths import known_path
from mockserver.scenario.provider_outcome import REFUSALS, Decline
from mockserver.scenario.rule import Rule
from mockserver.scenario.scenario import Scenario
from mockserver.scenario.stored_fields import ALIASES
from mockserver.scenario.transport import At
from mockserver.scenario.values import excerpt

_SOURCE_BY_PATH = {"least_cost": "card", "apple": "wallet"}

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
_MOST_NAMED = 4
_SHORTEST_CARD = 12


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
    attempt = _attempt(op, request, _start_of(scenarios, now))

    def asked_with() -> Attempt:
        return attempt

    rules = Ruleset(scenarios)
    # Chance draws as in no sandbox of a server: each has a key of its own.
    director = Director(rules, 1, "explain")
    lines = [
        f"{op} at {iso(attempt.now)}: at each stage the first rule that matches decides",
        *_at_connect(rules),
    ]
    fired: list[Decision] = []
    for stage in _stages(rules, op):
        decision = director.decide(stage, attempt)
        # A delivery is asked about at the stage of a request, and none arrives.
        heading = _NOTIFY if op in _DELIVERY else _ASKED[stage]
        lines.append(f"{heading}:")
        # All tests are kept: each rule gets its line.
        (kept,) = kept_decisions([decision], attempt.request, most_failed=len(rules.rules))
        lines += _asked(rules, op, kept, asked_with, is_verbose=is_verbose)
        if decision.rule is not None:
            fired.append(decision)
        if _ends(decision.outcome):
            return [
                *lines,
                "  nothing more is asked: this ends the call before anything has happened",
            ]
    return [*lines, *_as_answered(op, fired), *_as_notified(op, fired, rules)]


def _start_of(scenarios: Sequence[Scenario], now: Micros) -> Micros:
    """When the clock of a sandbox under some scenarios starts: now, unless one of them says."""
    for scenario in scenarios:
        if scenario.clock is not None and scenario.clock.start is not None:
            return scenario.clock.start
    return now


def told(
    rules: Ruleset,
    op: str,
    decisions: Sequence[StageDecision],
    attempt_of: Callable[[StageDecision], Attempt],
) -> list[str]:
    """Which rules a step has met that has happened, and why the others did not fire, by its
    decisions: stage by stage, once for each provider that was asked. ``attempt_of`` says what the
    rules were asked with."""
    lines: list[str] = []
    for stage in _stages(rules, op):
        deciding = [decision for decision in decisions if decision.stage is stage]
        for decision in deciding:
            lines.append(f"{_ASKED[stage]}:")
            lines += _asked(rules, op, decision, partial(attempt_of, decision), is_verbose=False)
        if not deciding:
            lines += [f"{_ASKED[stage]}:", "  no rule was asked: the request had ended before"]
    return lines


def _at_connect(rules: Ruleset) -> list[str]:
    """Rules of connections: no request is known then, so each is listed without being asked."""
    of_connections = [rule for rule in rules.rules if rule.stage is Stage.CONNECT]
    if not of_connections:
        return []
    return ["as a connection is made:", *_of_each(of_connections)]


def _stages(rules: Ruleset, op: str) -> Iterator[Stage]:
    """When rules are asked about an operation, a connection apart: what comes due does not arrive,
    and no provider is asked to read something."""
    if Stage.UPLOAD in rules.stages:
        yield Stage.UPLOAD
    if op not in _DUE:
        yield Stage.ARRIVAL
    if op in PROVIDER_OPERATIONS:
        yield Stage.PROVIDER


def _ends(outcome: Outcome) -> bool:
    """Whether the call ends before anything has happened: no later stage asks its rules then."""
    fault = outcome.transport
    if fault is None or fault.at is At.ANSWER:
        return False
    return not fault.is_reading and not fault.goes_on


def _as_answered(op: str, fired: Sequence[Decision]) -> list[str]:
    """What becomes of the answer: no rule is asked then, but one that has fired may spoil it."""
    if op in UNREQUESTED:
        return []
    for decision in fired:
        fault = decision.outcome.transport
        if fault is not None and fault.at is At.ANSWER:
            return ["as it is answered:", f"  {decision.rule} spoils the answer"]
    return ["as it is answered:", _AS_USUAL]


def _as_notified(op: str, fired: Sequence[Decision], rules: Ruleset) -> list[str]:
    """What becomes of the webhooks of an operation: the first rule that has fired and says how they
    go, else the rules that each of them will meet. Which of these fires is not known yet: it
    depends on what the webhook will say."""
    # A delivery is a webhook itself, and causes none.
    if op not in NOTIFYING or op in _DELIVERY:
        return []
    for decision in fired:
        if decision.outcome.webhook is not None:
            return [f"{_NOTIFY}:", f"  {decision.rule} says how webhooks go"]
    # A webhook has no body that is uploaded, and asks no provider: rules of other stages never
    # hear of it.
    of_deliveries = [
        rule for rule in rules.rules if rule.operations & _DELIVERY and rule.stage is Stage.ARRIVAL
    ]
    return [f"{_NOTIFY}:", _AS_USUAL, *_of_each(of_deliveries)]


def _of_each(rules: Sequence[Rule]) -> list[str]:
    """A line on each of some rules of which it is not known yet whether they will fire."""
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
    firings = {firing.rule: firing for firing in decision.fired}
    is_decided = False
    silent = 0
    # All rules of the stage, not only those that were asked: its author looks for one by its name.
    for rule in rules.rules:
        if rule.stage is not decision.stage:
            continue
        firing = firings.get(rule.id)
        if firing is not None:
            outcome = outcome_of(firing, rule, attempt)
            if firing is deciding:
                is_decided = True
                then = _answer_code(op, outcome)
            else:
                then = ", later rules decide"
            yield f"  fires: {_place(rule)}: {outcome.words}{then}"
        elif rule.builtin and not is_verbose:
            # There are dozens of test values in every sandbox, and few calls meet one.
            silent += 1
        elif op not in rule.operations:
            yield f"  not:   {_place(rule)}: op: wanted {_named(rule.operations)}, got {op}"
        elif rule.id in failed:
            yield f"  not:   {_place(rule)}: {failed[rule.id]}"
        elif is_decided:
            yield f"  after: {_place(rule)}: never asked, an earlier rule fired"
    if silent:
        yield f"  not:   {silent} built-in test values"
    if not is_decided:
        yield "  no rule fires"


def _named(operations: frozenset[str]) -> str:
    """The operations of a rule in one line: of many the first."""
    names = sorted(operations)
    words = " or ".join(names[:_MOST_NAMED])
    if len(names) > _MOST_NAMED:
        words += " ..."
    return words


def _answer_code(op: str, outcome: Outcome) -> str:
    """The code of the answer, where the operation has one of its own for every decline: who expects
    the code of the rule's words would look for a fault in the rule."""
    code = REFUSALS.get(op)
    if code is None or not isinstance(outcome.provider, Decline):
        return ""
    if outcome.provider.own_code is not None:
        # The file asks for a code, which then counts everywhere.
        return ""
    return f", answered with code {code:d}"


def _place(rule: Rule) -> str:
    """A rule and where it stands, so that its author finds it."""
    return f"{rule.id} ({rule.file}:{rule.line})"


def _operation(request: Mapping[str, object], op_of: OpOf | None) -> str:
    """The operation of a request. Raises ``ValueError`` in words."""
    for key in request:
        if key not in _REQUEST_KEYS:
            raise ValueError(
                f"unknown key '{key[:60]}'{nearest(key, _REQUEST_KEYS)}, allowed: "
                f"{', '.join(_REQUEST_KEYS)}"
            )
    op = request.get("op")
    if op is None:
        op = _called(request, op_of)
    if op not in OPERATIONS:
        raise ValueError(f"got op '{op}', which is not an operation{nearest(str(op), OPERATIONS)}")
    return str(op)


def _called(request: Mapping[str, object], op_of: OpOf | None) -> str:
    """The operation that method and path of a request mean."""
    method, path = request.get("method"), request.get("path")
    if not isinstance(method, str) or not isinstance(path, str):
        raise ValueError("wanted method and path, or op")
    op: str | None = None
    if op_of is not None:
        op = op_of(method.upper(), path.partition("?")[0])
    if op is None:
        raise ValueError(
            f"got {method} {path}, which is not an operation of the service; give op to name one"
        )
    return op


def _attempt(op: str, request: Mapping[str, object], now: Micros) -> Attempt:
    """What rules see of a request that is the first of a fresh sandbox."""
    path = _text(request.get("path")) or ""
    # As on the server: what an operation without a body is asked for stands in its query.
    body = _camel(request.get("body") or _query(path))
    if not isinstance(body, Mapping):
        raise ValueError("body: wanted an object")
    headers = request.get("headers") or {}
    if not isinstance(headers, Mapping):
        raise ValueError("headers: wanted an object")
    attempt, call = _count(request, "attempt"), _count(request, "call")
    provider = _text(request.get("provider")) or _text(body.get("providerId"))
    card = _card(body)
    return Attempt(
        op=op,
        now=now,
        source=_text(request.get("source")) or _source(op, path),
        provider=provider or DEFAULT_PROVIDER_ID,
        attempt=attempt,
        card=card,
        request=body,
        headers={str(name).lower(): str(value) for name, value in headers.items()},
        state=partial(_stored, _state(request.get("state") or {})),
        # Of a card payment rules count by the card, unless their key says otherwise.
        subject=None if card is None else card.fingerprint,
        bank_account=_bank_account(body),
        call=None if op in UNREQUESTED else call,
    )


def _bank_account(body: Mapping[str, object]) -> str | None:
    """The account number that a body has; None where it has none."""
    details = body.get("bankPaymentInformation")
    if not isinstance(details, Mapping):
        return None
    return _text(details.get("accountNumber"))


def _count(request: Mapping[str, object], key: str) -> int:
    """Which attempt or call it is: the first, unless the request says otherwise."""
    count = request.get(key, 1)
    if not isinstance(count, int):
        raise ValueError(f"{key}: wanted a whole number")
    return count


def _query(path: str) -> dict[str, str]:
    """The parameters that stand in a path; one without a value counts as absent."""
    pairs = query_pairs(path.partition("?")[2].encode())
    return {name: value for name, value in pairs if value}


def _state(state: object) -> dict[str, object]:
    """What stored objects hold, as the request says it."""
    if not isinstance(state, Mapping):
        raise ValueError('state: wanted an object such as {"charge.status": "Authorised"}')
    try:
        return stored_values(state)
    except ValueError as fault:
        raise ValueError(f"state: {fault}") from None


def stored_values(state: Mapping[str, object]) -> dict[str, object]:
    """What stored objects hold, value by path, as rules read it. Raises ``ValueError`` for a path
    that no rule could test, and for a value that is never there."""
    values: dict[str, object] = {}
    for path, value in state.items():
        bare = path.removeprefix("state.")
        if "." not in bare:
            raise ValueError(
                f"got {excerpt(bare)}, wanted the path of a stored value, such as charge.status"
            )
        kind = known_path(f"state.{bare}").kind
        stored_path = _stored_path(bare)
        try:
            if stored_path.endswith(".added"):
                # Rules count the age of an object from here.
                values[stored_path] = parse_instant(str(value))
            else:
                # A value that no test could want is one that is never there.
                values[stored_path] = kind.wanted(value)
        except ValueError as fault:
            raise ValueError(f"{bare}: {fault}") from None
    return values


def _stored(values: Mapping[str, object], path: str) -> object:
    """The value at a path; of an object of which something is given, that it is there, since rules
    may test ``state.charge`` itself."""
    stored_path = _stored_path(path)
    if stored_path in values:
        return values[stored_path]
    is_there = any(known.startswith(f"{stored_path}.") for known in values)
    return "something" if is_there else None


def _stored_path(path: str) -> str:
    """A path by one of the names that a field may have: rules and the reader of an explanation may
    use another."""
    names: list[str] = []
    for part in path.split("."):
        name = snake(part)
        names.append(ALIASES.get(name, name))
    return ".".join(names)


def _camel(value: object) -> object:
    """Field names with a small first letter, as rules write them: the service takes either, and so
    clients send either. Metadata is the caller's own."""
    if isinstance(value, list):
        return [_camel(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    members: dict[str, object] = {}
    for key, member in value.items():
        name = str(key)[:1].lower() + str(key)[1:]
        members[name] = member if name == "metadata" else _camel(member)
    return members


def _card(body: Mapping[str, object]) -> CardNumber | None:
    """The card of a body; None where it has none, or what could not be one: the server refuses that
    before any rule is asked about the card."""
    details = body.get("paymentInformation")
    if not isinstance(details, Mapping):
        return None
    written = details.get("cardNumber")
    if not isinstance(written, str):
        return None
    # Spaces and hyphens between digits are those of a payer who types it off the card.
    number = clean(written)
    if number is None or len(number) < _SHORTEST_CARD or not passes_luhn(number):
        return None
    return read_number(number, "explain")


def _source(op: str, path: str) -> str | None:
    """The source that the last part of a charge's path names, as on the server, where two paths
    have another word than their source."""
    if op != "charge.create" or not path:
        return None
    last = path.partition("?")[0].rstrip("/").rpartition("/")[2]
    if last in SOURCES:
        return last
    return _SOURCE_BY_PATH.get(last)


def _text(value: object) -> str | None:
    """A value that is a text; None for any other."""
    if isinstance(value, str):
        return value
    return None
