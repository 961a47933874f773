"""How fast and how long a client asks: required pauses, waits without end, polling."""

from mockserver.domain.bounded_cache import Recent, memory
from mockserver.domain.clock import SECOND, Micros
from mockserver.domain.facts import Call
from mockserver.domain.ids import digest
from mockserver.domain.record import mutable, record
from mockserver.findings.intents import asked_of, evidence_of
from mockserver.findings.ledger import Evidence, Ledger

_MOST = 256


@record
class _Wait:
    entry: int
    real: Micros
    op: str
    asked: str


@record
class _Pause:
    """A pause that an answer has asked for: when it ends, in real time and in that of the sandbox,
    and who was asked to wait, as far as requests tell: by the connection, which may be another one
    each time, and by ``agent``, the machine and the program that it came from."""

    ends: Micros
    ends_at: Micros
    entry: int
    connection: tuple[str, int] | None
    agent: tuple[str, str]
    evidence: Evidence

    def binds(self, call: Call) -> bool:
        """Whether a call comes too early, and from who was asked to wait. On another connection the
        same program may be another process, such as a second worker: it is the same when nobody
        has asked anything in between."""
        if call.real >= self.ends or call.at >= self.ends_at or _agent_of(call) != self.agent:
            return False
        return call.connection == self.connection or call.entry == self.entry + 1


def _agent_of(call: Call) -> tuple[str, str]:
    machine = call.connection[0] if call.connection is not None else ""
    return machine, call.headers.get("user-agent", "")


@mutable
class Pace:
    """The pace of one sandbox's client, in real time."""

    _ledger: Ledger
    _pauses: Recent[bytes, _Pause] = memory(_MOST)
    _hanging: Recent[int, _Wait] = memory(_MOST)
    _reads: Recent[str, tuple[tuple[Micros, int], ...]] = memory(_MOST)

    def called(self, call: Call) -> None:
        if call.is_open:
            self._hanging.put(call.entry, _Wait(call.entry, call.real, call.op, asked_of(call)))
        if not self._pauses and call.retry_after is None:
            return
        # Digested, as a body may be long and hold a card number.
        what = digest("call", call.op, call.where, call.text)
        pause = self._pauses.get(what)
        if pause is not None and pause.binds(call):
            short = (pause.ends - call.real) / SECOND
            evidence = evidence_of(call, f"sent {short:.1f} s before Retry-After had passed")
            self._ledger.add(
                "retry-after-ignored", call.at, (pause.evidence, evidence), operation=call.op
            )
        self._pauses.pop(what, None)
        if call.retry_after is not None:
            self._ask_to_wait(what, call, call.retry_after)

    def _ask_to_wait(self, what: bytes, call: Call, pause: Micros) -> None:
        self._pauses.put(
            what,
            _Pause(
                call.real + pause,
                call.at + pause,
                call.entry,
                call.connection,
                _agent_of(call),
                evidence_of(call, f"answered with Retry-After: {pause // SECOND}"),
            ),
        )

    def read(self, op: str, entry: int, at: Micros, real: Micros, subject: str) -> None:
        reads = (*self._reads.get(subject, ()), (real, entry))[
            -self._ledger.policy.poll_limit - 1 :
        ]
        self._reads.put(subject, reads)
        if len(reads) > self._ledger.policy.poll_limit and real - reads[0][0] < SECOND:
            lines = (
                Evidence(f"{op} {subject}", entry=reads[0][1]),
                Evidence(f"{op} {subject}", entry=entry),
            )
            self._ledger.add("polled-hard", at, lines, **{op.partition(".")[0]: subject})
            self._reads[subject] = ()

    def ended(self, entry: int, at: Micros, real: Micros) -> None:
        """The answer of an open call has ended, or the client has hung up."""
        wait = self._hanging.pop(entry, None)
        if wait is not None:
            self._judge_wait(wait, at, real)

    def look(self, at: Micros, real: Micros) -> None:
        for entry, wait in list(self._hanging.items()):
            if self._judge_wait(wait, at, real):
                del self._hanging[entry]

    def _judge_wait(self, wait: _Wait, at: Micros, real: Micros) -> bool:
        waited = real - wait.real
        if waited <= self._ledger.policy.timeout:
            return False
        evidence = Evidence(f"{wait.asked}: waited for {waited // SECOND} s", wait.entry)
        self._ledger.add("no-timeout", at, (evidence,), operation=wait.op)
        return True
