"""What those who watch a sandbox remember comes back with it."""

from pathlib import Path
from typing import Any

from tests.store.twins import Kept


def found(api: Kept) -> list[tuple[Any, ...]]:
    rows = api.get("/__admin/findings")["findings"]
    return [(row["finding"], row["about"], row["count"], len(row["evidence"])) for row in rows]


def compare(api: Kept, *rows: object) -> None:
    assert api.call("POST", "/__admin/books/compare", {"rows": list(rows)}).status == 200


def test_findings_come_back_with_their_evidence(tmp_path: Path) -> None:
    api = Kept(tmp_path / "s.db")
    api.charge()
    api.charge()
    before = found(api)
    assert before != []
    api.restart()
    assert found(api) == before


def test_a_finding_that_was_taken_back_stays_away_and_the_others_stay(tmp_path: Path) -> None:
    api = Kept(tmp_path / "s.db")
    other = {"charge": api.charge(amount=20)["chargeId"], "paid": 20}
    api.charge(reference="order-1", amount=20)
    compare(api, other, {"reference": "order-1", "paid": 10})
    assert [name for name, *_ in found(api)] == ["no-reference", "amount-differs"]
    # The books are right by now: what they were compared by is read anew.
    compare(api, other, {"reference": "order-1", "paid": 20})
    before = found(api)
    assert [name for name, *_ in before] == ["no-reference"]
    api.restart()
    assert found(api) == before


def test_numbers_go_on_where_they_were(tmp_path: Path) -> None:
    api = Kept(tmp_path / "s.db")
    api.charge()
    assert api.call("DELETE", "/__admin/findings").status == 200
    api.restart()
    assert found(api) == []
    api.charge()
    assert [row["id"] for row in api.get("/__admin/findings")["findings"]] == ["finding-2"]
