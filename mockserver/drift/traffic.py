"""Exchanges as files: HAR 1.2, which ``--record`` writes and browsers too, and Postman collections.
Nothing that is written is secret: answers come masked, and requests are masked here.

Files come from anywhere, so each member is taken with its kind, and what is wrong is named by its
place in the file (``_Part``). What is no call of this service, or cannot be made again, is no
fault of a file: it is kept with the reason (``Exchange.lacks``), and the import leaves it out with
a note.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from mockserver import __version__
from mockserver.adapters.scenario_files import bounded
from mockserver.domain.clock import iso, parse_instant
from mockserver.domain.masking import mask_start, mask_text
from mockserver.domain.record import record, replace
from mockserver.drift.differences import Run
from mockserver.drift.peers import Answer, NotCompared
from mockserver.drift.walk import Played
from mockserver.scenario.values import json_text
from mockserver.web.routes import operation_of
from mockserver.wire.jsonio import MalformedJson, loads
from mockserver.wire.masked_bodies import mask_json

T = TypeVar("T")

MOST_BYTES = 10_000_000
"""Bytes of a recording, a HAR file, a collection."""

PROVIDER_FIELD = "providerid"
"""The field, in small letters, that needs no value: where no earlier answer shows one, the usual
provider is meant."""

_JSON, _TEXT = "application/json", "text/plain"
_DEEPEST = 100
"""Objects and lists within one another that are read of a file: collections have folders in
folders."""

_MESSAGE = {
    "httpVersion": "HTTP/1.1",
    "cookies": [],
    "headers": [],
    "headersSize": -1,
    "bodySize": -1,
}
"""What HAR wants of each request and response, and what is not kept of them."""

_TIMED = {"time": 0, "cache": {}, "timings": {"send": 0, "wait": 0, "receive": 0}}
"""What it wants of each entry."""

_LONGEST, _MOST_NAMED = 60, 5
"""Characters of the name of a variable that are shown, and variables of a call that are named."""

_KINDS: Mapping[type, str] = {
    str: "a text",
    int: "a whole number",
    list: "a list",
    dict: "an object",
}


@record
class Recording:
    """A walk as it was played against ``url``."""

    url: str
    run: Run
    played: Played


@record
class Exchange:
    """A recorded call; ``path`` is empty where the service has none like it, ``status`` 0 where it
    has no answer. ``lacks`` says why it cannot be made again as recorded: a body that is not JSON,
    a variable without a value."""

    method: str
    path: str
    body: object
    status: int
    answer: object
    lacks: str = ""


@record
class _Part:
    """An object in a file, with the members that it has there (``found``) and its place, as a
    refusal names it. Raises ``NotCompared`` for what is missing or of another kind."""

    found: Mapping[str, object]
    place: str

    def take(self, name: str, kind: type[T], otherwise: T | None = None) -> T:
        """A member; ``otherwise`` stands for one that is absent or null."""
        member = self.found.get(name)
        if member is None and otherwise is not None:
            return otherwise
        if not isinstance(member, kind):
            raise NotCompared(f"{self.place}{name}: wanted {_KINDS[kind]}")
        return member

    def part(self, name: str) -> _Part:
        """A member that is an object."""
        return _Part(self.take(name, dict), f"{self.place}{name}.")

    def optional_part(self, name: str) -> _Part:
        """A member that is an object; one without members where it is absent or null."""
        return _Part(self.take(name, dict, {}), f"{self.place}{name}.")

    def parts(self, name: str, otherwise: list[object] | None = None) -> Iterator[_Part]:
        """The items of a member that is a list of objects; ``otherwise`` stands for one that is
        absent or null."""
        for index, item in enumerate(self.take(name, list, otherwise)):
            if not isinstance(item, dict):
                raise NotCompared(f"{self.place}{name}[{index}]: wanted an object")
            yield _Part(item, f"{self.place}{name}[{index}].")


def _document(path: Path) -> _Part:
    """The JSON object of a file. Raises ``NotCompared``, ``OSError``."""
    try:
        document = loads(bounded(path, MOST_BYTES), _DEEPEST)
    except MalformedJson as fault:
        raise NotCompared(f"{path}:{fault.line}:{fault.column}: {fault.message}") from None
    except ValueError as fault:
        raise NotCompared(f"{path}: {fault}") from None
    if not isinstance(document, dict):
        raise NotCompared(f"{path}:1:1: wanted a JSON object")
    return _Part(document, f"{path}: ")


def written(recording: Recording) -> str:
    """The text of a recording: a HAR file, which has what HAR does not know as ``_drift``."""
    played, run = recording.played, recording.run
    state = {
        "url": recording.url,
        "run": run.name,
        "instant": iso(run.instant),
        "isPartial": played.is_partial,
        "skipped": played.skipped,
        "left": played.left,
        "broken": played.broken,
    }
    log = {
        "version": "1.2",
        "creator": {"name": "mockserver", "version": __version__},
        "_drift": state,
        "entries": [_entry(recording, call, answer) for call, answer in played.answers.items()],
    }
    return f"{json_text({'log': log})}\n"


def _entry(recording: Recording, call: str, answer: Answer) -> Mapping[str, object]:
    """An entry of a HAR file: a call of the walk and its answer, both masked."""
    sent = recording.played.asked[call]
    url = recording.url.rstrip("/") + mask_text(sent.path)
    request: dict[str, object] = {"method": sent.method, "url": url, "queryString": [], **_MESSAGE}
    if sent.body is not None:
        request["postData"] = {"mimeType": _JSON, "text": json_text(mask_json(sent.body))}
    media_type, text = _JSON, json_text(answer.body)
    if answer.known is None and isinstance(answer.body, str):
        # Of what was no JSON, or never came, the body says so in words.
        media_type, text = _TEXT, answer.body
    content = {"mimeType": media_type, "size": len(text), "text": text}
    response = {
        "status": answer.status,
        "statusText": "",
        "redirectURL": "",
        "content": content,
        **_MESSAGE,
    }
    began = iso(recording.run.instant)
    return {
        "startedDateTime": began,
        "comment": call,
        "request": request,
        "response": response,
        **_TIMED,
    }


def read_all(folder: Path) -> list[Recording]:
    """Every recording of a folder. Raises ``NotCompared``, ``OSError``."""
    files = sorted(folder.glob("*.har"))
    if not files:
        raise NotCompared(
            f"{folder}: wanted a folder with a recording, such as drift.har of --record"
        )
    return [_read(file) for file in files]


def _read(path: Path) -> Recording:
    """The recording that ``written`` has made."""
    log = _document(path).part("log")
    own = log.part("_drift")
    played = Played(
        skipped={str(call): str(lacks) for call, lacks in own.take("skipped", dict).items()},
        left=[str(what) for what in own.take("left", list)],
        broken=own.take("broken", str, "") or None,
        # What ``--record`` writes is whole; samples that somebody has made a recording of are not.
        is_partial=own.found.get("isPartial") is True,
    )
    for row in log.parts("entries"):
        played.answers[row.take("comment", str)] = _recorded_answer(row.part("response"))
    url, name, instant = own.take("url", str), own.take("run", str), own.take("instant", str)
    try:
        return Recording(url, Run(name, parse_instant(instant)), played)
    except ValueError as fault:
        raise NotCompared(f"{own.place}instant: {fault}") from None


def _recorded_answer(response: _Part) -> Answer:
    """An answer as it was recorded."""
    status, content = response.take("status", int), response.part("content")
    text = content.take("text", str)
    if content.take("mimeType", str) == _TEXT:
        return Answer(status, text, text)
    try:
        body = loads(text.encode())
    except MalformedJson as fault:
        raise NotCompared(f"{content.place}text: {fault}") from None
    return Answer(status, body, body)


def read_har(path: Path) -> list[Exchange]:
    """The exchanges of a HAR file. Raises ``NotCompared``, ``OSError``."""
    exchanges = []
    for row in _document(path).part("log").parts("entries"):
        request, response = row.part("request"), row.part("response")
        # A call without a body, and an answer that a browser did not keep, have no such members.
        sent = request.optional_part("postData").take("text", str, "")
        answer = response.optional_part("content").take("text", str, "")
        method, url = request.take("method", str), request.take("url", str)
        status = response.take("status", int)
        exchanges.append(_exchange(method, url, sent, status, answer))
    return exchanges


_VARIABLE = re.compile(r"\{\{\s*([^{}]+?)\s*\}\}")
_PATH_VARIABLE = re.compile(r"(?<=/):([\w.-]+)")
_TEXT_OR_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*(?:"|\Z))|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)


def read_postman(path: Path) -> list[Exchange]:
    """The requests of a Postman collection (format 2) with their first examples. Raises as
    ``read_har``."""
    file = _document(path)
    return list(_exchanges_of(file, _values(file)))


def _exchanges_of(folder: _Part, values: Mapping[str, str]) -> Iterator[Exchange]:
    """The requests of a collection, or of a folder in one, in their order."""
    for item in folder.parts("item"):
        if "item" in item.found:
            yield from _exchanges_of(item, values)
        else:
            yield _exchange_of_item(item, values)


def _exchange_of_item(item: _Part, values: Mapping[str, str]) -> Exchange:
    """A request of a collection, with its first example as the answer, and its variables filled
    in."""
    address_alone = item.found.get("request")
    if isinstance(address_alone, str):
        # The format has this as short for a GET.
        request = _Part({"url": address_alone}, item.place)
    else:
        request = item.part("request")
    body_part = request.optional_part("body")
    raw, mode = body_part.take("raw", str, ""), body_part.take("mode", str, "raw")
    body = _filled(_without_comments(raw), values)
    example = next(item.parts("response", []), _Part({}, item.place))
    answer, status = example.take("body", str, ""), example.take("code", int, 0)
    method, url = request.take("method", str, "GET"), _filled(_address(request), values)
    exchange = _exchange(method, url, body, status, answer)
    if mode != "raw" and body_part.found.get(mode):
        # A form, a file or the like stands under the name of its mode.
        words = f"its body is not JSON, but {mask_start(mode, _LONGEST)}"
        return replace(exchange, lacks=words)
    missing = _missing_variables(exchange, body)
    if missing:
        return replace(exchange, lacks=missing)
    return exchange


def _values(part: _Part) -> dict[str, str]:
    """The variables of a collection or an address by name. One without a value gets it as the
    collection is run."""
    values: dict[str, str] = {}
    for variable in part.parts("variable", []):
        name, value = str(variable.found.get("key")), variable.found.get("value")
        # Of several of one name the last one counts, also if it has no value.
        values.pop(name, None)
        if value not in (None, ""):
            values[name] = str(value)
    return values


def _replaced(names: re.Pattern[str], text: str, values: Mapping[str, str]) -> str:
    """The text with the value of each variable that has one; ``names`` finds them in it."""

    def value_of(match: re.Match[str]) -> str:
        return values.get(match[1], match[0])

    return names.sub(value_of, text)


def _address(request: _Part) -> str:
    """The address of a request, its path variables (``/charge/:chargeId``) replaced."""
    if isinstance(request.found.get("url"), str):
        return request.take("url", str)
    url = request.part("url")
    path, mark, query = url.take("raw", str).partition("?")
    return _replaced(_PATH_VARIABLE, path, _values(url)) + mark + query


def _filled(text: str, values: Mapping[str, str]) -> str:
    """The text with the variables of a collection that have a value."""
    return _replaced(_VARIABLE, text, values)


def _without_comments(text: str) -> str:
    """The text of a body with blanks for the comments that Postman leaves out as it sends it, all
    else in its place: a fault names its line and column."""

    def blanked(match: re.Match[str]) -> str:
        is_text = match[1] is not None
        return match[0] if is_text else re.sub(r"[^\n]", " ", match[0])

    return _TEXT_OR_COMMENT.sub(blanked, text)


def _missing_variables(exchange: Exchange, sent: str) -> str:
    """What says that variables of a call have no value; empty when all that matter have one.
    ``sent`` is the text of its body, which may be JSON only once they have."""
    path = exchange.path.partition("?")[0]
    variables = [match[0] for match in _PATH_VARIABLE.finditer(path)]
    texts = [exchange.path]
    if exchange.body is None:
        # It is not known which of its fields need a value.
        texts.append(sent)
    else:
        texts += _texts_that_need_values(exchange.body)
    for text in texts:
        variables += [match[0] for match in _VARIABLE.finditer(text)]
    if not variables:
        return ""
    names = [mask_start(name, _LONGEST) for name in dict.fromkeys(variables)][:_MOST_NAMED]
    verb = "has" if len(names) == 1 else "have"
    return f"{' and '.join(names)} {verb} no value in the file"


def _texts_that_need_values(value: object) -> Iterator[str]:
    """The texts of a body that a variable without a value spoils: all but the id of a provider, in
    whose place the usual provider is meant (``PROVIDER_FIELD``)."""
    match value:
        case str():
            yield value
        case Mapping():
            for name, member in value.items():
                if name.lower() != PROVIDER_FIELD:
                    yield from _texts_that_need_values(member)
        case list():
            for item in value:
                yield from _texts_that_need_values(item)
        case _:
            pass


def _exchange(method: str, url: str, sent: str, status: int, answer: str) -> Exchange:
    """A call by the path that the service knows, whatever stands before it in the address: a
    gateway or a version of its own, or a variable for all of that."""
    address, _, query = url.partition("#")[0].partition("?")
    path = _path_in(method, address)
    if path and query:
        path = f"{path}?{query}"
    body, lacks = None, ""
    try:
        body = _json(sent)
    except MalformedJson as fault:
        lacks = f"its body is not JSON: {str(fault).removeprefix('not JSON: ')}"
    answered = None
    # An answer in an example may be any text.
    with suppress(MalformedJson):
        answered = _json(answer)
    return Exchange(method, path, body, status, answered, lacks)


def _path_in(method: str, address: str) -> str:
    """The longest end of an address that is the path of an operation; empty where none is."""
    segments = address.rpartition("://")[2].strip("/").split("/")
    for start in range(len(segments)):
        candidate = "/" + "/".join(segments[start:])
        if operation_of(method, candidate):
            return candidate
    return ""


def _json(text: str) -> object:
    """What a text holds; None for a blank one. Raises ``MalformedJson``."""
    if not text.strip():
        return None
    return loads(text.encode("utf-8", "replace"))
