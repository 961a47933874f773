"""Rows of a version with other fields: what has been added since has its default, what has gone is not read."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, make_dataclass
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mockserver.adapters.store_file import StoreFile
from mockserver.domain.charge import Charge
from mockserver.engine.codec import stored
from mockserver.engine.kept.commits import SERVER, Commit
from mockserver.engine.kept.forms import Forms
from mockserver.engine.tables import ROW_CLASSES
from tests.control.test_state import fill, fill_everything
from tests.store.twins import Kept, Twins


@dataclass
class Order:
    """The same record, as a later version has it."""

    id: str
    kind: str = "plain"
    amount: Decimal = Decimal(0)
    rows: list[str] = field(default_factory=list)
    note: str | None = None
    paid: Decimal | None = None


@pytest.fixture
def old() -> Forms:
    """The forms of a file that an older version has written."""
    forms = Forms()
    forms.of(make_dataclass("Order", [("id", str), ("gone", str), ("amount", Decimal), ("note", str | None, None)]))
    return forms


def test_rows_of_another_version_are_read_and_rows_of_this_one_stand_among_them(old: Forms) -> None:
    forms = Forms(tuple(old.fields.items()))
    form = forms.of(Order)
    assert forms.fields["Order"] == ("id", "gone", "amount", "note", "kind", "rows", "paid")
    assert form.to_value(["o-1", "old", "2.50", "tea"]) == Order("o-1", amount=Decimal("2.50"), note="tea")
    assert form.to_value(["o-1", "old"]) == Order("o-1")
    for order in (
        Order("o-2"),
        Order("o-3", amount=Decimal("0.00")),
        Order("o-4", "large", Decimal("1.10"), ["a"], "n", Decimal(3)),
        Order("o-5", rows=["b"]),
    ):
        plain = json.loads(json.dumps(form.to_plain(order)))
        assert form.to_value(plain) == order
        assert str(form.to_value(plain).amount) == str(order.amount)
    assert form.to_plain(Order("o-2")) == ["o-2"]
    # A version that knows fewer fields leaves alone what it does not know.
    later = Forms(tuple(forms.fields.items()))
    assert later.of(Order).to_plain(Order("o-5", rows=["b"])) == ["o-5", None, None, None, None, ["b"]]


@pytest.mark.parametrize("raw", [None, 7, "", [], {}, {"id": "o-1"}])
def test_what_was_not_written_is_refused(raw: Any) -> None:
    with pytest.raises((ValueError, LookupError, TypeError)):
        Forms().of(Order).to_value(raw)


def test_types_that_a_file_could_not_tell_apart_have_no_form() -> None:
    forms = Forms()
    forms.of(Order)
    with pytest.raises(TypeError, match="have the same name"):
        forms.of(make_dataclass("Order", [("id", str)]))
    with pytest.raises(TypeError, match="may be None, and that is not its default"):
        forms.of(make_dataclass("UncertainResult", [("note", str | None, field(default="-"))]))


def test_a_server_goes_on_with_a_file_in_another_order(tmp_path: Path) -> None:
    file, chance = StoreFile(tmp_path / "s.db"), Random(7)
    rows = []
    for number, cls in enumerate(ROW_CLASSES.values()):
        names = [one.name for one in stored(cls)]
        chance.shuffle(names)
        left_out = names.pop() if cls is not Charge else "descriptor"
        kept = [name for name in names if name != left_out]
        rows.append((SERVER, "fields", number, json.dumps([cls.__name__, ["gone", *kept]]).encode()))
    file.write(Commit(puts=rows))
    file.close()
    twins = Twins(tmp_path / "s.db", every=7)
    fill(twins)
    fill_everything(twins)
    twins.look()
    twins.advance("2d")
    twins.look()


def test_the_file_names_the_fields_of_each_type_once(tmp_path: Path) -> None:
    api = Kept(tmp_path / "s.db")
    for _ in range(3):
        api.charge()
        api.restart()
    api.kill()
    file = StoreFile(tmp_path / "s.db")
    named = [json.loads(value) for part, _, value in file.rows(SERVER) if part == "fields"]
    file.close()
    assert len({name for name, _ in named}) == len(named)
    assert dict(named)["Charge"] == [one.name for one in stored(Charge)]
