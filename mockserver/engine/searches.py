"""The lists of the service: what all have in common, their pages and their bounds, then one table
for each, with every parameter of its document and the fields that it sorts by.

A list is data: a ``Search`` names the table, the parameters and the fields to sort by. A parameter
is a function that adds to a ``Query`` what its value asks for, in one of two ways. Where an index
knows the value, the query names the index (``by``, ``in_state``): such rows are found at once.
Anything else is a test of each row (``saying``, ``amount_beyond``). Some parameters are the one or
the other, as an assumption says (``text_parameter``). What finds and orders the rows is
``indexed_table``.

All faults of a request are told at once: a parameter that cannot be read adds its fault and the
next one is looked at. Which assumptions a list rests on is noted by the step, as they are asked.

What always holds: a value that no row can have finds no row, and is no fault, but for words of
which there are few (states, fields to sort by): a misspelt one is refused with the nearest.

Sources: docs/spec/service.md, Charges, Customers, Payment methods and Batches;
docs/spec/published-facts.md, 3; assumptions ``paging.*``, ``sort``, ``search.*``; settled facts
``charge.search_card_number``, ``customer.search``, ``payment_method.search``.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import field
from enum import StrEnum
from functools import partial
from operator import attrgetter, contains, ge, gt, le, lt
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from mockserver.domain.batch import Batch
from mockserver.domain.cards import MIN_LENGTH, PREFIX_LENGTHS, clean
from mockserver.domain.charge import Charge
from mockserver.domain.clock import Micros
from mockserver.domain.customer import Customer
from mockserver.domain.errors import Faults, nearest
from mockserver.domain.payment_link import PaymentLink
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.record import record
from mockserver.domain.states import (
    CHARGE_STATE_BY_WORD,
    BatchState,
    ChargeState,
    Presence,
    TokenState,
)
from mockserver.domain.subscription import Subscription
from mockserver.domain.token import Token
from mockserver.domain.transfer import Transfer
from mockserver.domain.webhook_subscription import WebhookSubscription
from mockserver.engine import intake
from mockserver.engine.indexed_table import Holds, Query, Table, TableRow
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import Step

R = TypeVar("R", bound=TableRow)


Sort: TypeAlias = Callable[[Any], Any] | None
"""What rows are sorted by; None leaves them in the order of their adding."""

Sorts: TypeAlias = Mapping[str, Sort | Mapping[str, Callable[[Any], Any]]]
"""What they may be sorted by, by the field; of the status of charges for each word that shows
authorised ones."""

Words: TypeAlias = Callable[[Any], Iterable[str | None]]
"""The texts of a row that a parameter looks at; None where the row lacks one."""


class Parameter(Protocol):
    """Adds to a query what a given value asks for, or a fault of it."""

    def __call__(self, step: Step, value: Any, query: Query[Any], faults: Faults, /) -> None: ...


@record
class Search(Generic[R]):
    """How one kind of object is listed. ``sorts`` are the fields that ``SortBy`` may name, in any
    letter case. With ``hides_removed`` those in use are found, all only with the parameter
    ``include_removed``."""

    table: Callable[[Sandbox], Table[R]]
    sorts: Sorts
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    hides_removed: bool = False


def found_by(**indexes: str) -> Mapping[str, Parameter]:
    """Rows that an index, given by the name of its parameter, finds by the value."""
    return {name: _by_index(index, in_capitals=False) for name, index in indexes.items()}


def found_by_capitals(**indexes: str) -> Mapping[str, Parameter]:
    """The same where the index has words in capital letters, such as currencies, and clients write
    them in any."""
    return {name: _by_index(index, in_capitals=True) for name, index in indexes.items()}


def _by_index(index: str, *, in_capitals: bool) -> Parameter:
    """A parameter whose rows an index finds by the value."""

    def add(step: Step, value: Any, query: Query[Any], faults: Faults) -> None:
        indexed: Hashable = value.upper() if in_capitals else value
        query.equal.append((index, (indexed,)))

    return add


# What is not there is sorted as if it were empty: None cannot be compared with texts or numbers.


def sorted_by_text(**paths: str) -> Mapping[str, Sort]:
    """Rows in the order of the texts at dotted paths, capital letters first."""

    def sort(path: str) -> Sort:
        text_at = attrgetter(path)
        return lambda row: text_at(row) or ""

    return {name: sort(path) for name, path in paths.items()}


def sorted_by_name(**paths: str) -> Mapping[str, Sort]:
    """The same for texts that people write: in any letter case."""

    def sort(path: str) -> Sort:
        text_at = attrgetter(path)
        return lambda row: (text_at(row) or "").lower()

    return {name: sort(path) for name, path in paths.items()}


def sorted_by_number(**paths: str) -> Mapping[str, Sort]:
    """The same for amounts and instants."""

    def sort(path: str) -> Sort:
        number_at = attrgetter(path)
        return lambda row: number_at(row) or 0

    return {name: sort(path) for name, path in paths.items()}


def saying(words: Words) -> Parameter:
    """Rows of whose words one has the value in it, in any letter case."""

    def read(row: Any) -> str:
        present = [word for word in words(row) if word]
        return _APART.join(present).lower()

    def add(step: Step, value: str, query: Query[Any], faults: Faults) -> None:
        query.where.append(Holds(read, contains, value.lower()))

    return add


_APART = "\udc00"
"""Half of a surrogate pair: no text that is taken has one, so that no value goes over it from one
word to the next."""


def words_of(*paths: str) -> Words:
    """What reads the texts of a row at dotted paths."""
    readers = [attrgetter(path) for path in paths]
    return lambda row: tuple(read(row) for read in readers)


def _cardholder(charge: Charge) -> tuple[str | None, ...]:
    """The holder of a charge's card, as words that ``text_parameter`` looks at."""
    card = charge.instrument.card
    return () if card is None else (card.cardholder,)


