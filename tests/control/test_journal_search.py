"""Searches of the journal answer as a plain look at every entry would, whatever was read before,
while entries come and go."""

import json
from collections.abc import Callable, Coroutine, Iterator, Mapping
from random import Random
from sys import getsizeof
from typing import Any

import pytest

from mockserver.domain.masking import mask_query, mask_start, mask_text
from mockserver.domain.reading import number_of
from mockserver.domain.states import ChargeState
from mockserver.engine.journal import JournalEntry, size_of
from mockserver.engine.sandbox import Sandbox
from mockserver.scenario.decisions import fired_in
from mockserver.web.control import journal_search
from mockserver.web.control.entry_facts import facts_of, status_of
from mockserver.web.control.journal_search import (
    OPERATORS,
    PARTED,
    Found,
    Word,
    look_through,
    search_tests,
    text_of,
    words_of,
)
from mockserver.web.journaled import fields_of
from mockserver.web.runner import Runner
from mockserver.wire.jsonio import dumps
from mockserver.wire.masked_bodies import mask_body
from mockserver.wire.profile import profile_of
from tests.depth import tries
from tests.driving import CARD, DUMMY, Api

KEY = "sk_tests"
WRONG = ["nothing", "0" * 31 + "3", "4111 1111 1111 1111", "ö", "no%2574hing4111111111111111"]
POOR = "4000000000009995"
STOLEN = "4000000000009979"
ASKED = [
    "", "order", "-order", "order-3", "visa", "4111********1111", "4111111111111111", '"ann example"', "***", "null",
    '{"amount":', "100", "12.5", "1e2", "ö", "sk_***", "sk_tests", "declined", "post", "404", "-status:4xx", "GETa",
    "op:charge.*", "method:get", "path:/charge/nothing", "code:84", "code:15", "-code:84", "ref:order-3", "ref:ORDER",
    "-ref:order", "id:3", "id:no", "id:noth", "id:*", "-id:nothing", "amount:12.50", "amount:100", "-amount:5",
    "currency:aud", "-currency:nzd", "is:failed", "is:declined", "is:refused", "-is:scripted", "since:8",
    "currency:aud order -declined", "code:84 nothing", "ref:order-3 visa amount:12.5", "retried", "paid",
    "success", "x-order", "ref:x amount:7", '"success {"', '"authorised {"', "authorised", "-is:finding",
    "is:finding", "since:8 order", "op:clock.*", "-op:charge.get", "method:post -order-3", "status:2xx code:84",
    "since:30d -since:12",
]  # fmt: skip


def reference_of(entry: JournalEntry) -> str:
    charge = entry.described if "charge" in dict(entry.about) else None
    given = fields_of(entry).get("reference") or getattr(charge, "reference", None)
    return mask_start(given, 200).lower() if isinstance(given, str) else ""


def texts_of(entry: JournalEntry, word: Callable[[str], str]) -> list[str]:
    said = [entry.method, mask_text(entry.path), entry.op, str(status_of(entry) or "")]
    said += fired_in(entry.decisions)
    for event in entry.events:
        said += [
            event.subject,
            event.subject_id,
            event.what,
            word(event.after) if event.after else "",
        ]
    texts = [
        " ".join([*said, *entry.webhooks, *entry.warnings]),
        *([str(mask_query(entry.query))] if entry.query else []),
    ]
    texts += [dumps(mask_body(body)).decode() for body in (entry.raw, entry.answer) if body]
    return [text.lower() for text in texts]


def code_of(entry: JournalEntry) -> object:
    return json.loads(entry.answer).get("code") if (entry.status or 0) >= 400 else None


