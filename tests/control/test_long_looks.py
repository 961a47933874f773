"""What a look that lets others have their turn says of one instant belongs together, whatever they
do meanwhile."""

from collections.abc import Callable

import pytest

from mockserver.web import runner
from tests.driving import Api, Reply
from tests.few_rows import look_at_few_rows


def looked(api: Api, target: str, between: Callable[[], object], method: str = "GET") -> Reply:
    """The answer to a look, in the first pause of which something happens."""
    looking = api.calling(method, target)
    assert looking.send(None) is None
    between()
    while True:
        try:
            looking.send(None)
        except StopIteration as end:
            return end.value


def test_what_is_noted_while_the_journal_is_searched_is_found_after_the_last_that_was_reported(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "TURN", 0)
    for _ in range(4):
        api.charge()
    told = looked(api, "/__admin/journal?op=charge.*", api.charge).body
    assert (told["count"], told["last"], told["dropped"]) == (4, 4, 0)
    assert [
        one["id"]
        for one in api.get(f"/__admin/journal?op=charge.*&after={told['last']}")["entries"]
    ] == [5]


def test_a_search_in_a_thread_answers_as_of_the_instant_at_which_it_was_asked(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    look_at_few_rows(monkeypatch, 1)
    ids = [api.charge()["chargeId"] for _ in range(4)]
    runner = api.app.world.runner

    async def after_others(make: Callable[[], object]) -> object:
        api.charge()
        assert api.call("DELETE", f"/refund/{ids.pop()}").status == 200
        return make()

    monkeypatch.setattr(runner, "aside", after_others)
    objects = api.get("/__admin/objects?kind=charge&q=success").body
    assert objects["count"] == objects["counts"]["charge"] == len(objects["objects"]) == 4
    refunded = ids[-1]
    listed = api.get("/charge?sortBy=amount&status=SUCCESS")["charges"]
    assert [charge["status"] for charge in listed] == ["SUCCESS"] * 4
    assert refunded in [charge["chargeId"] for charge in listed]
    assert api.get(f"/charge/{refunded}")["status"] == "REFUND"