def _in_small(words: Words) -> Callable[[Any], tuple[str, ...]]:
    """The same words in small letters."""
    return lambda row: tuple(word.lower() for word in words(row) if word is not None)


def _begins(words: tuple[str, ...], value: str) -> bool:
    return any(word.startswith(value) for word in words)


def _is_one_of(words: tuple[str | None, ...], value: str) -> bool:
    return value in words


def text_parameter(
    key: str,
    words: Words,
    *,
    exact: str | None = None,
    any_case: str | None = None,
) -> Parameter:
    """Rows of whose words one fits the value, in the way that an assumption says.

    ``exact``: it is the value; ``any_case``: it is, but for letter case; ``prefix``: it begins with
    the value; ``contains``: it has the value in it; the last two in any letter case. The parameters
    ``exact`` and ``any_case`` name the index that finds such rows at once, where there is one.
    """
    in_small, contained = _in_small(words), saying(words)

    def add(step: Step, value: str, query: Query[Any], faults: Faults) -> None:
        way = step.assume(key)
        if way == "contains":
            contained(step, value, query, faults)
        elif way == "prefix":
            query.where.append(Holds(in_small, _begins, value.lower()))
        elif way == "exact" and exact is not None:
            query.equal.append((exact, (value,)))
        elif way == "exact":
            query.where.append(Holds(words, _is_one_of, value))
        elif any_case is not None:
            query.equal.append((any_case, (value.lower(),)))
        else:
            query.where.append(Holds(in_small, _is_one_of, value.lower()))

    return add


_BY_CARD_TYPE: Mapping[str, str] = {
    "scheme": "brand",
    "card_type": "funding",
    "either": "card_type",
}
"""The index that knows cards by what ``CardType`` means (assumption ``search.card_type``)."""


def _card_type(step: Step, value: str, query: Query[Any], faults: Faults) -> None:
    """Rows whose card is of a type. Clients call both the scheme (VISA) and how a card is funded
    (CREDIT) its type."""
    index = _BY_CARD_TYPE[step.assume("search.card_type")]
    query.equal.append((index, (value.upper(),)))


amount_of = attrgetter("amount")
"""The amount of a charge or a subscription: lists are sorted and bounded by the same."""


