"""The stored objects of a sandbox: listed by kind and by the search language of ``q``, looked at
one by one, moved by hand; and the state tables.

A row here is the value of any table (a charge, a customer, …), so what it has is asked for by name:
one list and one search serve all kinds, and a kind that has no amount simply shows none.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import contains, eq
from typing import Annotated, NamedTuple, TypeVar

from pydantic import Field

from mockserver.domain.batch import Batch
from mockserver.domain.clock import iso
from mockserver.domain.errors import invalid, nearest
from mockserver.domain.masking import LONGEST_CARD_TEXT, mask_start, mask_text
from mockserver.domain.money import number_text
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.record import record
from mockserver.domain.states import TABLES
from mockserver.engine import due, later
from mockserver.engine.indexed_table import Check, Holds, Query, Table, TableRow
from mockserver.engine.journal import Change
from mockserver.engine.result import Asked
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import KINDS, Step, unnoted
from mockserver.scenario.parse import later_of
from mockserver.web import routes
from mockserver.web.control.call import AnyCall, ControlCall, ControlRoute, missing
from mockserver.web.control.journal import states_of
from mockserver.web.control.journal_search import Word, amount_in, words_of
from mockserver.web.control.raised import raised
from mockserver.web.operations.route import AnyRoute, OperationCall
from mockserver.web.request import Reply
from mockserver.web.runner import Runner
from mockserver.web.watching import SENT_BY
from mockserver.wire.control_body import ControlBody, OpenBody
from mockserver.wire.field_types import digits
from mockserver.wire.masked_bodies import mask_body
from mockserver.wire.profile import WireProfile, profile_of
from mockserver.wire.replies import reply_of


class ObjectQuery(ControlBody):
    """Which objects."""

    kind: str | None = Field(
        None,
        description="kind of object, such as charge; without it the numbers alone",
    )
    q: str = Field(
        "",
        description=(
            "words that must all hold, and state:SUCCESS ref:order-5 (ref:=order-5 exactly) "
            "id:3f2a amount:12.50 currency:AUD card:1111 code:15 customer:ID email:a@b.c "
            "is:finding"
        ),
    )
    skip: Annotated[int, digits(0)] = Field(0, description="leave out this many of the newest")
    limit: Annotated[int, digits(0)] = Field(1000, description="at most this many, 1000")


class ObjectAct(OpenBody):
    """What happens: one entry of a scenario's ``later`` without ``after``, such as ``{"refund":
    {"amount": 5}}``, ``{"settle": "FAILED"}`` or ``{"emit": {"event":
    "charge.dispute.created"}}``."""


MOST_RELATED = 50
"""Related objects of a kind, and rows of a batch, that are shown with an object."""

_NAMED_BY: Mapping[str, Sequence[str]] = {
    "customer": ("payment_method", "charge"),
    "payment_method": ("charge", "subscription"),
    "batch": ("charge",),
    "subscription": ("charge",),
    "payment_link": ("charge",),
    "charge": ("transfer",),
    "vault": ("payment_method",),
    "payto": ("payment_method",),
}
"""The kinds of objects that name one of a kind. The index that finds them has the name of that
kind."""

_SHOWN_LABEL = 120
_LONGEST_LABEL = _SHOWN_LABEL + LONGEST_CARD_TEXT
"""Characters of a label that are shown, and that are looked at for a card number."""

_LABELS = ("reference", "title", "name", "description", "url", "email")
"""Fields by which a person may know an object, the one that says most first."""

T = TypeVar("T")

_READ_ROUTES: Mapping[str, AnyRoute] = {
    row.op.removesuffix(".get"): row
    for row in routes.ROUTES
    if row.method == "GET" and row.op.endswith(".get")
}
"""The call of the payments API that reads one object of a kind."""


async def listing(call: ControlCall[ControlBody, ObjectQuery]) -> object:
    """Objects of a ``kind`` that fit the search ``q``, newest first; without a kind, how many there
    are of each, by which a page lets its reader choose one."""
    sandbox, query = call.sandbox(), call.query
    kind = query.kind
    if kind is None:
        return {"counts": _counts(sandbox)}
    table, reader = _table(sandbox, kind), ObjectReader(kind, profile_of(sandbox.assumed))
    tests = object_tests(sandbox, query.q, reader)
    wanted = Query(limit=min(query.limit, 1_000), skip=query.skip, where=tests)
    counts: dict[str, int] = {}

    def of_one_instant(look: Callable[[], T]) -> T:
        """The page shows what is found and how many there are: both as of one instant."""
        counts.update(_counts(sandbox))
        return look()

    page = await call.world.runner.search(table, wanted, of_one_instant)
    return {
        "counts": counts,
        "count": page.count,
        "objects": list(map(reader.line, page.rows)),
    }


def _counts(sandbox: Sandbox) -> dict[str, int]:
    """How many objects there are of each kind."""
    return {kind: len(stored_kind.table(sandbox)) for kind, stored_kind in KINDS.items()}


async def get(call: AnyCall) -> object:
    """One object as the payments API shows it, card numbers and ccv masked, and the state it is
    in; ``object`` is null for a kind that the API has no call for."""
    named = _object(call)
    sandbox, kind = named.sandbox, named.kind
    profile = profile_of(sandbox.assumed)
    route = _READ_ROUTES.get(kind)
    answer = None
    if route is not None:
        answer = _answer_of(sandbox, route, {KINDS[kind].id_name: named.object_id})
    changes = sandbox.journal.stories.of(named.object_id)
    return {
        **ObjectReader(kind, profile).line(named.row),
        "kind": kind,
        "object": answer,
        "story": [_change_reply(sandbox, change, profile) for change in changes],
        "related": await _related(call.world.runner, named),
        "rows": _batch_rows(named.row),
    }


class _NamedObject(NamedTuple):
    """The object that a path names by kind and id: its ``row`` in a table of the ``sandbox``."""

    sandbox: Sandbox
    kind: str
    object_id: str
    row: TableRow


@record
class _Naming:
    """Objects of a ``kind`` that name one of some ``ids``, and the ``index`` that finds them."""

    kind: str
    index: str
    ids: Sequence[str]


async def _related(runner: Runner, named: _NamedObject) -> list[dict[str, object]]:
    """The objects that name this one, by kind: how many there are, and the newest of them; and
    those that it came from and the API does not name."""
    sandbox, kind = named.sandbox, named.kind
    naming = [
        _Naming(other_kind, kind, [named.object_id]) for other_kind in _NAMED_BY.get(kind, ())
    ]
    if kind == "customer":
        # A subscription names a payment method, and that its customer.
        of_customer = Query[PaymentMethod](
            limit=MOST_RELATED, equal=[("customer", [named.object_id])]
        )
        methods = await runner.search(sandbox.payment_methods, of_customer)
        method_ids = [method.payment_method_id for method in methods.rows]
        naming.append(_Naming("subscription", "payment_method", method_ids))
    profile = profile_of(sandbox.assumed)
    related: list[dict[str, object]] = []

    def add(other_kind: str, count: int, rows: Sequence[TableRow]) -> None:
        # A kind of which there is none is left out.
        if rows:
            lines = list(map(ObjectReader(other_kind, profile).line, rows))
            related.append({"kind": other_kind, "count": count, "objects": lines})

    for others in naming:
        query = Query[TableRow](limit=MOST_RELATED, equal=[(others.index, others.ids)])
        page = await runner.search(KINDS[others.kind].table(sandbox), query)
        add(others.kind, page.count, page.rows)
    # A charge knows what made it, and no answer of the API says so.
    for origin_kind in ("batch", "payment_link"):
        origin_id = getattr(named.row, f"{origin_kind}_id", None)
        # Of a batch or a link that field is its own id.
        if origin_id and origin_kind != kind:
            origin = KINDS[origin_kind].table(sandbox).get(origin_id)
            if origin is not None:
                add(origin_kind, 1, [origin])
    return related


def _batch_rows(row: TableRow) -> list[dict[str, object]] | None:
    """The first rows of a batch, each with what it pays by and what came of it; None for any other
    object. Their texts are the client's, so they are masked and cut."""
    if not isinstance(row, Batch):
        return None
    replies: list[dict[str, object]] = []
    for place in range(min(len(row.rows), MOST_RELATED)):
        batch_row = row.current_row(place)
        reason = None
        if batch_row.failure is not None:
            reason = mask_text(batch_row.failure.reason)
        reply = reply_of(
            "BatchRowAnswer",
            batch_row,
            number=place + 1,
            paymentMethodId=mask_start(batch_row.payment_method_id, 64),
            reference=mask_start(batch_row.reference, 120),
            amount=f"{batch_row.currency} {number_text(batch_row.amount)}",
            reason=reason,
        )
        replies.append(reply)
    return replies


