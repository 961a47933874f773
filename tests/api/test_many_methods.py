"""A customer with very many payment methods: there is a most, as they are removed with it in one
step."""

import json
from typing import Any

import pytest

from mockserver.engine import consistency, payment_methods
from mockserver.engine.indexed_table import Table
from tests.driving import CARD, DUMMY, NOW, Api, problem_of

METHOD = {"providerId": DUMMY, "paymentInformation": CARD}
WORDS = "the customer has 3 payment methods in use, as many as there may be"


def customer(api: Api, methods: int) -> str:
    owner: str = api.post(
        "/customer/card", {**METHOD, "firstName": "Ann", "email": "ann@example.com"}
    )["customerId"]
    for _ in range(methods - 1):
        assert api.post(f"/customer/{owner}/payment_method/card", METHOD).status == 201
    return owner


def listed(api: Api, owner: str) -> list[dict[str, Any]]:
    return api.get(f"/customer/{owner}/payment_methods").body


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payment_methods, "MOST_METHODS", 3)
    monkeypatch.setattr(consistency, "MOST_METHODS", 3)


@pytest.mark.usefixtures("few")
def test_one_more_method_in_use_is_refused_and_a_removed_one_makes_room(api: Api) -> None:
    owner = customer(api, 3)
    methods = [one["paymentMethodId"] for one in listed(api, owner)]
    for path, body in (
        (f"/customer/{owner}/payment_method/card", METHOD),
        ("/payment_method/vault", {"providerId": DUMMY, "paymentMethodId": methods[0]}),
    ):
        refused = api.post(path, body)
        assert problem_of(refused)[0] == 400
        assert refused["details"]["CustomerId"] == WORDS
    assert api.post("/payment_method/card", METHOD).status == 201
    assert len(listed(api, owner)) == 3
    assert api.delete(f"/payment_method/{methods[1]}").status == 200
    assert api.post(f"/customer/{owner}/payment_method/card", METHOD).status == 201


class Looked(list[Any]):
    """A list that counts the rows that are looked at."""

    looks = 0

    def __getitem__(self, place: Any) -> Any:
        self.looks += 1
        return super().__getitem__(place)


def test_removed_methods_are_not_looked_at_when_those_in_use_are_counted_or_listed(
    api: Api,
) -> None:
    owner = customer(api, 1)
    for _ in range(100):
        added = api.post(f"/customer/{owner}/payment_method/card", METHOD)
        assert api.delete(f"/payment_method/{added['paymentMethodId']}").status == 200
    table = api.app.world.sandboxes.open(api.key, NOW).payment_methods
    rows = table.rows = Looked(table.rows)
    assert api.post(f"/customer/{owner}/payment_method/card", METHOD).status == 201
    assert len(listed(api, owner)) == 2
    assert 0 < rows.looks < 10


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(("most", "status"), [(3, 200), (2, 400)])
def test_a_document_with_more_of_them_is_refused(
    most: int, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = Api(waits=True)
    customer(api, 3)
    document = json.loads(api.get("/__admin/state").raw)
    monkeypatch.setattr(consistency, "MOST_METHODS", most)
    taken = api.put("/__admin/state", document)
    assert taken.status == status, taken.raw
    if status == 400:
        details = taken["details"]
        assert "got 3 payment methods of it in use, wanted 2 at most" in details.values()


@pytest.mark.parametrize("removed", [0, 2])
def test_each_method_changes_once_when_its_customer_goes(
    removed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = Api()
    owner = customer(api, 6)
    for one in listed(api, owner)[:removed]:
        assert api.delete(f"/payment_method/{one['paymentMethodId']}").status == 200
    table, changed = api.app.world.sandboxes.open(api.key, NOW).payment_methods, list[str]()
    plain = Table.replace

    def replace(self: Table[Any], before: Any, after: Any) -> None:
        if self is table:
            changed.append(after.payment_method_id)
        plain(self, before, after)

    monkeypatch.setattr(Table, "replace", replace)
    assert api.delete(f"/customer/{owner}").status == 200
    assert (len(changed), len(set(changed))) == (6, 6)
    assert {method.state for method in table} == {"removed"}
    assert {method.payer.email for method in table if method.payer is not None} == {"deleted"}