def amount_beyond(
    exclusive: Callable[[Any, Any], bool], inclusive: Callable[[Any, Any], bool]
) -> Parameter:
    """Rows with an amount above or below the value (assumption ``search.bounds``)."""

    def add(step: Step, bound: Any, query: Query[Any], faults: Faults) -> None:
        takes_bound = step.assume("search.bounds") == "inclusive"
        is_beyond = inclusive if takes_bound else exclusive
        query.where.append(Holds(amount_of, is_beyond, bound))

    return add


def in_state(words: Mapping[str, StrEnum], allowed: str, index: str) -> Parameter:
    """Rows in the state that a word names, in any letter case. Adds a fault (90) for any other
    word."""
    by_fold = {word.lower(): state for word, state in words.items()}

    def add(step: Step, word: str, query: Query[Any], faults: Faults) -> None:
        state = by_fold.get(word.lower())
        query.equal.append((index, (state,)))
        if state is None:
            hint = nearest(word, words)
            faults.wrong("Status", f"got '{word[:40]}', wanted one of {allowed}{hint}")

    return add


def query_of(step: Step, wanted: Search[R], given: Mapping[str, Any]) -> Query[R]:
    """What the given parameters ask for. Raises ``Invalid`` (90) for a bad value, page or sort."""
    faults = Faults()
    query: Query[R] = Query(0)
    for name, add in wanted.parameters.items():
        value = given.get(name)
        if value is not None:
            add(step, value, query, faults)
    if wanted.hides_removed and not given.get("include_removed"):
        query.equal.append(("state", (Presence.ACTIVE,)))
    query.after, query.before = _window(step, given.get("added_after"), given.get("added_before"))
    query.limit, query.skip = _limit_and_skip(step, given, faults)
    query.descending = step.assume("paging.order") == "newest_first"
    sort_by, sort_order = given.get("sort_by"), given.get("sort_order")
    if sort_by or sort_order:
        ignores = step.assume("sort") == "ignore"
        if sort_order:
            query.descending = _is_descending(query, sort_order, faults, ignores=ignores)
        if sort_by:
            query.sort = _sort(step, sort_by, wanted.sorts, faults, ignores=ignores)
    faults.refuse()
    return query


def _is_descending(query: Query[Any], sort_order: str, faults: Faults, *, ignores: bool) -> bool:
    """Whether the highest come first; with ``ignores`` a word that is not known changes nothing."""
    word = sort_order.lower()
    if word not in _ORDERS and not ignores:
        faults.wrong("SortOrder", f"got '{sort_order[:20]}', wanted asc or desc")
    return _ORDERS.get(word, query.descending)


def _window(
    step: Step, after: Micros | None, before: Micros | None
) -> tuple[Micros | None, Micros | None]:
    """Bounds of the time of adding as ``Query`` takes them, exclusive: inclusive ones (assumption
    ``search.bounds``) are a microsecond wider."""
    if after is None and before is None:
        return None, None
    if step.assume("search.bounds") == "inclusive":
        after = None if after is None else after - 1
        before = None if before is None else before + 1
    return after, before


def _limit_and_skip(step: Step, given: Mapping[str, Any], faults: Faults) -> tuple[int, int]:
    """How many rows the page has, and how many it leaves out before them."""
    most = step.assume("paging.maximum")
    limit, skip = given.get("limit"), given.get("skip") or 0
    if limit is None:
        limit = min(step.assume("paging.default"), most)
    if not 1 <= limit <= most:
        faults.wrong("Limit", f"got {limit}, wanted 1 to {most}")
    if skip < 0:
        faults.wrong("Skip", f"got {skip}, wanted 0 or more")
    return limit, skip


_ORDERS: Mapping[str, bool] = {"desc": True, "descending": True, "asc": False, "ascending": False}


def _sort(step: Step, sort_by: str, known: Sorts, faults: Faults, *, ignores: bool) -> Sort:
    """What rows are sorted by; with ``ignores`` a field that is not known is none."""
    name = sort_by.lower()
    if name == "none":
        return None
    if name not in known and not ignores:
        allowed = f"{', '.join(known)}{nearest(sort_by, known)}"
        faults.wrong("SortBy", f"got '{sort_by[:40]}', wanted one of {allowed}")
    sort = known.get(name)
    if isinstance(sort, Mapping):
        # The status of charges: its order follows from the word that authorised ones show.
        return sort[step.assume("charge.status.authorised")]
    return sort