async def act(call: ControlCall[ObjectAct, ControlBody]) -> object:
    """Let something happen to an object at once, as one entry of a scenario's ``later`` says it
    without ``after``: the provider is not asked. The answer is the object afterwards.

    Raises ``NotFound`` (1) for an unknown object, ``Invalid`` (90) for what is no such entry or not
    of this kind, and what the move raises, such as ``WrongState``; then nothing has happened.
    """
    named = _object(call)
    sandbox, kind, object_id = named.sandbox, named.kind, named.object_id
    entry = dict(call.document)
    # An entry that was copied from a scenario may have it.
    entry.pop("after", None)
    act_now, faults = later_of(entry)
    if act_now is None:
        raise invalid(faults)
    moved = act_now

    def let_happen(step: Step) -> None:
        later.happen_now(step, kind, object_id, moved)

    asked = Asked(f"object.{act_now.move}", headers={SENT_BY: call.sender()})
    due.carry_out(sandbox, asked, let_happen)
    call.world.runner.acted(sandbox)
    return await get(call)


def states(call: AnyCall) -> object:
    """Every state table: how an object begins, and each legal move, in the words of the sandbox
    that is named."""
    word = profile_of(call.assumed()).word
    replies: dict[str, object] = {}
    for name, table in TABLES.items():
        # An object that begins in one way only names no event.
        begins = {str(event or ""): word(state) for event, state in table.begins.items()}
        moves: dict[str, dict[str, str]] = {}
        for state, afters in table.moves.items():
            moves[word(state)] = {str(event): word(after) for event, after in afters.items()}
        replies[name] = {"subject": table.subject, "begins": begins, "moves": moves}
    return replies


