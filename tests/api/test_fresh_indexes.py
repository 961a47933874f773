"""What operations ask of a table is known but for its newest rows, however it came to them."""

from pathlib import Path
from typing import Any

import pytest

from mockserver.engine.indexed_table import PostingLists
from tests.driving import CARD, DUMMY, VISA, Api, Reply, card_charge
from tests.few_rows import look_at_few_rows
from tests.store.twins import Kept

METHOD = {"providerId": DUMMY, "paymentInformation": CARD}
TRANSFER = {"account": "a", "amount": 1, "currency": "AUD"}


def group(name: str) -> dict[str, Any]:
    return {
        "providerId": DUMMY,
        "groupReference": name,
        "transfers": [{**TRANSFER, "reference": f"{name}-1"}],
    }


def learning(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each step learns from now on."""
    learnt = list[int]()
    plain = PostingLists.learn

    def learn(self: PostingLists[Any], rows: Any, until: int) -> None:
        learnt.append(until - self.known)
        plain(self, rows, until)

    monkeypatch.setattr(PostingLists, "learn", learn)
    return learnt


@pytest.fixture
def filled() -> tuple[Api, dict[str, str]]:
    api = Api(waits=True)
    owner = api.post("/customer/card", {**METHOD, "firstName": "Ann"})["customerId"]
    for number in range(12):
        method = api.post(f"/customer/{owner}/payment_method/card", METHOD)["paymentMethodId"]
        plan = {
            "paymentMethodId": method,
            "amount": 5,
            "currency": "AUD",
            "interval": "Month",
            "frequency": 1,
        }
        assert api.post("/subscription/payment_method", plan).status == 201
        assert api.post("/transfer", group(f"g{number}")).status == 201
    vaulted = api.post("/payment_method/card", {**METHOD, "vaultCard": True})["paymentMethodId"]
    return api, {"owner": owner, "method": method, "vaulted": vaulted}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/customer/{owner}/payment_method/card", METHOD),
        ("GET", "/customer/{owner}/payment_method", None),
        ("GET", "/customer/{owner}/payment_methods", None),
        ("POST", "/payment_method/vault", {"providerId": DUMMY, "paymentMethodId": "vaulted"}),
        ("PUT", "/customer/{owner}", {"firstName": "Eve"}),
        ("DELETE", "/customer/{owner}", None),
        ("DELETE", "/payment_method/{method}", None),
        ("POST", "/transfer", group("new")),
        ("POST", "/transfer", group("g3")),
        ("GET", "/settlements?startDate=2020-01-01", None),
    ],
)
def test_no_step_of_an_operation_learns_more_than_a_few_rows_of_a_fork(
    filled: tuple[Api, dict[str, str]],
    method: str,
    path: str,
    body: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api, ids = filled

    def ask(key: str) -> Reply:
        assert api.post("/__admin/fork", {"to": key}).status == 201
        given = {name: ids.get(str(value), value) for name, value in body.items()} if body else None
        return api.call(method, path.format(**ids), given, headers={"x-secretkey": key})

    at_once = ask("sk_at_once")
    learnt = learning(monkeypatch)
    look_at_few_rows(monkeypatch, 5)
    in_slices = ask("sk_in_slices")
    assert (in_slices.status, len(in_slices.raw)) == (at_once.status, len(at_once.raw))
    assert max(learnt) <= 5


@pytest.mark.parametrize("way", ["as it grows", "fork", "import", "wake"])
def test_before_the_first_payment_of_a_sandbox_with_a_vault_its_items_are_learnt(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look_at_few_rows(monkeypatch, 5)
    learnt = learning(monkeypatch)
    api = Kept(tmp_path / "s.db") if way == "wake" else Api(waits=True)
    vaulted = [api.post("/vault", {"cardNumber": VISA, "ccv": "123"})["vaultId"] for _ in range(23)]
    assert learnt == [5, 5, 5, 5]
    key = "sk_copy" if way in ("fork", "import") else api.key
    match way:
        case "fork":
            assert api.post("/__admin/fork", {"to": "sk_copy"}).status == 201
        case "import":
            state = api.get("/__admin/state?secrets=true").body
            assert api.call("PUT", "/__admin/state", state, key="sk_copy").status == 200
        case "wake":
            api.restart()
            assert api.get(f"/vault/{vaulted[0]}").status == 200
    assert learnt == [5, 5, 5, 5] * (1 if way == "as it grows" else 2)
    assert api.call("POST", "/charge/card", card_charge(), key=key).status == 201
    assert max(learnt) == 5
    found = [api.call("GET", f"/vault/{vault_id}", key=key)["ccv"] for vault_id in vaulted]
    assert found == [None] * 23