PLAIN: Mapping[str, Callable[[JournalEntry, str], bool]] = {
    "ref": lambda entry, wanted: wanted.lower() in reference_of(entry),
    "amount": lambda entry, wanted: number_of(fields_of(entry).get("amount")) == number_of(wanted),
    "code": lambda entry, wanted: code_of(entry) == int(wanted),
    "currency": lambda entry, wanted: facts_of(entry).get("currency", "").upper() == wanted.upper(),
    "id": lambda entry, wanted: (
        entry.number == number_of(wanted)
        or any(wanted in event.subject_id for event in entry.events)
        or any(wanted in mask_text(part) for part in entry.placeholders.values())
    ),
}


Texts = dict[tuple[int, str], list[str]]
"""What there is to read of entries, by number and the word for authorised, the same in every
search."""


def plainly(sandbox: Sandbox, text: str, window: range, read: Texts) -> list[int]:
    profile = profile_of(sandbox.assumed)

    def texts(entry: JournalEntry) -> list[str]:
        key = entry.number, profile.word(ChargeState.AUTHORISED)
        if key not in read:
            read[key] = texts_of(entry, profile.word)
        return read[key]

    def fits(word: Word, entry: JournalEntry) -> bool:
        if word.operator is None:
            return any(word.value in one for one in texts(entry))
        if (plain := PLAIN.get(word.operator)) is not None:
            return plain(entry, word.value)
        return OPERATORS[word.operator](sandbox, word.value)(entry)

    words = words_of(text, OPERATORS)
    entries = [entry for entry in sandbox.journal.entries if entry.number in window]
    return [
        entry.number
        for entry in entries
        if all(fits(word, entry) != word.excludes for word in words)
    ]


class _Turn:
    """Lets others have their turn."""

    def __await__(self) -> Iterator[None]:
        yield


async def in_another_turn(look: Callable[[], Any]) -> Any:
    """A thread that finds out what is looked for once others have done something."""
    await _Turn()
    return look()


def runner_of(api: Api) -> Runner:
    return api.app.world.runner


def sandbox_of(api: Api) -> Sandbox:
    found = api.app.world.sandboxes.get(KEY)
    assert found is not None
    return found


def something(api: Api, random: Random) -> None:
    number = random.randrange(9)
    match random.randrange(8):
        case 0:
            api.call("GET", f"/charge/{random.choice(WRONG)}")
        case 1:
            api.try_charge(
                12.5, reference=f"order-{number}", paymentInformation={**CARD, "cardNumber": POOR}
            )
        case 2:
            api.try_charge(amount=-1, reference="x-order", colour="red")
        case 3:
            api.call("GET", f"/charge?reference=order-{number}&cardNumber=41111111")
        case 4:
            api.call(
                "POST",
                "/charge/card",
                raw=b'{"amount": 1e2, "reference": "K\xc3\x96 sk_secret 5555555555554444"',
            )
        case 5:
            raw = f'{{ "Amount" : 1e2, "reference": "\\u00d6rder\\n", "providerId": "{DUMMY}"}}'.encode()
            api.call("POST", "/charge/card", raw=raw)
        case 6:
            api.call(
                "PUT",
                "/__admin/assumptions",
                {"profile": random.choice(["sdk", "documented"]), "provider.latency": "0s"},
            )
        case _:
            api.try_charge(
                number + 1,
                reference=f"order-{number}",
                currency=random.choice(["AUD", "NZD"]),
                capture=number < 6,
            )


def numbers_found(work: Coroutine[Any, Any, Found]) -> list[int]:
    while True:
        try:
            work.send(None)
        except StopIteration as end:
            return [entry.number for entry in end.value.entries]


class Search:
    """A search of some of the entries under way, and what a plain one found when it began."""

    def __init__(
        self, runner: Runner, sandbox: Sandbox, text: str, window: range, read: Texts
    ) -> None:
        self._text = text
        self._plain = plainly(sandbox, text, window, read)
        tests = search_tests(sandbox, text)
        begin, end = window.start - 1, max(window.stop, 1)
        self._found = look_through(runner, sandbox.journal, tests, begin, end)

    def is_over(self) -> bool:
        """After the next slice of it."""
        try:
            self._found.send(None)
        except StopIteration as end:
            found = [entry.number for entry in end.value.entries]
        else:
            return False
        assert found == self._plain, self._text
        return True


