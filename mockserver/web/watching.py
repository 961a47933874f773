"""What those who watch a sandbox are told of a call of the client, from its step and its answer.

Findings and books judge what a client does: whether it pays twice, whether it believes an answer
that it never got. For that they need the call, what it has done, and what the client has seen of
that. Only the web knows the last: so it makes a ``Call`` of each request and tells it to the
observers of the sandbox, which see neither requests nor replies.

An answer that takes its time is told of in two parts. When it begins, ``called`` says that it is
open; when it has ended, ``ended`` says whether the client got it. A request that is held before it
acts is told of by ``arrived``, as its client may give up and ask again before anything has
happened. ``Result.watched`` has the number that joins these parts: of the entry in the journal, or
negative for an arrival, which has no entry yet.

What a payer does on a page, or what was sent again from the journal, is not the client's doing.

Source: docs/findings.md (in doubt).
"""

from collections.abc import Callable, Mapping

from mockserver.domain.batch import Batch
from mockserver.domain.charge import Charge
from mockserver.domain.clock import SECOND, ClockMode, Micros
from mockserver.domain.errors import nearest_of
from mockserver.domain.facts import ALSO_TAKEN, MOVES, Call, UncertainResult
from mockserver.domain.masking import mask_start
from mockserver.domain.provider import Capability
from mockserver.domain.reading import whole_of
from mockserver.domain.record import replace
from mockserver.domain.sources import Instrument
from mockserver.engine import providers
from mockserver.engine.intake import PROVIDERS_OWN
from mockserver.engine.observer import Remark
from mockserver.engine.step import KINDS, Step
from mockserver.scenario.director import Decision
from mockserver.scenario.provider_outcome import PartialApprove
from mockserver.scenario.transport import FaultKind, Transport
from mockserver.web.access import LogLine, log_time
from mockserver.web.request import Reply, Request
from mockserver.wire.fields import Body, names_of, stray_fields

PAYER_OPERATIONS = frozenset({"charge.challenge", "payment_link.pay"})
"""Operations that payers ask for on pages: the client is not responsible for them."""

SENT_BY = "x-mockserver-sent-by"
"""A request that was sent again from the journal carries this header: the client did not send it
and is not responsible for it."""


def called(
    request: Request, step: Step, reply: Reply, answer: bytes, real_clock: Callable[[], Micros]
) -> None:
    """Tell of a step that a client asked for, the newest of the journal."""
    observers, asked = step.sandbox.observers, step.asked
    # A request that was refused for its idempotency key did nothing, and its answer says nothing of
    # the first one.
    if not observers or reply.is_repeat:
        return
    if asked.op in PAYER_OPERATIONS or SENT_BY in asked.headers:
        _asked_by_others(step)
        return
    call = _call_of(request, step, answer, real_clock())
    if not _is_plainly_answered(step, reply.fault):
        call = _answered(call, step, reply.fault)
    if call.is_open:
        # What ends the answer reports it by ``ended``.
        step.result.watched = call.entry
    for observer in observers:
        observer.called(call)


def _asked_by_others(step: Step) -> None:
    """Tell of what a payer has done, or of a request that was sent again: what somebody else has
    begun is not the client's to end."""
    for event in step.result.events:
        if event.before is not None or step.asked.op in PAYER_OPERATIONS:
            for observer in step.sandbox.observers:
                observer.moved(event, step.sandbox.journal.last)


def _call_of(request: Request, step: Step, answer: bytes, real: Micros) -> Call:
    """A call with what it has done; of its answer as of one that goes out plainly."""
    sandbox, asked, result = step.sandbox, step.asked, step.result
    charge = result.about.get("charge")
    call = Call(
        sandbox.journal.last,
        sandbox.now,
        real,
        asked.op,
        asked.request,
        asked.path,
        text=request.raw,
        where=_where(request),
        headers=asked.headers,
        answer=answer,
        charge=charge if isinstance(charge, Charge) else None,
        subject=_subject_of(step),
        events=result.events,
        # While the clock stands, a week of reads takes no time.
        pace=None if sandbox.clock.mode is ClockMode.MANUAL else real,
        is_repeat=result.is_repeat,
        is_browser=_is_of_a_foreign_page(asked.headers),
        connection=request.client,
    )
    if request.unknown or request.misread or result.undocumented:
        misread = {parameter.name: parameter.words for parameter in request.misread}
        call = replace(
            call, unknown=request.unknown, undocumented=result.undocumented, misread=misread
        )
    if result.ruled:
        call = replace(call, is_partial=any(map(_approves_a_part, result.decisions)))
    if call.charge is None and asked.op == "charge.create":
        call = replace(call, instrument=_instrument_of(step))
    if result.problem is not None:
        call = replace(call, code=result.problem["code"], currency=_currency_of(step))
    if asked.op in ALSO_TAKEN:
        call = replace(call, currency=_currency_of(step), rows=_meaning_of_rows(step))
    return call


