"""A list whose rows may be very long is worded row by row before its step, and says what it would say at once."""

from __future__ import annotations

from typing import Any

import pytest

from mockserver.web.endpoints import lists
from tests.driving import CARD, DUMMY, Api
from tests.rows import each

METHOD = {"providerId": DUMMY, "paymentInformation": CARD}
NOTE = {"note": "long " * 15_000}
LINK = {"title": "x", "amount": 5, "currency": "AUD", "description": NOTE["note"]}


def listing(api: Api, path: str) -> Any:
    return api.calling("GET", path)


def turns(calling: Any, other: Any = None) -> tuple[int, bytes]:
    """How often others have their turn, one of whom does something the first time, and the answer."""
    rests = 0
    while True:
        try:
            calling.send(None)
        except StopIteration as done:
            return rests, done.value.raw
        rests += 1
        if rests == 1 and other is not None:
            other()


@each(
    ("path", "listed", "body"),
    [
        ("/charge/card", "/charge", {"amount": 5, "metadata": NOTE, **METHOD}),
        ("/customer/card", "/customer", {"firstName": "a", "metadata": NOTE, **METHOD}),
        ("/payment_method/card", "/payment_method?SortBy=dateAdded", {"metadata": NOTE, **METHOD}),
        ("/payment_link", "/payment_link", LINK),
        ("/token/card", "/token?Limit=3", {"metadata": NOTE, **METHOD}),
    ],
)
def test_others_have_their_turn_between_its_rows(
    path: str, listed: str, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    api = Api()
    for _ in range(4):
        assert api.call("POST", path, body).status == 201
    sandbox = api.app.world.sandboxes.open(api.key, 0)
    assert sandbox.has_long
    sandbox.has_long = False
    plain, at_once = turns(listing(api, listed))
    sandbox.has_long = True
    with monkeypatch.context() as patched:
        patched.setattr(lists, "_PART", 60_000)
        assert turns(listing(api, listed)) == (plain + min(4, at_once.count(NOTE["note"].encode())), at_once)
        patched.setattr(lists, "LONG", 100_000)
        assert turns(listing(api, listed))[1] == at_once
        # What happens meanwhile is in the answer.
        _, later = turns(listing(api, listed), lambda: api.call("POST", path, body))
        assert later != at_once
    sandbox.has_long = False
    assert turns(listing(api, listed))[1] == later


def test_a_row_that_changes_meanwhile_is_shown_as_it_is_then(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api()
    charge, customer = api.charge(metadata=NOTE), {"firstName": "a", "metadata": NOTE, **METHOD}
    owner = api.call("POST", "/customer/card", customer).body["customerId"]
    monkeypatch.setattr(lists, "_PART", 60_000)
    changes = {
        "/charge": lambda: api.call("DELETE", f"/refund/{charge['chargeId']}?amount=1"),
        "/customer": lambda: api.call("PUT", f"/customer/{owner}", {"firstName": "Another"}),
    }
    for path, change in changes.items():
        before = api.call("GET", path).raw
        _, shown = turns(listing(api, path), change)
        assert before != shown == api.call("GET", path).raw


def test_an_empty_page_of_such_a_list_is_empty() -> None:
    api = Api()
    api.charge(metadata=NOTE)
    assert api.call("GET", "/charge?Reference=none").body == {"limit": 100, "skip": 0, "count": 0, "charges": []}
    assert api.call("GET", "/charge?Limit=0").status == 400


def test_copies_know_that_there_are_long_rows() -> None:
    api = Api()
    api.charge(metadata=NOTE)
    api.call("POST", "/__admin/fork", {"to": "sk_fork"})
    api.call("PUT", "/__admin/state", raw=api.call("GET", "/__admin/state").raw, key="sk_imported")
    sandboxes = api.app.world.sandboxes
    assert [sandboxes.open(key, 0).has_long for key in (api.key, "sk_fork", "sk_imported", "sk_new")] == [True] * 3 + [
        False
    ]


def test_assumptions_that_change_meanwhile_hold_for_every_row(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api()
    for _ in range(3):
        api.charge(capture=False, metadata=NOTE)
    monkeypatch.setattr(lists, "_PART", 60_000)
    rests, answer = turns(
        listing(api, "/charge"), lambda: api.call("PUT", "/__admin/assumptions", {"profile": "sdk"}, waits=True)
    )
    assert rests > 2
    assert answer.count(b'"AUTHORISE"') == 3
    assert answer.count(b'"Authorised"') == 0