@pytest.mark.parametrize("seed", range(tries(2, 12)))
def test_searches_answer_as_a_plain_look_at_each_entry(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_search, "_SLICE", 3)
    random = Random(seed)
    api = Api(KEY, journal_limit=14)
    monkeypatch.setattr(runner_of(api), "look_aside", in_another_turn)
    under_way: list[Search] = []
    read: Texts = {}
    for _ in range(150):
        something(api, random)
        last = sandbox_of(api).journal.last
        windows = [
            range(last + 1),
            range(last - random.randrange(14), last + 1),
            range(last - random.randrange(14)),
        ]
        begun = [
            Search(runner_of(api), sandbox_of(api), random.choice(ASKED), window, read)
            for window in windows
        ]
        under_way = [one for one in [*begun, *under_way] if not one.is_over()]
    while under_way:
        under_way = [one for one in under_way if not one.is_over()]
    entries, profile = sandbox_of(api).journal.entries, profile_of(sandbox_of(api).assumed)
    assert any(entry.search_text for entry in entries)
    for entry in entries:
        assert [*filter(None, text_of(entry, profile).split(PARTED))] == texts_of(
            entry, profile.word
        )


def test_which_entries_have_a_finding_is_not_kept() -> None:
    api, found = Api(KEY), []
    for _ in range(2):
        api.try_charge(paymentInformation={**CARD, "cardNumber": STOLEN})
        found.append(
            [entry["id"] for entry in api.call("GET", "/__admin/journal?q=is:finding")["entries"]]
        )
    assert found == [[], [1, 2]]


def test_a_mark_that_moves_is_not_kept() -> None:
    api, found = Api(KEY), []
    for _ in range(2):
        api.call("POST", "/__admin/marks", {"name": "here"})
        for _ in range(2):
            api.call("GET", "/charge/nothing")
            entries = api.call("GET", "/__admin/journal?q=since:here")["entries"]
            found.append([entry["id"] for entry in entries])
    assert found == [[1], [1, 2], [3], [3, 4]]


def test_what_was_read_in_other_words_is_read_anew() -> None:
    api = Api(KEY)
    api.try_charge(capture=False)
    api.call("GET", "/charge/nothing")
    for profile in ("sdk", "documented", "sdk"):
        api.call("PUT", "/__admin/assumptions", {"profile": profile, "provider.latency": "0s"})
        sandbox = sandbox_of(api)
        found = look_through(
            runner_of(api), sandbox.journal, search_tests(sandbox, '"authorised authorised"'), 0
        )
        assert numbers_found(found) == ([1] if profile == "documented" else [])


def test_what_was_read_is_kept_with_its_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    api, read = Api(KEY, journal_limit=10), list[bytes]()
    for number in range(10):
        api.try_charge(5, reference=f"order-{number}")
    plain = journal_search.mask_body
    monkeypatch.setattr(journal_search, "mask_body", lambda body: read.append(body) or plain(body))
    for text in ("order", "visa", "-visa"):
        numbers_found(
            look_through(
                runner_of(api), sandbox_of(api).journal, search_tests(sandbox_of(api), text), 0
            )
        )
    assert len(read) == 20


def test_what_was_read_takes_no_more_than_its_entry() -> None:
    api = Api(KEY)
    api.charge()
    for number in (1, 40):
        body = b"[%b]" % b",".join([b'"\xf0\x9f\x92\xb3"'] * 100 * number)
        entry = JournalEntry(1, 0, "x", method="GET", path="/", raw=body, status=200)
        text = text_of(entry, profile_of(sandbox_of(api).assumed))
        assert (
            (entry.search_text is not None) is (getsizeof(text) <= size_of(entry)) is (number == 1)
        )
