"""Lists: every parameter of every query finds rows, and what no list can do is refused with its
field."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.domain.errors import Faults, NotFound
from mockserver.engine import charges, listing, searches
from mockserver.engine.indexed_table import Query
from mockserver.engine.listing import Search
from mockserver.engine.step import unnoted
from mockserver.wire.bodies.batches import BatchQuery
from mockserver.wire.bodies.charges import ChargeQuery
from mockserver.wire.bodies.customers import CustomerQuery
from mockserver.wire.bodies.payment_links import PaymentLinkQuery
from mockserver.wire.bodies.payment_methods import PaymentMethodQuery
from mockserver.wire.bodies.subscriptions import SubscriptionQuery
from mockserver.wire.bodies.tokens import TokenQuery
from mockserver.wire.bodies.transfers import TransferQuery
from mockserver.wire.bodies.webhook_subscriptions import WebhookSubscriptionQuery
from mockserver.wire.fields import Body
from tests.driving import Api

LISTS: list[tuple[Search[Any], type[Body]]] = [
    (searches.CHARGES, ChargeQuery),
    (searches.CUSTOMERS, CustomerQuery),
    (searches.PAYMENT_METHODS, PaymentMethodQuery),
    (searches.TOKENS, TokenQuery),
    (searches.PAYMENT_LINKS, PaymentLinkQuery),
    (searches.SUBSCRIPTIONS, SubscriptionQuery),
    (searches.BATCHES, BatchQuery),
    (searches.TRANSFERS, TransferQuery),
    (searches.WEBHOOK_SUBSCRIPTIONS, WebhookSubscriptionQuery),
]

PAGING = ("added_after", "added_before", "limit", "skip", "sort_by", "sort_order")
"""Parameters of every list."""


@pytest.mark.parametrize(("search", "query"), LISTS, ids=[query.__name__ for _, query in LISTS])
def test_a_query_and_its_list_have_the_same_parameters(
    search: Search[Any], query: type[Body]
) -> None:
    hidden = {"include_removed"} if "include_removed" in query.model_fields else set()
    assert {*search.parameters, *PAGING, *hidden} == set(query.model_fields)


SIGNS = "aAiI\u0130\u03a3\u03c3\u03c2\u0307 .\0"
"""Some of which change with their neighbours, or their number, in small letters."""


@given(st.lists(st.none() | st.text(SIGNS, max_size=5), max_size=4), st.text(SIGNS, max_size=4))
def test_a_part_is_found_in_one_word_alone(words: list[str | None], part: str) -> None:
    query: Query[Any] = Query(1)
    listing.saying(lambda row: row)(None, part, query, Faults())  # type: ignore[arg-type]
    plain = any(part.lower() in word.lower() for word in words if word)
    assert all(test(words) for test in query.where) == plain or (not part and not any(words))


@pytest.fixture(scope="module")
def sandbox() -> Any:
    api = Api()
    for amount in (10, 20, 30):
        assert api.try_charge(amount, reference=f"r{amount}").status == 201
    return next(iter(api.app.world.sandboxes))


PARAMETERS = [(search, name) for search, _ in LISTS for name in search.parameters]


@pytest.mark.parametrize(("search", "name"), PARAMETERS)
def test_every_parameter_has_the_index_that_it_asks(
    sandbox: Any, search: Search[Any], name: str
) -> None:
    query: Query[Any] = Query(0)
    search.parameters[name](unnoted(sandbox), "411111", query, Faults())
    assert search.table(sandbox).search(replace(query, where=[])).rows == []


def test_an_object_is_found_by_its_id_and_the_step_is_about_it(sandbox: Any) -> None:
    first, step = sandbox.charges.rows[0], unnoted(sandbox)
    assert charges.get(step, first.charge_id) is first
    assert step.result.about["charge"] is first
    with pytest.raises(NotFound) as refused:
        charges.get(step, "none")
    assert refused.value.details == {"ChargeId": "no charge 'none' in this sandbox"}


def test_the_step_is_about_what_an_object_has_become(sandbox: Any) -> None:
    step = unnoted(sandbox)
    first = charges.get(step, sandbox.charges.rows[0].charge_id)
    after = charges.refund(step, first.charge_id, None, None)
    assert step.result.about["charge"] is after is sandbox.charges.rows[0]
    assert (first.refunded, after.refunded) == (0, first.amount)


@given(st.integers(0, 9), st.integers(1, 9), st.integers(0, 9), st.booleans())
def test_a_page_is_cut_out_of_all_that_was_found(
    rows: int, limit: int, skip: int, descending: bool
) -> None:
    query: Query[Any] = Query(limit, skip, descending=descending)
    names = [f"row {number}" for number in range(rows)]
    assert query.cut(names) == names[:: -1 if descending else 1][skip : skip + limit]
