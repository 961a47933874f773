"""The facts that findings are judged by, from a step and its answer.

Source: docs/findings.md (in doubt).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mockserver.assumptions.table import CURRENCY_DEFAULT
from mockserver.domain.batch import Batch
from mockserver.domain.charge import Charge
from mockserver.domain.clock import SECOND, ClockMode, Micros, iso
from mockserver.domain.errors import nearest_of
from mockserver.domain.masking import mask_start, printable
from mockserver.domain.provider import Capability
from mockserver.domain.reading import whole_of
from mockserver.domain.states import ChargeState
from mockserver.engine import providers
from mockserver.engine.amount_check import PROVIDERS_OWN
from mockserver.engine.past import lag_of
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.state_facts import KINDS
from mockserver.engine.step import Step
from mockserver.findings.amounts import ALSO_TAKEN
from mockserver.findings.facts import Call, Doubt
from mockserver.findings.habits import is_clean
from mockserver.findings.ledger import Finding
from mockserver.findings.watch import READS, Watch
from mockserver.scenario.provider_outcome import PartialApprove
from mockserver.scenario.transport import FaultKind, Transport
from mockserver.web.request import Reply, Request
from mockserver.wire.base import Body, fields_of
from mockserver.wire.jsonio import MalformedJson, dumps, loads

_REFUSED = 400
_MANUAL, _SUCCESS = ClockMode.MANUAL, ChargeState.SUCCESS
_LONGEST_ID = 60
_IN_ANOTHERS = frozenset({"charge.capture", "charge.refund", "transfer.create"})
"""Operations whose amounts are in the currency of a charge or of a provider."""

_NAMING = ("chargeId", "paymentMethodId", "providerId")

_MOST_UNKNOWN = 20
_MOST_LOOKED_AT = 100
PAYER_OPERATIONS = frozenset({"charge.challenge", "payment_link.pay"})
"""Operations that payers ask for on pages: the client is not responsible for them."""

_ANOTHER = (FaultKind.STATUS, FaultKind.EDIT)
"""Faults with which the client reads another answer than the server's."""


def called(
    request: Request,
    sandbox: Sandbox,
    watch: Watch,
    reply: Reply,
    step: Step,
    answer: bytes,
    model: type[Body] | None,
    real_clock: Callable[[], Micros],
) -> None:
    """Report a step that a client asked for, the newest of the journal, to the ``watch`` of its sandbox; ``model`` has
    the fields that are read, where others were given."""
    status, fault = reply.status, reply.fault
    if step.op in PAYER_OPERATIONS:
        for event in step.events:
            watch.moved(event, sandbox.journal.last)
        return
    charge: Any = step.about.get("charge")
    headers = step.headers
    entry = sandbox.journal.last
    where = f"{request.resource}?{request.query.decode('latin-1')}" if request.query else request.resource
    is_browser = "x-secretkey" in headers and ("origin" in headers or "sec-fetch-site" in headers)
    is_late = sandbox.past is not None and lag_of(step) > 0
    takes_time = step.watched < 0 or step.latency > 0 or step.urgent
    if (
        fault is None
        and status is not None
        and status < _REFUSED
        and not (takes_time or step.ignored or step.webhooks or step.is_repeat or is_late or is_browser)
        and is_clean(request.raw, where, headers)
    ):
        # A call that went well, as nearly all do: mostly there is nothing more to judge.
        if step.op == "charge.create":
            if charge.status is _SUCCESS and not step.ruled and watch.paid(entry, sandbox.now, charge):
                return
        elif not step.events:
            pace = _pace_of(sandbox, real_clock)
            subject = _subject_of(step) if step.op in READS else None
            if watch.read(step.op, entry, sandbox.now, pace, subject):
                return
    waited_as, batch = min(step.watched, 0), step.about.get("batch")
    is_open = takes_time or (fault is not None and fault.is_slow)
    if is_open:
        step.watched = entry
    code = _code_of(answer) if status is not None and status >= _REFUSED else None
    watch.called(
        Call(
            entry=entry,
            at=sandbox.now,
            real=real_clock(),
            pace=_pace_of(sandbox, real_clock),
            op=step.op,
            request=step.request,
            path=step.path,
            text=request.raw,
            where=where,
            headers=headers,
            answer=answer if reply.parts is None else reply.parts,
            code=code,
            doubt=fault.doubt if fault is not None else None,
            charge=charge if isinstance(charge, Charge) else None,
            subject=_subject_of(step),
            events=step.events,
            currency=_currency_of(sandbox, step) if code is not None or step.op in ALSO_TAKEN else None,
            unknown=_unknown(step, model) if step.ignored else None,
            is_open=is_open,
            waited_as=waited_as,
            is_repeat=step.is_repeat,
            is_late=is_late,
            is_ours=not is_late and (fault is None or fault.kind not in _ANOTHER),
            is_partial=any(isinstance(one.outcome.provider, PartialApprove) for one in step.decisions),
            is_browser=is_browser and not _is_own_page(headers),
            retry_after=_pause_of(sandbox, step, fault) if fault is not None or step.pause else None,
            rows=batch.meaning if step.op == "batch.create" and isinstance(batch, Batch) else None,
        )
    )


