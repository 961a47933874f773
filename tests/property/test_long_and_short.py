"""What long tables are searched, copied and written with changes no answer: one server uses all of
it from a few rows on, the other looks at every row each time. Looks of the first are under way
while both are told the same."""

from collections.abc import Callable, Coroutine
from random import Random
from typing import Any
from urllib.parse import urlencode

import pytest

from mockserver.engine import indexed_table
from mockserver.engine.indexed_table import ListPage, Query, Table
from mockserver.web import runner
from mockserver.web.control import sandboxes as state
from mockserver.web.operations import batches, lists
from mockserver.wire import jsonio
from tests.depth import tries
from tests.driving import CARD, DUMMY, Api, Reply

pytestmark = pytest.mark.slow

FEW = {
    "STEP_ROWS": 3, "MOST_IN_STEP": 3, "RUN_ROWS": 2,
    "SLICE": 3, "_SLICE": 2, "_SHORT": 0, "LONG": 2, "PART": 60, "WINDOW": 80, "TURN": 0,
}  # fmt: skip
MODULES = (
    indexed_table, lists, batches, jsonio, runner, state,
)  # fmt: skip
KEYS = ("sk_tests", "sk_a", "sk_b")
WORDS = ("Ann", "a\0b", "ΣΑΣ", "İx", "straße", "x y", "4111", "*")
NUMBERS = ("4111111111111111", "5555555555554444", "4000000000000002")
FILTERS: dict[str, dict[str, tuple[object, ...]]] = {
    "charge": {
        "status": ("SUCCESS", "FAILED", "Authorised", "PARTIAL_REFUND"),
        "reference": WORDS,
        "currency": ("AUD", "nzd"),
        "amountGreaterThan": (1, 2.5),
        "amountLessThan": (2, 20),
        "cardNumber": ("4111", "555555", NUMBERS[0]),
        "sortBy": ("amount", "status", "refundedAmount"),
    },
    "customer": {
        "search": (*WORDS, "a", "x.c"),
        "includeRemoved": ("true",),
        "sortBy": ("firstName", "reference"),
    },
    "payment_method": {
        "search": (*WORDS, "41"),
        "includeRemoved": ("true",),
        "sortBy": ("dateRemoved",),
    },
}
SEARCHES = (
    "",
    "a",
    "-ann",
    "state:SUCCESS",
    "amount:2.5",
    "-currency:aud",
    "ref:ann",
    '"x y"',
    "id:a 41",
    "*",
)


def look_at_all(table: Table[Any], query: Query[Any]) -> ListPage[Any]:
    read = table._indexes
    found = [
        row
        for row in table.rows
        if all(read[name].check(values)(row) for name, values in query.equal)
        and all(test(row) for test in query.where)
    ]
    if query.descending:
        found.reverse()
    if query.sort is not None:
        found.sort(key=query.sort, reverse=query.descending)
    return ListPage(
        found[query.skip : query.skip + query.limit], len(found), query.limit, query.skip
    )


