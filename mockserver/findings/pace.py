"""How fast and how long a client asks: required pauses, waits without end, polling.

These are about real time, which production is short of and tests are not. A pause that nobody keeps
makes an overload worse; a client that waits without end takes its shop down with the service. Where
the clock of a sandbox is set by hand tests would have to wait, so nothing is held against them that
the sandbox's own time allows.
"""

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
    """A call whose answer has not ended, since the instant ``real``."""

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
        # One of the two clocks is enough: tests set that of the sandbox.
        has_passed = call.real >= self.ends or call.at >= self.ends_at
        if has_passed or _agent_of(call) != self.agent:
            return False
        is_next_call = call.entry == self.entry + 1
        return is_next_call or call.connection == self.connection


def _agent_of(call: Call) -> tuple[str, str]:
    """The machine and the program that a call comes from, as far as it tells."""
    program = call.headers.get("user-agent", "")
    if call.connection is None:
        return "", program
    machine, _ = call.connection
    return machine, program


@mutable
class Pace:
    """The pace of one sandbox's client, in real time. ``_pauses`` are those that were asked for, by
    what was sent; ``_hanging`` the calls whose answers have not ended, by entry; ``_reads`` the
    instants and entries of the newest reads of an object."""

    _ledger: Ledger
    _pauses: Recent[bytes, _Pause] = memory(_MOST)
    _hanging: Recent[int, _Wait] = memory(_MOST)
    _reads: Recent[str, tuple[tuple[Micros, int], ...]] = memory(_MOST)

    def called(self, call: Call) -> None:
        """A call was decided: judge whether it comes before a pause has passed that the same call
        was asked to make. Another call is none of that pause: it may well come."""
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
        """Remember the pause that the answer to a call asks for."""
        asked_to_wait = _Pause(
            ends=call.real + pause,
            ends_at=call.at + pause,
            entry=call.entry,
            connection=call.connection,
            agent=_agent_of(call),
            evidence=evidence_of(call, f"answered with Retry-After: {pause // SECOND}"),
        )
        self._pauses.put(what, asked_to_wait)

    def read(self, op: str, entry: int, at: Micros, real: Micros, subject: str) -> None:
        """An object was read: judge whether it was read more often in a second than a client needs
        that waits for a change."""
        limit = self._ledger.policy.poll_limit
        reads_before = self._reads.get(subject, ())
        # One more than the limit is enough to know: the oldest of them says since when.
        reads = (*reads_before, (real, entry))[-limit - 1 :]
        self._reads.put(subject, reads)
        first_real, first_entry = reads[0]
        if len(reads) > limit and real - first_real < SECOND:
            what, kind = f"{op} {subject}", op.partition(".")[0]
            lines = Evidence(what, entry=first_entry), Evidence(what, entry=entry)
            self._ledger.add("polled-hard", at, lines, **{kind: subject})
            # The next finding needs as many reads again: one burst is one mistake.
            self._reads[subject] = ()

    def ended(self, entry: int, at: Micros, real: Micros) -> None:
        """The answer of an open call has ended, or the client has hung up."""
        wait = self._hanging.pop(entry, None)
        if wait is not None:
            self._judge_wait(wait, at, real)

    def look(self, at: Micros, real: Micros) -> None:
        """The story has ended: judge those that still wait. Others may go on to wait into the next
        one."""
        for entry, wait in list(self._hanging.items()):
            if self._judge_wait(wait, at, real):
                del self._hanging[entry]

    def _judge_wait(self, wait: _Wait, at: Micros, real: Micros) -> bool:
        """Whether a call has waited longer than a client should, which is then raised."""
        waited = real - wait.real
        if waited <= self._ledger.policy.timeout:
            return False
        evidence = Evidence(f"{wait.asked}: waited for {waited // SECOND} s", wait.entry)
        self._ledger.add("no-timeout", at, (evidence,), operation=wait.op)
        return True
