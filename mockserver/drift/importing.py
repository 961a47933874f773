"""A scenario made of recorded traffic: its example expects what was recorded, as far as this
product answers so.

Recorded ids mean nothing here. So each call is made at once in a sandbox of this product, and the
ids in its recorded answer are set beside those of ours: where a later call names one of the first,
a placeholder stands for the second (``{call3.chargeId}``). What is expected is what both answers
say alike. A call that names what no earlier one has made is left out, with a note.

Source: docs/drift.md, Recorded traffic.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from functools import partial

from mockserver.domain.batch import BatchRow, read_lines
from mockserver.domain.clock import Micros, iso
from mockserver.domain.masking import CARD_VARIABLE, mask_text, printable, sendable_field
from mockserver.domain.record import mutable, record
from mockserver.drift.peers import Answer, Peer, opening
from mockserver.drift.traffic import PROVIDER_FIELD, Exchange
from mockserver.drift.walk import DUMMY
from mockserver.scenario.answers import ready
from mockserver.scenario.scenario import CallMap
from mockserver.scenario.stored_fields import STORED
from mockserver.wire.masked_bodies import mask_json

_CARD, _CCV = "4111111111111111", "123"
"""Test values in the place of those that were masked."""

_CALL = re.compile(r"( *)(?:.*calls: \[)?(?:- )?\{?id: (call\d+)\b")
"""The line of a scenario's text in which a call begins."""

_NAMING = ("token", *(f"{kind.replace('_', '')}id" for kind in STORED if kind != "provider"))
"""How the names of fields end, in small letters, that name objects of the service. Any provider is
the usual one."""

_LONGEST = 100
"""Characters of what a recorded refusal says."""

_ID = re.compile(r"(?=[\w-]*\d)[\w-]{16,64}")
"""A text that is an id: long, in one word, with a digit."""

_MAY_BE_ID = re.compile(r"[\w-]{16,64}")
_MASKED_NUMBER = re.compile(r"[\d* ]*\*[\d* ]*")


@record
class Imported:
    """The plain data of a ``scenario``; ``notes``, a sentence on each exchange that is not in it or
    is answered in another way here; and ``unlike``, by the ids of calls that fail on one side only,
    what was recorded of them."""

    scenario: dict[str, object]
    notes: list[str]
    unlike: dict[str, str]


async def scenario_of(exchanges: Sequence[Exchange], name: str, instant: Micros) -> Imported:
    """Make a scenario of exchanges, each of which is tried in a sandbox of this product. Cards
    become test cards, keys are left out, and ids stand for those of earlier answers."""
    # With the profile and at the instant at which the example is run again, else it would not come
    # true there.
    open_sandbox = opening("documented", instant)
    no_assumptions = dict[str, object]()
    importing = _Import(open_sandbox(no_assumptions))
    for place, exchange in enumerate(exchanges, 1):
        await importing.take(place, exchange)
    scenario = {
        "version": 1,
        "name": name,
        "description": "Recorded traffic",
        "clock": {"start": iso(instant)},
        "examples": [{"name": "recorded", "calls": importing.calls}],
    }
    return Imported(scenario, importing.notes, importing.unlike)


