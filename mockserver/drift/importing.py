"""A scenario made of recorded traffic: its example expects what was recorded, as far as this
product answers so.

Source: docs/drift.md, Recorded traffic.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial

from mockserver.domain.batch import BatchRow, read_lines
from mockserver.domain.clock import Micros, iso
from mockserver.domain.masking import CARD_VARIABLE, mask_text, printable, sendable_field
from mockserver.drift.peers import opening
from mockserver.drift.traffic import PROVIDER_FIELD, Exchange
from mockserver.drift.walk import DUMMY
from mockserver.scenario.answers import ready
from mockserver.scenario.paths import STORED
from mockserver.scenario.scenario import CallMap
from mockserver.wire.masked_bodies import mask_json

_CARD, _CCV = "4111111111111111", "123"
_CALL = re.compile(r"( *)(?:.*calls: \[)?(?:- )?\{?id: (call\d+)\b")
"""The line of a scenario's text in which a call begins."""

_NAMING = ("token", *(f"{kind.replace('_', '')}id" for kind in STORED if kind != "provider"))
"""How the names of fields end, in small letters, that name objects of the service. Any provider is
the usual one."""

_LONGEST = 100
_ID = re.compile(r"(?=[\w-]*\d)[\w-]{16,64}")


async def scenario_of(
    exchanges: Sequence[Exchange], name: str, instant: Micros
) -> tuple[dict[str, object], list[str], dict[str, str]]:
    """The plain data of a scenario, a sentence on each exchange that is not in it or is answered in
    another way here, and by their ids what was recorded of calls that fail on one side only. Cards
    become test cards, keys are left out, and ids stand for those of earlier answers."""
    server = opening("documented", instant)({})
    calls, notes, unlike = list[dict[str, object]](), list[str](), dict[str, str]()
    answers, known = dict[str, object](), dict[str, str]()
    for place, one in enumerate(exchanges, 1):
        shown = f"exchange {place}"
        if not one.path:
            notes.append(f"{shown}: left out, the service has no such operation")
            continue
        if one.lacks:
            notes.append(f"{shown} {one.method} {mask_text(one.path)}: left out, {one.lacks}")
            continue
        path, body = _named(mask_text(one.path), known), mask_json(one.body, partial(_sent, known))
        if any(map(_ID.fullmatch, path.partition("?")[0].split("/"))):
            notes.append(
                f"{shown} {one.method} {path}: left out, no earlier exchange made what it names"
            )
            continue
        if unknown := next(_unknown(body), None):
            notes.append(
                f"{shown} {one.method} {path}: left out, no earlier exchange made what {unknown} "
                "names"
            )
            continue
        call = CallMap(id=f"call{place}", call=f"{one.method} {path}", body=body)
        try:
            answer = await server.ask(ready(call, answers))
        except LookupError as missing:
            notes.append(f"{shown} {call}: left out, {missing.args[0]}")
            continue
        answers[str(call.id)] = answer.known
        known |= {
            text: f"{{{call.id}.{way}}}"
            for text, way in _ids(one.answer, answer.known)
            if text not in known
        }
        expect: dict[str, object] = {"status": answer.status}
        if one.status in (0, answer.status):
            agreed = _agreed(one.answer, _agreed(answer.body, answer.known))
            expect |= {"body": agreed} if agreed else {}
        else:
            notes.append(f"{shown} {call}: recorded {one.status}, answered {answer.status} here")
            if one.status // 100 != answer.status // 100:
                unlike[f"call{place}"] = (
                    f"recorded: {one.status}{_reason(one.answer)}; answered {answer.status} here"
                )
        made: dict[str, object] = {"id": call.id, "call": call.call, "expect": expect}
        calls.append(made if body is None else {**made, "body": body})
    head = {
        "version": 1,
        "name": name,
        "description": "Recorded traffic",
        "clock": {"start": iso(instant)},
    }
    return {**head, "examples": [{"name": "recorded", "calls": calls}]}, notes, unlike


def _reason(answer: object) -> str:
    """What a recorded refusal says of itself."""
    if not isinstance(answer, Mapping) or not {"message", "code"} <= answer.keys():
        return ""
    message, code = (
        " ".join(mask_text(str(answer[name])).split())[:_LONGEST] for name in ("message", "code")
    )
    return printable(f" {message} (code {code})")


def commented(text: str, unlike: Mapping[str, str]) -> str:
    """The text of a scenario with what was recorded above each of these calls."""
    lines = list[str]()
    for line in text.splitlines(keepends=True):
        found = _CALL.match(line)
        if found is not None and found[2] in unlike:
            lines.append(f"{found[1]}# {unlike[found[2]]}\n")
        lines.append(line)
    return "".join(lines)


def _sent(known: Mapping[str, str], name: str, text: str) -> str:
    """A text of a request, fit to be sent again: test cards and ccvs, the usual provider where no
    answer shows one."""
    if name.lower() == PROVIDER_FIELD and text not in known:
        return DUMMY
    found = _named(sendable_field(name, text), known)
    if found == CARD_VARIABLE or re.fullmatch(r"[\d* ]*\*[\d* ]*", found):
        return _CARD if len(found) > len(_CCV) else _CCV
    return found


def _unknown(body: object, name: str = "") -> Iterator[str]:
    """The fields of a body that name objects which no earlier answer shows: theirs are ids, not yet
    placeholders."""
    match body:
        case Mapping():
            for key, value in body.items():
                # What metadata says is the shop's own.
                yield from _unknown(value, key) if key.lower() != "metadata" else ()
        case list():
            for value in body:
                yield from _unknown(value, name)
        case str() if name.lower() == "batch":
            rows = (row for _, row in read_lines(body) if isinstance(row, BatchRow))
            yield from (
                "its PaymentMethodId" for row in rows if _ID.fullmatch(row.payment_method_id)
            )
        case str() if name.lower().endswith(_NAMING) and _ID.fullmatch(body):
            yield name
        case _:
            pass


def _named(text: str, known: Mapping[str, str]) -> str:
    """The text with the ids of earlier answers as placeholders."""
    return re.sub(r"[\w-]{16,64}", lambda found: known.get(found[0], found[0]), text)


def _ids(recorded: object, own: object, way: str = "") -> Iterator[tuple[str, str]]:
    """The ids of a recorded answer, with the way to the same member of our own."""
    match recorded, own:
        case Mapping(), Mapping():
            for key in recorded.keys() & own.keys():
                yield from _ids(recorded[key], own[key], f"{way}.{key}".lstrip("."))
        case list(), list():
            for index, (one, other) in enumerate(zip(recorded, own, strict=False)):
                yield from _ids(one, other, f"{way}.{index}".lstrip("."))
        case str(), str() if _ID.fullmatch(recorded) and recorded != own:
            yield recorded, way


def _agreed(recorded: object, own: object) -> object:
    """What both answers say alike, for an example to expect: members that are equal and no id."""
    match recorded, own:
        case Mapping(), Mapping():
            both = {key: _agreed(recorded[key], own[key]) for key in own if key in recorded}
            return {key: one for key, one in both.items() if one is not None} or None
        case list(), list() if recorded and len(recorded) == len(own):
            items = [_agreed(one, other) for one, other in zip(recorded, own, strict=True)]
            return items if None not in items else None
        case ((str() | bool() | int() | Decimal()), _) if (
            type(recorded) is type(own) and recorded == own
        ):
            return recorded if not (isinstance(recorded, str) and _ID.fullmatch(recorded)) else None
        case _:
            return None