_NEWEST: Mapping[str, Sort] = {"date": None}
_ADDED: Mapping[str, Sort] = {"dateadded": None, **_NEWEST}
_AMOUNTS = {"amount_greater_than": amount_beyond(gt, ge), "amount_less_than": amount_beyond(lt, le)}


def _card_number(step: Step, given: str, query: Query[Any], faults: Faults) -> None:
    """Charges of the cards whose number begins with, or is, the digits. Only so many leading digits
    are kept, as digests, so other lengths cannot be searched."""
    digits = clean(given)
    is_prefix = digits is not None and len(digits) in PREFIX_LENGTHS
    is_whole = digits is not None and len(digits) >= MIN_LENGTH
    if digits is None or not (is_prefix or is_whole):
        allowed = ", ".join(map(str, PREFIX_LENGTHS))
        faults.wrong("CardNumber", f"wanted {allowed} leading digits, or the whole number")
        return
    if not intake.takes_parts(step, given, digits):
        faults.wrong("CardNumber", intake.PARTED)
        return
    query.equal.append(("fingerprint", tuple(step.sandbox.cards.fingerprints(digits))))


def _shown_status(authorised: str, charge: Charge) -> str:
    """The status by which a charge is sorted: as the client sees it, where authorised ones are
    called ``authorised``."""
    return authorised if charge.status is ChargeState.AUTHORISED else charge.status.value


CHARGES: Search[Charge] = Search(
    table=lambda sandbox: sandbox.charges,
    sorts={
        **_ADDED,
        "amount": amount_of,
        **sorted_by_text(currency="currency"),
        # As it is shown: the word of authorised ones is an assumption.
        "status": {word: partial(_shown_status, word) for word in ("Authorised", "AUTHORISE")},
        **sorted_by_text(
            reference="reference", providerid="provider.provider_id", customerid="customer_id"
        ),
        **sorted_by_text(chargeid="charge_id"),
        **sorted_by_number(successdate="succeeded", voiddate="voided", refundedamount="refunded"),
    },
    parameters={
        **found_by(
            provider_id="provider", customer_id="customer", payment_method_id="payment_method"
        ),
        **found_by(batch_id="batch", subscription_id="subscription"),
        **found_by_capitals(payment_type="payment_type", currency="currency"),
        "reference": text_parameter("search.reference", words_of("reference"), exact="reference"),
        "cardholder": text_parameter("search.cardholder", _cardholder, exact="cardholder"),
        "card_type": _card_type,
        "status": in_state(CHARGE_STATE_BY_WORD, ", ".join(sorted(ChargeState)), "status"),
        "card_number": _card_number,
        **_AMOUNTS,
    },
)


def _customer_words(customer: Customer) -> tuple[str | None, ...]:
    """Where ``Search`` looks. First and last name are one text: people search for both."""
    full = f"{customer.first_name or ''} {customer.last_name or ''}"
    return customer.reference, full, customer.email, customer.phone


def _owner_of_method(step: Step, payment_method_id: str, query: Query[Any], faults: Faults) -> None:
    """The customer of a payment method; for one that is unknown or of nobody the empty id, which no
    customer has."""
    method = step.sandbox.payment_methods.get(payment_method_id)
    owner_id = None
    if method is not None:
        owner_id = method.customer_id
    query.equal.append(("id", (owner_id or "",)))


CUSTOMERS: Search[Customer] = Search(
    table=lambda sandbox: sandbox.customers,
    sorts={
        **_ADDED,
        **sorted_by_name(
            reference="reference",
            firstname="first_name",
            lastname="last_name",
            email="email",
        ),
        **sorted_by_text(phone="phone", customerid="customer_id"),
        **sorted_by_number(dateremoved="removed"),
    },
    parameters={
        **found_by(customer_id="id"),
        "reference": text_parameter("search.reference", words_of("reference"), exact="reference"),
        "email": text_parameter("search.email", words_of("email"), any_case="email"),
        "payment_method_id": _owner_of_method,
        "search": saying(_customer_words),
    },
    hides_removed=True,
)