class Pair:
    """Two servers, and the looks of the first that are under way: each with what it must answer,
    None where that is what the second says when it ends."""

    def __init__(self, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.draw = Random(seed)
        self.long, self.short = Api(), Api()
        self.key = KEYS[0]
        self.ids: dict[str, list[str]] = {
            "charge": ["x"],
            "customer": ["x"],
            "payment_method": ["x"],
        }
        self.under_way: list[tuple[Coroutine[Any, Any, Reply], str, str, Reply | None]] = []
        self._patch = monkeypatch

    def few(self) -> None:
        for module in MODULES:
            for name in FEW.keys() & vars(module).keys():
                self._patch.setattr(module, name, FEW[name])

    def plainly(self, method: str, target: str, body: object = None, *, key: str) -> Reply:
        with self._patch.context() as patch:
            for module in MODULES:
                for name in FEW.keys() & vars(module).keys() - {"WINDOW"}:
                    patch.setattr(module, name, 10**9)
            patch.setattr(Table, "look", look_at_all)
            return self.short.call(method, target, body, key=key)

    def tell(self, method: str, target: str, body: object = None) -> Reply:
        found = self.long.call(method, target, body, key=self.key)
        wanted = self.plainly(method, target, body, key=self.key)
        assert (found.status, found.raw) == (wanted.status, wanted.raw), (method, target)
        return found

    def write(self) -> None:
        draw = self.draw
        kind = draw.choice(list(self.ids))
        card = {**CARD, "cardNumber": draw.choice(NUMBERS), "cardholder": draw.choice(WORDS)}
        body: dict[str, object] = {
            "providerId": DUMMY,
            "paymentInformation": card,
            "reference": draw.choice(WORDS),
        }
        body |= {"firstName": draw.choice(WORDS), "email": draw.choice(["a@x.com", "A@x.com"])}
        body |= {"amount": draw.choice([1, 2.5, 20]), "currency": draw.choice(["AUD", "NZD"])}
        body |= {"capture": draw.random() < 0.8} if kind == "charge" else {}
        made = self.tell("POST", f"/{kind}/card", body)
        self.ids[kind] += [value for name, value in made.body.items() if name == f"{camel(kind)}Id"]

    def change(self) -> None:
        draw = self.draw
        charge, customer, method = (draw.choice(ids) for ids in self.ids.values())
        told: list[tuple[str, str, object]] = [
            ("DELETE", f"/refund/{charge}?amount=0.5", None),
            ("POST", f"/charge/{charge}", {}),
            (
                "PUT",
                f"/customer/{customer}",
                {"firstName": draw.choice(WORDS), "reference": draw.choice(WORDS)},
            ),
            ("DELETE", f"/customer/{customer}", None),
            ("DELETE", f"/payment_method/{method}", None),
            ("POST", "/__admin/clock/advance", {"by": draw.choice(["1ms", "3s", "8d"])}),
        ]
        self.tell(*draw.choice(told))

    def target(self) -> str:
        draw = self.draw
        kind = draw.choice(list(FILTERS))
        if draw.random() < 0.3:
            return f"/__admin/objects?{urlencode({'kind': kind, 'q': draw.choice(SEARCHES), 'limit': 5})}"
        asked = {
            name: draw.choice(values)
            for name, values in FILTERS[kind].items()
            if draw.random() < 0.3
        }
        page = {
            "limit": draw.choice([1, 5, 100]),
            "skip": draw.choice([0, 2]),
            "sortOrder": draw.choice(["asc", "desc"]),
        }
        return f"/{kind}?{urlencode({**asked, **page})}"

    def look(self) -> None:
        target = self.target()
        # Two of one kind at once would count as calls in the order of their beginning.
        if any(target.split("?")[0] == other.split("?")[0] for _, other, _, _ in self.under_way):
            return
        if self.draw.random() < 0.5:
            self.tell("GET", target)
        else:
            self.under_way.append(
                (self.long.calling("GET", target, key=self.key), target, self.key, None)
            )

    def export(self) -> None:
        self.end()
        target = "/__admin/state?secrets=true"
        wanted = self.plainly("GET", target, key=self.key)
        self.under_way.append(
            (self.long.calling("GET", target, key=self.key), target, self.key, wanted)
        )
        self.go_on()

    def go_on(self) -> None:
        if not self.under_way:
            return
        one = self.draw.choice(self.under_way)
        work, target, key, wanted = one
        found = None
        try:
            work.send(None)
        except StopIteration as end:
            found = end.value
        if found is not None:
            self.under_way.remove(one)
            wanted = wanted or self.plainly("GET", target, key=key)
            assert (found.status, found.raw) == (wanted.status, wanted.raw), target

    def end(self) -> None:
        while self.under_way:
            self.go_on()

    def replace(self) -> None:
        """Another sandbox takes the place of this one, or of another; exports of it go on."""
        while any(wanted is None for *_, wanted in self.under_way):
            self.go_on()
        draw = self.draw
        match draw.choice(["fork", "fork", "fork", "fork", "reset", "undo", "import", "replay"]):
            case "fork":
                self.tell(
                    "POST",
                    "/__admin/fork",
                    {"to": draw.choice([key for key in KEYS if key != self.key])},
                )
                self.key = draw.choice(KEYS)
            case "import":
                document = self.tell("GET", "/__admin/state?secrets=true")
                self.tell("PUT", "/__admin/state?undo=true", document.body)
                assert self.tell("GET", "/__admin/state?secrets=true").raw == document.raw
            case "replay":
                to = draw.choice([key for key in KEYS if key != self.key])
                self.tell("POST", "/__admin/fork", {"to": to, "at": draw.randrange(1, 200)})
            case other:
                self.tell("POST", f"/__admin/{other}" + ("?undo=true" if other == "reset" else ""))


def camel(kind: str) -> str:
    first, *rest = kind.split("_")
    return first + "".join(map(str.capitalize, rest))


@pytest.mark.parametrize("seed", range(tries(3, 200)))
def test_every_answer_is_that_of_a_look_at_all_rows(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = Pair(seed, monkeypatch)
    pair.few()
    acts: list[Callable[[], None]] = [
        pair.write,
        pair.change,
        pair.look,
        pair.go_on,
        pair.export,
        pair.replace,
    ]
    for act in pair.draw.choices(acts, [20, 20, 20, 60, 2, 2], k=600):
        act()
    pair.end()
    for key in KEYS:
        pair.key = key
        for target in (
            "state",
            "state?secrets=true",
            "journal?limit=1000",
            "timeline?q=success",
            "findings",
        ):
            pair.tell("GET", f"/__admin/{target}")
