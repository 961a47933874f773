"""What a look that lets others have their turn says of one instant belongs together, whatever they
do meanwhile."""

from collections.abc import Callable

import pytest

from mockserver.web import runner
from tests.driving import Api, Reply
from tests.pauses import look_at_few_rows


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


@pytest.mark.usefixtures("every_pause")
def test_objects_are_counted_when_they_are_found(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    look_at_few_rows(monkeypatch, 1)
    for _ in range(4):
        api.charge()
    told = looked(api, "/__admin/objects?kind=charge&q=success", api.charge).body
    assert told["count"] == told["counts"]["charge"] == len(told["objects"]) == 5