def _method_words(method: PaymentMethod) -> list[str | None]:
    """Where ``Search`` looks: whatever a person may know of a payment method."""
    card, bank, payer = method.instrument.card, method.instrument.bank, method.payer
    words = [method.payment_method_id, method.email]
    if card is not None:
        words += [card.cardholder, card.number.masked]
    if bank is not None:
        words += [bank.account_name, bank.account_number]
    if payer is not None:
        names = [payer.reference, payer.first_name, payer.last_name]
        words += [*names, payer.email, payer.phone]
    return words


PAYMENT_METHODS: Search[PaymentMethod] = Search(
    table=lambda sandbox: sandbox.payment_methods,
    sorts={
        **_ADDED,
        **sorted_by_text(
            type="instrument.type.value",
            providerid="provider.provider_id",
            providertype="provider.type",
        ),
        **sorted_by_text(customerid="customer_id"),
        **sorted_by_name(email="email"),
        **sorted_by_text(paymentmethodid="payment_method_id"),
        **sorted_by_number(dateremoved="removed"),
    },
    parameters={
        **found_by(provider_id="provider", customer_id="customer"),
        **found_by_capitals(payment_type="payment_type"),
        "card_type": _card_type,
        "search": saying(_method_words),
    },
    hides_removed=True,
)

TOKENS: Search[Token] = Search(
    table=lambda sandbox: sandbox.tokens,
    sorts={
        **_ADDED,
        **sorted_by_number(dateused="used"),
        **sorted_by_text(
            tokenid="token_id", providerid="provider.provider_id", status="state.value"
        ),
    },
    parameters={
        **found_by(provider_id="provider"),
        "status": in_state(
            {state.value.lower(): state for state in TokenState}, ", ".join(TokenState), "state"
        ),
    },
)

PAYMENT_LINKS: Search[PaymentLink] = Search(
    table=lambda sandbox: sandbox.payment_links,
    sorts={
        **_NEWEST,
        "dateadded": None,
        **sorted_by_name(title="title"),
        **sorted_by_number(amount="amount"),
    },
)

SUBSCRIPTIONS: Search[Subscription] = Search(
    table=lambda sandbox: sandbox.subscriptions,
    sorts={
        **_NEWEST,
        "createddate": None,
        **sorted_by_text(status="status.value", currency="currency"),
        "amount": amount_of,
        **sorted_by_number(startdate="start"),
    },
    parameters={**found_by(status="status"), **found_by_capitals(currency="currency"), **_AMOUNTS},
)

BATCHES: Search[Batch] = Search(
    table=lambda sandbox: sandbox.batches,
    sorts={
        **_NEWEST,
        "dateadded": None,
        **sorted_by_name(description="description"),
        **sorted_by_text(status="status.value"),
        "count": lambda batch: len(batch.rows),
        "progress": lambda batch: batch.progress,
    },
    parameters={
        "description": text_parameter("search.description", words_of("description")),
        "status": in_state(
            {state.value: state for state in BatchState}, ", ".join(BatchState), "status"
        ),
    },
)

TRANSFERS: Search[Transfer] = Search(
    table=lambda sandbox: sandbox.transfers,
    sorts={
        **_NEWEST,
        "dateadded": None,
        **sorted_by_number(amount="amount"),
        **sorted_by_text(reference="reference", status="status.value", currency="currency"),
    },
    parameters={
        **found_by(provider_id="provider"),
        **found_by_capitals(status="status"),
        "reference": text_parameter(
            "search.reference",
            words_of("reference", "group_reference"),
            exact="references",
        ),
    },
)

WEBHOOK_SUBSCRIPTIONS: Search[WebhookSubscription] = Search(
    table=lambda sandbox: sandbox.webhook_subscriptions,
    sorts={**_NEWEST, "createddate": None, **sorted_by_text(url="url")},
    parameters=found_by(type="types", id="id"),
    hides_removed=True,
)