def arrived(sandbox: Sandbox, step: Step, real: Micros) -> None:
    """Report a request that a scenario holds back before it is acted on."""
    if sandbox.watch is not None and step.op not in PAYER_OPERATIONS:
        call = Call(entry=0, at=sandbox.now, real=real, op=step.op, request=step.request, path=step.path)
        step.watched = sandbox.watch.arrived(call)


class FindingLine:
    """A new finding as the log shows it: ``finding double-charge error charge=... journal=17,19``. ``real`` is the
    machine's time."""

    __slots__ = ("_finding", "_key", "_real")

    def __init__(self, finding: Finding, masked_key: str, real: Micros) -> None:
        self._finding = finding
        self._key = masked_key
        self._real = real

    @property
    def level(self) -> str:
        """That of its severity."""
        word = self._finding.kind.severity.word
        return "info" if word == "note" else word

    def lines(self, *, as_json: bool) -> list[str]:
        """Its line."""
        finding, time = self._finding, iso(self._real)[:23] + "Z"
        name, severity = finding.kind.name, finding.kind.severity.word
        entries = [line.entry for line in finding.evidence if line.entry is not None]
        if as_json:
            facts = {"finding": name, "severity": severity, "about": finding.about, "journal": entries}
            return [dumps({"time": time, **facts, "sandbox": self._key}).decode()]
        about = "".join(f" {kind}={subject}" for kind, subject in finding.about.items())
        line = f"{time} finding {name} {severity}{about} journal={','.join(map(str, entries))} {self._key}"
        return [printable(line)]


def ended(sandbox: Sandbox, step: Step, real: Micros, *, is_gone: bool) -> None:
    """The answer of a step that took its time has ended; ``is_gone``: the client had hung up before."""
    if step.watched and sandbox.watch is not None:
        sandbox.watch.ended(step.watched, Doubt.HUNG_UP if is_gone else None, sandbox.now, real)
        step.watched = 0


def _pace_of(sandbox: Sandbox, real_clock: Callable[[], Micros]) -> Micros | None:
    """The instant by which reads are counted: none while the clock stands, when a week of reads takes no time."""
    return None if sandbox.clock.mode is _MANUAL else real_clock()


def _unknown(step: Step, model: type[Body] | None) -> dict[str, str | None]:
    from mockserver.wire.sdk_fields import is_sent_by_sdk

    names = [name for name in step.ignored[:_MOST_LOOKED_AT] if not is_sent_by_sdk(step.op, name)]
    known = [field.alias for field in fields_of(model).values()] if model is not None else []
    return {mask_start(name, 60): nearest_of(name, known) for name in names[:_MOST_UNKNOWN]}


def _code_of(answer: bytes) -> int | None:
    try:
        problem = loads(answer)
    except MalformedJson:
        return None
    code = problem.get("code") if isinstance(problem, dict) else None
    return code if isinstance(code, int) else None


def _subject_of(step: Step) -> str | None:
    kind = step.op.partition(".")[0]
    if kind not in KINDS:
        return None
    name = KINDS[kind][0]
    known: str | None = getattr(step.about.get(kind), name, None)
    if known is not None:
        return known
    # What stands in the path names nothing that there is: a card number or a key, at worst.
    given = step.path.get(name)
    return mask_start(given, _LONGEST_ID) if given is not None else None


def _currency_of(sandbox: Sandbox, step: Step) -> str | None:
    """The currency of an amount that names none, as far as it is known."""
    for name in ("charge", "subscription"):
        known: str | None = getattr(step.about.get(name), "currency", None)
        if known is not None:
            return known
    default: str = sandbox.assumed[CURRENCY_DEFAULT]
    if default != PROVIDERS_OWN and step.op not in _IN_ANOTHERS:
        return default
    # The body of a batch takes long to read, and names nobody.
    named = {name: str(step.request.get(name)) for name in _NAMING} if step.op != "batch.create" else {}
    if (charge := sandbox.charges.get(named.get("chargeId", ""))) is not None:
        return charge.currency
    method = sandbox.payment_methods.get(named.get("paymentMethodId", ""))
    provider_id = method.provider.provider_id if method is not None else named.get("providerId")
    if (provider := providers.known(sandbox, provider_id)) is not None:
        return provider.currency
    every = {provider.currency for provider in providers.in_use(sandbox, Capability.CARD)}
    return every.pop() if len(every) == 1 else None


def _is_own_page(headers: Mapping[str, str]) -> bool:
    """Whether a page of this server sent the request."""
    origin = headers.get("origin")
    from_here = origin is not None and origin.rpartition("//")[2] == headers.get("host")
    return from_here or headers.get("sec-fetch-site") == "same-origin"


def _pause_of(sandbox: Sandbox, step: Step, fault: Transport | None) -> Micros | None:
    """The pause that an answer asks for, as far as a client of a real clock can make it."""
    if sandbox.clock.mode is not ClockMode.REAL:
        return None
    seconds = whole_of(fault.lowered.get("retry-after", "")) if fault is not None else None
    return seconds * SECOND if seconds is not None else step.pause or None