def _change_reply(sandbox: Sandbox, change: Change, profile: WireProfile) -> dict[str, object]:
    """A change in the story of an object; whether its journal entry is still there to be opened, as
    an object keeps its story longer."""
    is_kept = sandbox.journal.get(change.number) is not None
    states = states_of(change.event, profile)
    return reply_of("ObjectChangeAnswer", change, kept=is_kept, **states)


def _answer_of(sandbox: Sandbox, route: AnyRoute, path: Mapping[str, str]) -> object:
    """The answer of an ordinary read without a request: it is not journaled and no rule sees it,
    so that looking at an object changes nothing of a test."""
    # Such a read has neither a body nor a query.
    call = OperationCall(unnoted(sandbox, path), profile_of(sandbox.assumed), None, None, "")
    return mask_body(Reply(200, route.handle(call)).text())


def _table(sandbox: Sandbox, kind: str) -> Table[TableRow]:
    """The table of a kind, whose rows are of any type: ``ObjectReader`` asks them by name. Raises
    ``Invalid`` (90) for an unknown kind."""
    if kind not in KINDS:
        wanted = f"wanted one of {', '.join(KINDS)}{nearest(kind, KINDS)}"
        raise invalid({"Kind": f"got '{mask_start(kind, 40)}', {wanted}"})
    return KINDS[kind].table(sandbox)


