"""One step of a sandbox: a request, or one piece of due work, taken at one instant of its clock;
the stored objects that it finds by the ids that callers give; and what rules may see of them:
``state.charge.status`` and the like.

A step is an argument of every use case, and gone when it is over: the journal keeps plain values of
it, which refer to nothing.

Use cases change objects by ``add`` and ``change`` alone. So whatever changes is known to the step:
the answer finds the objects that it is about, webhooks and observers hear of each event, and rules
see what is stored. And since use cases check all before they change anything, a step that is
refused leaves nothing behind that would have to be undone.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, fields
from enum import Enum, StrEnum
from functools import partial
from operator import attrgetter
from typing import Any, Protocol, Self, TypeVar

from mockserver.domain.codes import Code
from mockserver.domain.errors import Invalid, NotFound
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.reading import SpelledWord, camel, snake
from mockserver.domain.record import entity, record, replace
from mockserver.domain.states import (
    ChargeState,
    Event,
    Presence,
    Subject,
    TransitionTable,
)
from mockserver.engine.indexed_table import Table, TableRow
from mockserver.engine.result import Asked, Result
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.tables import TABLE_NAMES
from mockserver.scenario.attempt import Attempt, Stage, UnderWay
from mockserver.scenario.director import Decision
from mockserver.scenario.stored_fields import ALIASES, SECRET, STORED

R = TypeVar("R", bound=TableRow)
T = TypeVar("T")
S = TypeVar("S", bound=StrEnum)
E = TypeVar("E", bound=StrEnum)
S_co = TypeVar("S_co", bound=StrEnum, covariant=True)
E_contra = TypeVar("E_contra", bound=StrEnum, contravariant=True)


@record
class ObjectKind:
    """What is known of the objects of a kind: their name in events, that of their id in paths,
    where they are kept, their id and how they stand."""

    subject: Subject
    name: str
    id_name: str
    table: Callable[[Sandbox], Table[Any]]
    id_of: Callable[[Any], str]
    state_of: Callable[[Any], str | None]


def _kind(name: str, rows: type) -> ObjectKind:
    """A kind by its name. How its objects stand is in ``status`` where the service shows that, in
    ``state`` where it is ours; a payment link has neither."""
    state = next((one.name for one in fields(rows) if one.name in ("status", "state")), None)
    state_of = attrgetter(state) if state is not None else lambda row: None
    # The paths of tokens name them ``{token}``.
    id_name = "token" if name == "token" else f"{name}_id"
    return ObjectKind(
        Subject(name),
        name,
        id_name,
        attrgetter(TABLE_NAMES[rows]),
        attrgetter(f"{name}_id"),
        state_of,
    )


KINDS: Mapping[str, ObjectKind] = {name: _kind(name, rows) for name, rows in STORED.items()}
"""Kinds of stored objects, with which the paths of rules may begin."""

_KIND_OF = {rows: KINDS[name] for name, rows in STORED.items()}


def state_of(sandbox: Sandbox, asked: Asked, about: Mapping[str, object], path: str) -> object:
    """The stored value at a dotted path such as ``charge.status``, for a rule's test; None where
    there is none. The object is the one that the step is ``about``, else the one that the request
    names by its id: rules are asked before the use case has found it."""
    kind, _, rest = path.partition(".")
    return value_at(sandbox, _object(sandbox, asked, about, snake(kind)), rest)


def under_way(sandbox: Sandbox, asked: Asked) -> list[UnderWay]:
    """The other calls of a sandbox that are not answered yet, as rules see them: each with its
    operation, and what reads its stored values when a rule gets that far."""
    others = (step for step in sandbox.holding.in_flight.values() if step.asked is not asked)
    return [
        UnderWay(step.asked.op, partial(state_of, sandbox, step.asked, step.result.about))
        for step in others
    ]


def value_at(sandbox: Sandbox, found: object, path: str) -> object:
    """The value at a dotted path of an object, or None where there is none. States are words of the
    API as the sandbox speaks it; the authorised one has two spellings, and tests take both."""
    for part in path.split(".") if path else ():
        found = _member(found, part)
    if found is ChargeState.AUTHORISED:
        return SpelledWord(
            sandbox.assumed["charge.status.authorised"], ChargeState.AUTHORISED.value
        )
    return found.value if isinstance(found, Enum) else found


def _object(sandbox: Sandbox, asked: Asked, about: Mapping[str, object], kind: str) -> object:
    """The object of a kind that a step is about, else the one that the request names by its id."""
    if about.get(kind) is not None or kind not in KINDS:
        return about.get(kind)
    known = KINDS[kind]
    given = asked.path.get(known.id_name) or asked.request.get(camel(known.id_name))
    return known.table(sandbox).get(given) if isinstance(given, str) else None


def _member(found: object, part: str) -> object:
    """A field of an object by the name that the API or the code gives it. Rules and their
    explanations see no card number and no ccv."""
    if isinstance(found, Mapping):
        return found.get(part)
    name = snake(part)
    if name in SECRET:
        return None
    value = getattr(found, name, None)
    # The API calls some fields otherwise than the code.
    if value is None and name in ALIASES:
        value = found
        for inner in ALIASES[name].split("."):
            value = getattr(value, inner, None)
    return value


@entity
class Step:
    """What is taken in one sandbox at one instant of its clock: what came in, and what came of it
    so far."""

    sandbox: Sandbox
    asked: Asked
    result: Result = field(default_factory=Result)

    def learn(self, request: Mapping[str, object]) -> None:
        """What due work stands for is known once its object has been found: from now on rules and
        the journal see it as fields of a request."""
        self.asked = replace(self.asked, request=request)

    def attempt(self, op: str, **more: Any) -> Attempt:
        """What rules may test of an operation of this step, with ``more`` of its facts."""
        asked, sandbox = self.asked, self.sandbox
        attempt = Attempt(op, sandbox.now, **more)
        attempt.request, attempt.headers = asked.request, asked.headers
        attempt.state = partial(state_of, sandbox, asked, self.result.about)
        attempt.call, attempt.connection = asked.call, asked.connection
        if sandbox.config.rules.overlaps:
            attempt.under_way = partial(under_way, sandbox, asked)
        return attempt

    def assume(self, key: str) -> Any:
        """The value of an assumption, remembered as one that shaped this step."""
        self.result.assumed.append(key)
        return self.sandbox.assumed.values[key]

    def seen(self, read: Callable[[], T]) -> T:
        """What is read, as far behind the present as the rules say that decided this step. Raises
        what ``read`` raises."""
        past = self.sandbox.past
        if past is None or not self.result.lag:
            return read()
        return past.seen(self.result, read)

    def add(self, row: R, what: str = "created") -> R:
        """Store a new object, which the step is about from now on."""
        kind = _KIND_OF[type(row)]
        self.result.about[kind.name] = kind.table(self.sandbox).add(row)
        event = Event(
            kind.subject, kind.id_of(row), what, None, kind.state_of(row), self.sandbox.now
        )
        self.result.events += (event,)
        return row

    def change(self, before: R, after: R, what: str | None = None) -> R:
        """Put the next value of a stored object in the place of the one before: the one way in
        which objects change. ``what`` is the event that tells of it, None for a change that nobody
        hears of."""
        kind = _KIND_OF[type(before)]
        kind.table(self.sandbox).replace(before, after)
        about = self.result.about
        # Else the answer would show the object as it was.
        about.update({name: after for name, known in about.items() if known is before})
        if what is not None:
            self.emit(
                kind.subject, kind.id_of(after), what, kind.state_of(before), kind.state_of(after)
            )
        return after

    def found(self, rows: type[R], row_id: str, refusal: Code) -> R:
        """The object of an id in a path, which the step is about from now on. Raises ``NotFound``
        with the code."""
        kind = _KIND_OF[rows]
        row: R | None = kind.table(self.sandbox).get(row_id)
        if row is None:
            raise NotFound(
                refusal, {f"{kind.name}_id".title().replace("_", ""): unknown(kind.name, row_id)}
            )
        self.result.about[kind.name] = row
        return row

    def emit(
        self, subject: Subject, subject_id: str, what: str, before: str | None, after: str | None
    ) -> None:
        """Record that something happened now."""
        self.result.events += (Event(subject, subject_id, what, before, after, self.sandbox.now),)

    def ask(self, stage: Stage, attempt: Attempt) -> Decision:
        """Let the scenario decide, and remember the decision."""
        decision, result = self.sandbox.director.decide(stage, attempt), self.result
        result.decisions += (*decision.passing, decision)
        if decision.rule is not None:
            result.ruled = True
            # Rules that fired and let the next one be asked have fired too.
            for counted in (*decision.passing, decision):
                self.sandbox.config.counts.decided(counted)
        return decision

    def takes(self, field: str, words: str, *, by_assumption: bool) -> bool:
        """Whether a field may have a form that the document does not show, as an assumption says.

        What is taken is a finding, as the service may refuse it; ``--strict`` takes none.
        """
        if not by_assumption or self.sandbox.config.strict:
            return False
        self.result.undocumented[field] = words
        return True

    def warn(self, text: str) -> None:
        """Warn, once in the life of the sandbox: what is true of every call would bury the rest."""
        if text not in self.sandbox.warned:
            self.sandbox.warned.add(text)
            self.result.warnings += (text,)


def named(step: Step) -> tuple[tuple[str, str], ...]:
    """The stored objects that a step is about, each by its kind and id."""
    return tuple([(kind, KINDS[kind].id_of(row)) for kind, row in step.result.about.items()])


def objects_of(sandbox: Sandbox, about: Iterable[tuple[str, str]]) -> dict[str, object]:
    """Those of some objects that there are, by kind, as they now are."""
    rows = {kind: KINDS[kind].table(sandbox).get(row_id) for kind, row_id in about}
    return {kind: row for kind, row in rows.items() if row is not None}


def unnoted(sandbox: Sandbox, path: Mapping[str, str] | None = None) -> Step:
    """A step that no journal keeps: somebody looks at a page, and no call of the API is made."""
    return Step(sandbox, Asked("page.view", path=path or {}))


def finder(rows: type[R], refusal: Code) -> Callable[[Step, str], R]:
    """The use case that reads an object by the id in a path. It raises ``NotFound`` with the
    code."""

    def find(step: Step, row_id: str) -> R:
        return step.found(rows, row_id, refusal)

    return find


def unknown(kind: str, row_id: str) -> str:
    """What to say of an id that names no object of a kind."""
    name = "vault item" if kind == "vault" else kind.replace("_", " ")
    return f"no {name} '{row_id[:64]}' in this sandbox"


class RowWithStatus(TableRow, Protocol[S_co, E_contra]):
    """A stored object whose status moves by a state table."""

    @property
    def status(self) -> S_co:
        """How it stands."""

    def after(self, event: E_contra) -> Self:
        """The object after an event. Raises ``WrongState`` where its table has no way."""


def turn_to(
    step: Step, row: RowWithStatus[S, E] | None, table: TransitionTable[S, E], status: S
) -> bool:
    """Bring an object to a status where its state table has a way, and say whether it has that
    status now. One that has moved on stays as it is: what was to happen to it was planned before,
    by a scenario or by time, and nobody is there to be refused."""
    if row is None:
        return False
    event = table.event_to(status)
    if event is None or event not in table.moves[row.status]:
        return row.status is status
    step.change(row, row.after(event), event)
    return True


def method_in_use(step: Step, method_id: str, field: str) -> PaymentMethod:
    """The payment method that a body names. Raises ``Invalid`` 56 (unknown), 73 (removed)."""
    method = step.sandbox.payment_methods.get(method_id)
    if method is None:
        raise Invalid(Code.INVALID_PAYMENT_METHOD_ID, {field: unknown("payment_method", method_id)})
    if method.state is Presence.REMOVED:
        raise Invalid(
            Code.INVALID_PAYMENT_METHOD_ID_REMOVED, {field: "this payment method was removed"}
        )
    return method