def _where(request: Request) -> str:
    """Path and query, as they were sent, for those who look for a key or a card in them."""
    if not request.query:
        return request.resource
    return f"{request.resource}?{request.query.decode('latin-1')}"


def _is_of_a_foreign_page(headers: Mapping[str, str]) -> bool:
    """Whether a page of another server has sent a request with the secret key: then the key stands
    in that page, for every visitor to read."""
    if "origin" not in headers and "sec-fetch-site" not in headers:
        return False
    return "x-secretkey" in headers and not is_own_page(headers)


def _approves_a_part(decision: Decision) -> bool:
    return isinstance(decision.outcome.provider, PartialApprove)


def _meaning_of_rows(step: Step) -> str | None:
    """What the rows of a batch mean that was made: two batches with the same rows may be one that
    was submitted twice."""
    batch = step.result.about.get("batch")
    if step.asked.op == "batch.create" and isinstance(batch, Batch):
        return batch.meaning
    return None


def _is_plainly_answered(step: Step, fault: Transport | None) -> bool:
    """Whether an answer is ours, goes out whole and at once, shows the present and asks for no
    pause."""
    result = step.result
    is_kept_waiting = result.watched or result.latency or result.urgent
    return fault is None and not is_kept_waiting and not result.pause and step.sandbox.past is None


def _answered(call: Call, step: Step, fault: Transport | None) -> Call:
    """A call with what becomes of its answer, which a ``fault`` may spoil. It may take its time on
    the way (``is_open``), and it may show an earlier state (``is_late``). It is ours when the
    client can learn the present state from it."""
    # A call of which ``arrived`` has told by this number.
    result, waited_as = step.result, min(step.result.watched, 0)
    takes_time = waited_as < 0 or result.latency > 0 or result.urgent
    is_late = step.sandbox.past is not None and result.lag != 0
    is_ours = not is_late
    doubt, may_retry, retry_after = None, False, None
    if fault is not None:
        doubt, may_retry = fault.doubt, fault.may_retry
        takes_time = takes_time or fault.is_slow
        is_ours = is_ours and fault.kind not in (FaultKind.STATUS, FaultKind.EDIT)
    if fault is not None or result.pause:
        retry_after = _pause_of(step, fault)
    return replace(
        call,
        doubt=doubt,
        is_open=takes_time,
        waited_as=waited_as,
        is_late=is_late,
        is_ours=is_ours,
        may_retry=may_retry,
        retry_after=retry_after,
    )


def arrived(step: Step, real: Micros) -> None:
    """Tell of a request that a scenario holds back before it is acted on. It has no entry of the
    journal yet, so it gets a negative number."""
    sandbox, asked = step.sandbox, step.asked
    if not sandbox.observers or asked.op in PAYER_OPERATIONS or SENT_BY in asked.headers:
        return
    sandbox.arrivals += 1
    step.result.watched = waited_as = -sandbox.arrivals
    call = Call(
        entry=0,
        at=sandbox.now,
        real=real,
        op=asked.op,
        request=asked.request,
        path=asked.path,
        instrument=_instrument_of(step) if asked.op == "charge.create" else None,
        waited_as=waited_as,
    )
    for observer in sandbox.observers:
        observer.arrived(call)


def remark_line(remark: Remark, masked_key: str, real: Micros) -> LogLine:
    """A remark as the log shows it: ``finding double-charge error charge=... journal=17,19``.
    ``real`` is the machine's time."""
    name, severity, time, entries = remark.name, remark.severity, log_time(real), remark.entries
    about = "".join(f" {kind}={subject}" for kind, subject in remark.about.items())
    text = (
        f"{time} finding {name} {severity}{about} journal={','.join(map(str, entries))} "
        f"{masked_key}"
    )
    facts = {
        "time": time,
        "finding": name,
        "severity": severity,
        "about": remark.about,
        "journal": entries,
    }
    return LogLine(
        "info" if severity == "note" else severity, text, {**facts, "sandbox": masked_key}
    )