def _object(call: AnyCall) -> _NamedObject:
    """The object that the path names. Raises ``NotFound`` (1), ``Invalid`` (90) for an unknown
    kind."""
    sandbox, kind, object_id = call.sandbox(), call.path["kind"], call.path["object_id"]
    row = _table(sandbox, kind).get(object_id)
    if row is None:
        raise missing("Id", f"no {kind} '{mask_start(object_id, 64)}'")
    return _NamedObject(sandbox, kind, object_id, row)


_IS = "is"


@record
class ObjectReader:
    """How objects of one kind are listed and searched, in the words of a profile: what a list says
    of an object is what a search finds it by."""

    kind: str
    profile: WireProfile

    def id_of(self, row: TableRow) -> str:
        return KINDS[self.kind].id_of(row)

    def state_of(self, row: TableRow) -> str | None:
        """The state as the API spells it."""
        state = KINDS[self.kind].state_of(row)
        if state is None:
            return None
        return self.profile.word(state)

    def amount_of(self, row: TableRow) -> str | None:
        """The amount with the currency before it, where the object has one of its own."""
        amount = getattr(row, "amount", None)
        if amount is None:
            return None
        currency = getattr(row, "currency", None) or ""
        return f"{currency} {number_text(amount)}".strip()

    def label_of(self, row: TableRow) -> str | None:
        """What its maker calls it: the first of ``_LABELS`` that it has."""
        for name in _LABELS:
            label = getattr(row, name, None)
            if label:
                # Masked before it is cut to what is shown, as half a card number looks like none.
                return mask_text(str(label)[:_LONGEST_LABEL])[:_SHOWN_LABEL]
        return None

    def line(self, row: TableRow) -> dict[str, object]:
        """What a list says of an object: the same few things of every kind, null where it has
        none."""
        return {
            "id": self.id_of(row),
            "added": iso(row.added),
            "state": self.state_of(row),
            "amount": self.amount_of(row),
            "label": self.label_of(row),
        }

    def text(self, row: TableRow) -> str:
        """All that a list says of an object, in small letters."""
        parts = self.id_of(row), self.state_of(row), self.amount_of(row), self.label_of(row)
        return " ".join(part for part in parts if part).lower()


@record
class _OperatorTest:
    """Whether what an operator looks at in an object is ``wanted``, or with ``excludes`` whether it
    is not. It goes to the thread of a long search, so it refers to no sandbox."""

    operator: "_Operator"
    reader: ObjectReader
    wanted: str
    excludes: bool

    def __call__(self, row: TableRow) -> bool:
        value = str(self.operator.read(self.reader, row) or "").lower()
        return self.operator.fits(value, self.wanted) is not self.excludes


def _number_of(_: ObjectReader, row: TableRow) -> object:
    """The amount without its currency, as a search gives it."""
    amount = getattr(row, "amount", None)
    if amount is None:
        return None
    return number_text(amount)


def _currency_of(_: ObjectReader, row: TableRow) -> object:
    """The currency of an amount: an object without one has none."""
    if getattr(row, "amount", None) is None:
        return None
    return getattr(row, "currency", None)


def _last_digits_of(_: ObjectReader, row: TableRow) -> object:
    """The last four digits of the card of an object: a charge has it in its instrument, a vault
    item itself."""
    instrument = getattr(row, "instrument", None)
    card = getattr(instrument, "card", None) or getattr(row, "card", None)
    number = getattr(card, "number", None)
    return getattr(number, "last4", None)


def _decline_code_of(_: ObjectReader, row: TableRow) -> object:
    """The code with which the newest try was declined."""
    attempts = getattr(row, "failed_attempts", None)
    if not attempts:
        return None
    return int(attempts[-1].error_code)


def _customer_of(_: ObjectReader, row: TableRow) -> object:
    return getattr(row, "customer_id", None)