@mutable
class _Import:
    """The exchanges that were taken so far, as a scenario: the ``calls`` of the example, the
    ``answers`` of this product by call, and the ``placeholders`` for the ids that recorded answers
    have shown; ``notes`` and ``unlike`` as in ``Imported``."""

    server: Peer
    calls: list[dict[str, object]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unlike: dict[str, str] = field(default_factory=dict)
    answers: dict[str, object] = field(default_factory=dict)
    placeholders: dict[str, str] = field(default_factory=dict)

    async def take(self, place: int, exchange: Exchange) -> None:
        """Make a call of an exchange, try it here, and say what to expect; or note why not."""
        if not exchange.path:
            self._leave_out(f"{place}", "the service has no such operation")
            return
        if exchange.lacks:
            what = f"{exchange.method} {mask_text(exchange.path)}"
            self._leave_out(f"{place} {what}", exchange.lacks)
            return
        call = self._call_of(f"call{place}", exchange)
        unknown = _unknown_object(call.path, call.body)
        if unknown is not None:
            self._leave_out(f"{place} {call}", f"no earlier exchange made what {unknown}")
            return
        try:
            to_ask = ready(call, self.answers)
        except LookupError as missing:
            # The recorded answer has shown an id where ours has none.
            self._leave_out(f"{place} {call}", str(missing.args[0]))
            return
        answer = await self.server.ask(to_ask)
        self._add(call, exchange, answer)
        self._note_other_status(place, call, exchange, answer)

    def _leave_out(self, exchange: str, reason: str) -> None:
        """Note why an exchange is not in the scenario."""
        self.notes.append(f"exchange {exchange}: left out, {reason}")

    def _call_of(self, call_id: str, exchange: Exchange) -> CallMap:
        """The call of an exchange, fit to be made again: with test cards, and placeholders for what
        earlier answers have shown."""
        path = _with_placeholders(mask_text(exchange.path), self.placeholders)
        body = mask_json(exchange.body, partial(_text_to_send, self.placeholders))
        return CallMap(id=call_id, call=f"{exchange.method} {path}", body=body)

    def _add(self, call: CallMap, exchange: Exchange, answer: Answer) -> None:
        """Take a call into the example, and note what later ones may name of its answer."""
        call_id = str(call.id)
        self.answers[call_id] = answer.known
        # Where an answer has one id in several places the last one counts.
        ways = dict(_ids(exchange.answer, answer.known))
        for recorded_id, way in ways.items():
            # An id is that of the call that has made it, which is the first to show it.
            self.placeholders.setdefault(recorded_id, f"{{{call_id}.{way}}}")
        entry: dict[str, object] = {
            "id": call_id,
            "call": call.call,
            "expect": self._expected(exchange, answer),
        }
        if call.body is not None:
            entry["body"] = call.body
        self.calls.append(entry)

    def _expected(self, exchange: Exchange, answer: Answer) -> dict[str, object]:
        """What the example expects: the status of our answer, and of its body what both say."""
        expect: dict[str, object] = {"status": answer.status}
        # The answer of an exchange may not have been recorded.
        if exchange.status in (0, answer.status):
            # Of our own answer what masking leaves as it is: a test card may be none.
            agreed = _agreed(exchange.answer, _agreed(answer.body, answer.known))
            if agreed:
                expect["body"] = agreed
        return expect

    def _note_other_status(
        self, place: int, call: CallMap, exchange: Exchange, answer: Answer
    ) -> None:
        """Note that a call was recorded with another status (0: no answer was recorded). A status
        of another hundred, as a failure that was a success, is told in the text of the scenario
        too."""
        if exchange.status in (0, answer.status):
            return
        statuses = f"recorded {exchange.status}, answered {answer.status} here"
        self.notes.append(f"exchange {place} {call}: {statuses}")
        if exchange.status // 100 != answer.status // 100:
            recorded = f"{exchange.status}{_reason(exchange.answer)}"
            self.unlike[str(call.id)] = f"recorded: {recorded}; answered {answer.status} here"


def _unknown_object(path: str, body: object) -> str | None:
    """What in a call still has an id where the placeholder of an earlier answer should be, in
    words; None when nothing has."""
    segments = path.partition("?")[0].split("/")
    if any(_ID.fullmatch(segment) for segment in segments):
        return "it names"
    field_name = next(_fields_of_unknown(body), None)
    if field_name is not None:
        return f"{field_name} names"
    return None


def _reason(answer: object) -> str:
    """What a recorded refusal says of itself."""
    if not isinstance(answer, Mapping) or not {"message", "code"} <= answer.keys():
        return ""
    message, code = _short(answer["message"]), _short(answer["code"])
    return printable(f" {message} (code {code})")


def _short(value: object) -> str:
    """The beginning of a masked text in one line."""
    return " ".join(mask_text(str(value)).split())[:_LONGEST]


def commented(text: str, unlike: Mapping[str, str]) -> str:
    """The text of a scenario with a comment above each call that was answered otherwise when it was
    recorded (``unlike``, in words by the id of the call): the example expects our answer, and its
    reader sees both. The writer of YAML writes no comments, so they are put between its lines."""
    lines = list[str]()
    for line in text.splitlines(keepends=True):
        call = _CALL.match(line)
        if call is not None:
            indent, call_id = call.groups()
            if call_id in unlike:
                lines.append(f"{indent}# {unlike[call_id]}\n")
        lines.append(line)
    return "".join(lines)


def _text_to_send(placeholders: Mapping[str, str], name: str, text: str) -> str:
    """A text of a request, fit to be sent again: test cards and ccvs, the usual provider where no
    answer shows one."""
    if name.lower() == PROVIDER_FIELD and text not in placeholders:
        return DUMMY
    sendable = _with_placeholders(sendable_field(name, text), placeholders)
    is_masked_number = _MASKED_NUMBER.fullmatch(sendable) is not None
    if sendable != CARD_VARIABLE and not is_masked_number:
        return sendable
    # What is masked is a card number, or a ccv, by its length.
    return _CARD if len(sendable) > len(_CCV) else _CCV


def _fields_of_unknown(body: object, name: str = "") -> Iterator[str]:
    """The fields of a body that name objects which no earlier answer shows: theirs are ids, not yet
    placeholders."""
    match body:
        case Mapping():
            for key, value in body.items():
                # What metadata says is the shop's own.
                if key.lower() != "metadata":
                    yield from _fields_of_unknown(value, key)
        case list():
            for value in body:
                yield from _fields_of_unknown(value, name)
        case str() if name.lower() == "batch":
            for _, row in read_lines(body):
                if isinstance(row, BatchRow) and _ID.fullmatch(row.payment_method_id):
                    yield "its PaymentMethodId"
        case str() if name.lower().endswith(_NAMING) and _ID.fullmatch(body):
            yield name
        case _:
            pass


def _with_placeholders(text: str, placeholders: Mapping[str, str]) -> str:
    """The text with placeholders for the ids of earlier answers."""

    def placeholder_of(match: re.Match[str]) -> str:
        return placeholders.get(match[0], match[0])

    return _MAY_BE_ID.sub(placeholder_of, text)


def _ids(recorded: object, own: object, way: str = "") -> Iterator[tuple[str, str]]:
    """The ids of a recorded answer, with the way to the same member of our own."""
    match recorded, own:
        case Mapping(), Mapping():
            for key in recorded:
                if key in own:
                    yield from _ids(recorded[key], own[key], f"{way}.{key}".lstrip("."))
        case list(), list():
            # Where one is longer, nothing stands beside its rest.
            for index, (item, own_item) in enumerate(zip(recorded, own, strict=False)):
                yield from _ids(item, own_item, f"{way}.{index}".lstrip("."))
        # What is the same on both sides is the client's, such as a reference, and means the same.
        case str(), str() if _ID.fullmatch(recorded) and recorded != own:
            yield recorded, way


def _agreed(recorded: object, own: object) -> object:
    """What both answers say alike, for an example to expect: members that are equal and no id;
    None where they agree in nothing."""
    match recorded, own:
        case Mapping(), Mapping():
            members: dict[str, object] = {}
            for key in own:
                agreed = _agreed(recorded.get(key), own[key])
                if agreed is not None:
                    members[key] = agreed
            return members or None
        case list(), list() if recorded and len(recorded) == len(own):
            items = [_agreed(item, own_item) for item, own_item in zip(recorded, own, strict=True)]
            # A list can only be expected as a whole.
            return items if None not in items else None
        case str(), str() if _ID.fullmatch(recorded):
            return None
        # 1 and true are equal to Python, and to no client.
        case ((str() | bool() | int() | Decimal()), _) if type(recorded) is type(own):
            return recorded if recorded == own else None
        case _:
            return None