def ended(step: Step, real: Micros, *, is_gone: bool) -> None:
    """Tell that the answer of a step has ended, if they were told that it is still on its way
    (``watched``): only now is it known whether the client got it. ``is_gone``: the client had hung
    up before."""
    sandbox, entry = step.sandbox, step.result.watched
    if entry:
        # Told once, whoever ends the answer.
        step.result.watched = 0
        doubt = UncertainResult.HUNG_UP if is_gone else None
        for observer in sandbox.observers:
            observer.ended(entry, doubt, sandbox.now, real)


def hints(step: Step, model: type[Body] | None, strays: Mapping[str, str]) -> dict[str, str]:
    """The first fields that the operation does not read, each with where it belongs, as ``strays``
    say, or with the nearest field of ``model``, or an empty text; without what client libraries
    send by themselves."""
    names = stray_fields(step.asked.op, step.result.ignored[:100])
    known = names_of(model) if model is not None else []
    hint_by_name: dict[str, str] = {}
    for name in names[:20]:
        hint = ""
        if name in strays:
            hint = f"it belongs {strays[name]}"
        else:
            near = nearest_of(name, known)
            if near:
                hint = f"nearest {near}"
        hint_by_name[mask_start(name, 60)] = hint
    return hint_by_name


def _instrument_of(step: Step) -> Instrument | None:
    """The card or account that a request would have charged, where it has made no charge: the next
    try with the same one may be a second payment."""
    sandbox, request = step.sandbox, step.asked.request
    token = sandbox.tokens.get(str(request.get("token")))
    customer = sandbox.customers.get(str(request.get("customerId")))
    default = customer.default_payment_method_id if customer is not None else None
    method = sandbox.payment_methods.get(str(request.get("paymentMethodId") or default))
    if token is not None:
        return token.instrument
    return None if method is None else method.charged()


def _subject_of(step: Step) -> str | None:
    """The id of the object that a call is about: of the one that it made or found, else the id in
    its path. None where the operation is about no object."""
    kind = step.asked.op.partition(".")[0]
    if kind not in KINDS:
        return None
    name = KINDS[kind].id_name
    known: str | None = getattr(step.result.about.get(kind), name, None)
    if known is not None:
        return known
    # The id in the path is of no object. Whatever else it is, a card number at worst, is masked.
    given = step.asked.path.get(name)
    return mask_start(given, 60) if given is not None else None


def _currency_of(step: Step) -> str | None:
    """The currency of an amount that names none, as far as it is known: that of the object it is
    about, the assumed one, or that of the provider which would take it. Whoever adds up refused
    amounts must not add dollars to euros."""
    sandbox = step.sandbox
    for name in ("charge", "subscription"):
        known: str | None = getattr(step.result.about.get(name), "currency", None)
        if known is not None:
            return known
    default: str = sandbox.assumed["currency.default"]
    in_anothers = step.asked.op in MOVES or step.asked.op == "transfer.create"
    if default != PROVIDERS_OWN and not in_anothers:
        return default
    named: dict[str, str] = {}
    # The body of a batch takes long to read, and names no object.
    if step.asked.op != "batch.create":
        for name in ("chargeId", "paymentMethodId", "providerId"):
            named[name] = str(step.asked.request.get(name))
    charge = sandbox.charges.get(named.get("chargeId", ""))
    if charge is not None:
        return charge.currency
    method = sandbox.payment_methods.get(named.get("paymentMethodId", ""))
    provider_id = named.get("providerId") if method is None else method.provider.provider_id
    provider = providers.known(sandbox, provider_id)
    if provider is not None:
        return provider.currency
    # Any of them may take it: that says something if all have the same.
    currencies = {provider.currency for provider in providers.in_use(sandbox, Capability.CARD)}
    return currencies.pop() if len(currencies) == 1 else None


def is_own_page(headers: Mapping[str, str]) -> bool:
    """Whether a page of this server sent the request."""
    origin = headers.get("origin")
    from_here = origin is not None and origin.rpartition("//")[2] == headers.get("host")
    return from_here or headers.get("sec-fetch-site") == "same-origin"


def _pause_of(step: Step, fault: Transport | None) -> Micros | None:
    """The pause that an answer asks for (``Retry-After``), None where it asks for none. Nor where
    the sandbox's clock is not the real one: a client waits in real time, and cannot be judged by
    another."""
    if step.sandbox.clock.mode is not ClockMode.REAL:
        return None
    if fault is not None:
        seconds = whole_of(fault.lowered.get("retry-after", ""))
        if seconds is not None:
            return seconds * SECOND
    return step.result.pause or None
