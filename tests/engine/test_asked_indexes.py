"""No step waits for an index that has much to learn: those that operations ask learn as rows come.

An index learns of new rows when it is asked. Of 100,000 rows that takes half a second, in which
nobody else is served. So an index that an operation asks ``is_asked`` in ``engine/tables.py``, or
the operation lets them learn ahead of it, as lists do.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from mockserver.engine import indexed_table, tables
from mockserver.engine.indexed_table import PostingLists, Table
from tests.control.test_state import fill_everything
from tests.driving import CARD, DUMMY, Api, Reply, card_charge

LONG = 1
"""Rows that one step may learn here, for the thousands of a server."""


class Asked:
    """What indexes of which tables were asked, and by which the step had to learn too much."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.late: set[str] = set()

    def note(self, table: Table[Any], postings: PostingLists[Any]) -> None:
        name = f"{NAMES[table.id_of]}.{postings.index.name}"
        self.names.add(name)
        if len(table) - postings.known > LONG:
            self.late.add(name)


NAMES: Mapping[Any, str] = {id_of: name for name, id_of in tables._ID_OF.items()}
WANTED = {
    f"{name}.{index.name}"
    for name, indexes in tables._INDEXES.items()
    for index in indexes
    if index.is_asked
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """A server to which very few rows are many."""
    noted, up_to_date = Asked(), Table._up_to_date

    def note(table: Table[Any], name: str) -> PostingLists[Any]:
        noted.note(table, table._index(name))
        return up_to_date(table, name)

    monkeypatch.setattr(indexed_table, "STEP_ROWS", LONG)
    monkeypatch.setattr(Table, "_up_to_date", note)
    return noted


def do_everything(api: Api) -> None:
    """Operations that look for other rows than the one that they are about."""
    fill_everything(api)

    def did(method: str, path: str, body: object = None) -> Reply:
        reply = api.call(method, path, body)
        assert reply.status < 400, (path, reply.raw)
        return reply

    person = {
        "providerId": DUMMY,
        "firstName": "Ann",
        "paymentInformation": CARD,
        "vaultCard": True,
    }
    customer = did("POST", "/customer/card", person)
    mine = f"/customer/{customer['customerId']}"
    method = customer["defaultPaymentMethod"]["paymentMethodId"]
    did("POST", f"{mine}/payment_method/card", person)
    plan = {"paymentMethodId": method, "amount": 5, "currency": "AUD", "frequency": 1}
    did("POST", "/subscription/payment_method", {**plan, "interval": "Month"})
    charge = did("POST", "/charge/card", card_charge())
    sent = {"account": "acc-1", "amount": 1, "reference": f"t-{charge['chargeId']}"}
    group = {"groupReference": f"g-{charge['chargeId']}", "transfers": [sent]}
    did("POST", "/transfer", {"providerId": DUMMY, "chargeId": charge["chargeId"], **group})
    api.advance("70d")
    did("PUT", mine, {"firstName": "Anne"})
    did("GET", "/settlements?StartDate=2031-03-01")
    did("DELETE", f"/payment_method/{method}")
    did("DELETE", mine)


def test_no_step_learns_much_of_an_index(asked: Asked) -> None:
    api = Api(assumptions={"vault.ccv_delay": "1h"})
    do_everything(api)
    do_everything(api)
    # Rows that come all at once were never added one by one.
    api.put("/__admin/state", api.get("/__admin/state?secrets=true").body)
    do_everything(api)
    assert asked.late == set(), "is_asked in engine/tables.py, or learn ahead"
    assert WANTED - asked.names == set(), "what no operation asks here need not be is_asked"
