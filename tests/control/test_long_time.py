"""A long time with much to happen in it passes quickly, and in order (control document,
``/__admin/clock/advance``)."""

import json
import time
from decimal import Decimal

import pytest

from mockserver.domain.clock import MINUTE
from mockserver.domain.commands import NewCharge
from mockserver.domain.sources import CardSource
from mockserver.engine import charges, due
from mockserver.engine.step import unnoted
from tests.driving import CARD, DUMMY, NOW, Api

PENDING = 10_000


def test_a_year_with_ten_thousand_pending_entries_passes_within_a_second_of_work(api: Api) -> None:
    sandbox = api.app.world.sandboxes.open(api.key, NOW)
    card = CardSource(CARD["cardNumber"], CARD["expiryDate"], CARD["ccv"], provider_id=DUMMY)
    for number in range(PENDING):
        charges.create(unnoted(sandbox), NewCharge(card, Decimal(1 + number % 90), capture=False))
    begun = time.process_time()
    moved = api.call("POST", "/__admin/clock/advance", {"by": "365d"}).body
    spent = time.process_time() - begun
    assert moved["ran"] >= PENDING
    assert moved["pending"] == 0
    assert {charge.status.value for charge in sandbox.charges} == {"AUTHORISE_CANCELLED"}
    # Twice the promise: the machine that runs the tests may be busy.
    assert spent < 2


@pytest.mark.parametrize(
    ("what", "pieces"),
    [("batch_rows", 1), ("token_expiry", due.SLICE)],
    ids=["after a batch", "after a whole slice"],
)
def test_an_advance_ends_where_it_was_to_go_and_not_with_the_last_thing_on_the_way(
    api: Api, what: str, pieces: int
) -> None:
    sandbox = api.app.world.sandboxes.open(api.key, NOW)
    for _ in range(pieces):
        sandbox.schedule.plan(sandbox.now + MINUTE, due.Due(what), "nothing that is there")
    moved = api.call("POST", "/__admin/clock/advance", {"by": "1h"}).body
    assert (moved["now"], moved["ran"]) == ("2031-03-01T01:00:00.0000000Z", pieces)


@pytest.mark.parametrize(
    ("method", "path", "body", "field"),
    [
        ("PUT", "/__admin/clock", {"now": "2030-01-01T00:00:00Z"}, "Now"),
        ("POST", "/__admin/clock/advance", {"to": "2030-01-01T00:00:00Z"}, "To"),
        ("POST", "/__admin/clock/advance", {"by": "2920000d"}, "By"),
    ],
)
def test_a_clock_that_cannot_go_there_says_which_field_wanted_it(
    api: Api, method: str, path: str, body: object, field: str
) -> None:
    refused = api.call(method, path, body)
    assert (refused.status, list(refused.body["details"])) == (400, [field])
    assert api.call("GET", "/__admin/clock").body["now"] == "2031-03-01T00:00:00.0000000Z"


def test_a_fork_has_the_rows_of_batches_side_by_side_in_the_order_in_which_they_were_taken() -> (
    None
):
    declined = {"id": "declined", "when": {"op": "batch.row"}, "then": {"decline": "do_not_honour"}}
    api = Api(scenario=json.dumps({"version": 1, "rules": [declined]}))
    method = api.method()
    for batch in range(3):
        api.batch(*(f"{method},1,AUD,{batch}-{row}" for row in range(3)))
    moved = api.post("/__admin/clock/advance", {"by": "1m"})["now"]
    (last,) = api.get("/__admin/journal", limit=1, q="op:clock.advance")["entries"]
    assert (last["at"], api.post("/__admin/fork", {"to": "sk_fork", "at": last["id"]}).status) == (
        moved,
        201,
    )
    assert api.call("GET", "/charge", key="sk_fork").raw == api.call("GET", "/charge").raw