def _email_of(_: ObjectReader, row: TableRow) -> object:
    return getattr(row, "email", None)


def object_tests(sandbox: Sandbox, text: str, reader: ObjectReader) -> list[Check[TableRow]]:
    """What an object must pass. Raises ``Invalid`` (90) for a search that means nothing."""
    try:
        return [_test(sandbox, word, reader) for word in words_of(text, (*_OPERATORS, _IS))]
    except ValueError as fault:
        raise invalid({"Q": str(fault)}) from None


def _test(sandbox: Sandbox, word: Word, reader: ObjectReader) -> Check[TableRow]:
    """The test of a word: a value that a thread may call, so no function that holds a sandbox.
    Raises ``ValueError``."""
    if word.operator is None:
        return Holds(reader.text, contains, word.value, not word.excludes)
    if word.operator == _IS:
        ids = _ids_with_findings(word.value, sandbox)
        return Holds(reader.id_of, _is_among, ids, not word.excludes)
    wanted = word.value.lower()
    if word.operator == "amount":
        # 5 and 5.00 are the same amount.
        wanted = number_text(amount_in(word.value))
    return _OperatorTest(_OPERATORS[word.operator], reader, wanted, word.excludes)


def _is_among(object_id: str, ids: frozenset[str]) -> bool:
    return object_id in ids


def _ids_with_findings(wanted: str, sandbox: Sandbox) -> frozenset[str]:
    """The ids of all objects that a finding is about, collected once for a search. Raises
    ``ValueError`` for another word than ``finding`` after ``is:``, the only one so far."""
    if wanted != "finding":
        raise ValueError(f"got '{wanted[:20]}'{nearest(wanted, ['finding'])}, allowed: finding")
    ids: set[str] = set()
    for finding in raised(sandbox):
        ids.update(finding.about.values())
    return frozenset(ids)


def _has(text: str, wanted: str) -> bool:
    """Whether a text has another in it, or with ``=`` before that is the same."""
    if wanted.startswith("="):
        return text == wanted[1:]
    return wanted in text


@record
class _Operator:
    """An operator of ``q``: what it reads of an object, and when that, in small letters, fits what
    is wanted."""

    read: Callable[[ObjectReader, TableRow], object]
    fits: Callable[[str, str], bool] = eq


_OPERATORS: Mapping[str, _Operator] = {
    "state": _Operator(ObjectReader.state_of),
    "status": _Operator(ObjectReader.state_of),
    "id": _Operator(ObjectReader.id_of, _has),
    "ref": _Operator(ObjectReader.label_of, _has),
    "amount": _Operator(_number_of),
    "currency": _Operator(_currency_of),
    "card": _Operator(_last_digits_of),
    "code": _Operator(_decline_code_of),
    "customer": _Operator(_customer_of),
    "email": _Operator(_email_of),
}


ROUTES = (
    ControlRoute(
        "GET",
        "/__admin/objects",
        listing,
        query=ObjectQuery,
        keyed=True,
        reply="ObjectsAnswer",
        example={"kind": "charge"},
        summary="Objects of a kind, newest first, or how many of each",
    ),
    ControlRoute(
        "GET",
        "/__admin/objects/{kind}/{object_id}",
        get,
        keyed=True,
        reply="ObjectAnswer",
        answers={404: "No such object"},
        example={"kind": "charge", "object_id": "$charge"},
        summary="One object, card data masked",
    ),
    ControlRoute(
        "GET",
        "/__admin/states",
        states,
        reply="map of StateTableAnswer",
        summary="Every state table",
    ),
    ControlRoute(
        "POST",
        "/__admin/objects/{kind}/{object_id}",
        act,
        body=ObjectAct,
        keyed=True,
        reply="ObjectAnswer",
        answers={404: "No such object", 409: "Its state forbids it"},
        example={"kind": "charge", "object_id": "$charge", "body": {"refund": {"amount": 5}}},
        summary="Let something happen to an object at once, as later of a scenario says it",
    ),
)
