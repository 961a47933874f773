"""Exchanges as files: HAR 1.2, which ``--record`` writes and browsers too, and Postman collections.
Nothing that is written is secret: answers come masked, and requests are masked here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

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
_MESSAGE = {
    "httpVersion": "HTTP/1.1",
    "cookies": [],
    "headers": [],
    "headersSize": -1,
    "bodySize": -1,
}
_TIMED = {"time": 0, "cache": {}, "timings": {"send": 0, "wait": 0, "receive": 0}}
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
    """A part of a file that knows its place there. Raises ``NotCompared`` for what is missing or of
    another kind."""

    value: Any
    place: str

    def take(self, name: str, kind: type[T], otherwise: T | None = None) -> T:
        """A member; ``otherwise`` stands for one that is absent or null."""
        found = self.value.get(name)
        if found is None and otherwise is not None:
            return otherwise
        if not isinstance(found, kind):
            raise NotCompared(f"{self.place}{name}: wanted {_KINDS[kind]}")
        return found

    def part(self, name: str, otherwise: Mapping[str, object] | None = None) -> _Part:
        """A member that is an object."""
        return _Part(self.take(name, dict, otherwise and dict(otherwise)), f"{self.place}{name}.")

    def parts(self, name: str, otherwise: list[object] | None = None) -> Iterator[_Part]:
        """The items of a member that is a list of objects."""
        for index, item in enumerate(self.take(name, list, otherwise)):
            if not isinstance(item, dict):
                raise NotCompared(f"{self.place}{name}[{index}]: wanted an object")
            yield _Part(item, f"{self.place}{name}[{index}].")


def _document(path: Path) -> _Part:
    try:
        found = loads(bounded(path, MOST_BYTES), 100)
    except MalformedJson as fault:
        raise NotCompared(f"{path}:{fault.line}:{fault.column}: {fault.message}") from None
    except ValueError as fault:
        raise NotCompared(f"{path}: {fault}") from None
    if not isinstance(found, dict):
        raise NotCompared(f"{path}:1:1: wanted a JSON object")
    return _Part(found, f"{path}: ")


def written(recording: Recording) -> str:
    """The text of a recording."""
    played, run = recording.played, recording.run
    state = {
        "url": recording.url,
        "run": run.name,
        "instant": iso(run.instant),
        "isPartial": played.is_partial,
    }
    state |= {"skipped": played.skipped, "left": played.left, "broken": played.broken}
    rows = [_entry(recording, call, answer) for call, answer in played.answers.items()]
    creator = {"name": "mockserver", "version": __version__}
    return (
        json_text({"log": {"version": "1.2", "creator": creator, "_drift": state, "entries": rows}})
        + "\n"
    )


def _entry(recording: Recording, call: str, answer: Answer) -> Mapping[str, object]:
    asked = recording.played.asked[call]
    url = recording.url.rstrip("/") + mask_text(asked.path)
    request: dict[str, object] = {"method": asked.method, "url": url, "queryString": [], **_MESSAGE}
    if asked.body is not None:
        request["postData"] = {"mimeType": _JSON, "text": json_text(mask_json(asked.body))}
    is_text = answer.known is None and isinstance(answer.body, str)
    text = str(answer.body) if is_text else json_text(answer.body)
    content = {"mimeType": _TEXT if is_text else _JSON, "size": len(text), "text": text}
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
    return list(map(_read, files))


def _read(path: Path) -> Recording:
    log = _document(path).part("log")
    own = log.part("_drift")
    skipped = {str(call): str(lacks) for call, lacks in own.take("skipped", dict).items()}
    left, broken = [*map(str, own.take("left", list))], own.take("broken", str, "") or None
    played = Played(
        skipped=skipped, left=left, broken=broken, is_partial=own.value.get("isPartial") is True
    )
    for row in log.parts("entries"):
        response = row.part("response")
        content = response.part("content")
        text, status = content.take("text", str), response.take("status", int)
        try:
            body = text if content.take("mimeType", str) == _TEXT else loads(text.encode())
        except MalformedJson as fault:
            raise NotCompared(f"{content.place}text: {fault}") from None
        played.answers[row.take("comment", str)] = Answer(status, body, body)
    url, run, instant = (own.take(name, str) for name in ("url", "run", "instant"))
    try:
        return Recording(url, Run(run, parse_instant(instant)), played)
    except ValueError as fault:
        raise NotCompared(f"{own.place}instant: {fault}") from None


def read_har(path: Path) -> list[Exchange]:
    """The exchanges of a HAR file. Raises ``NotCompared``, ``OSError``."""
    found = []
    for row in _document(path).part("log").parts("entries"):
        request, response = row.part("request"), row.part("response")
        sent = request.part("postData", {"text": ""}).take("text", str, "")
        answer = response.part("content", {"text": ""}).take("text", str, "")
        method, url = request.take("method", str), request.take("url", str)
        found.append(_exchange(method, url, sent, response.take("status", int), answer))
    return found


_VARIABLE = re.compile(r"\{\{\s*([^{}]+?)\s*\}\}")
_PATH_VARIABLE = re.compile(r"(?<=/):([\w.-]+)")
_TEXT_OR_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*(?:"|\Z))|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)


def read_postman(path: Path) -> list[Exchange]:
    """The requests of a Postman collection (format 2) with their first examples. Raises as
    ``read_har``."""
    file = _document(path)
    values = _values(file)

    def exchanges(items: Iterator[_Part]) -> Iterator[Exchange]:
        for one in items:
            if "item" in one.value:
                yield from exchanges(one.parts("item"))
                continue
            is_address = isinstance(one.value.get("request"), str)
            # The format has an address alone as short for a GET.
            asked = (
                _Part({"url": one.value["request"]}, one.place)
                if is_address
                else one.part("request")
            )
            given = asked.part("body", {"raw": ""})
            sent, mode = given.take("raw", str, ""), given.take("mode", str, "raw")
            example = next(one.parts("response", []), _Part({}, one.place))
            answer, status = example.take("body", str, ""), example.take("code", int, 0)
            method, url = asked.take("method", str, "GET"), _filled(_address(asked), values)
            body = _filled(_without_comments(sent), values)
            made = _exchange(method, url, body, status, answer)
            is_other = mode != "raw" and bool(given.value.get(mode))
            missing = (
                f"its body is not JSON, but {mask_start(mode, _LONGEST)}"
                if is_other
                else _missing(made, body)
            )
            yield replace(made, lacks=missing) if missing else made

    return list(exchanges(file.parts("item")))


def _values(part: _Part) -> dict[str, str]:
    """The variables of a collection or an address by name. One without a value gets it as the
    collection is run."""
    given = {
        str(one.value.get("key")): one.value.get("value") for one in part.parts("variable", [])
    }
    return {name: str(value) for name, value in given.items() if value not in (None, "")}


def _address(request: _Part) -> str:
    """The address of a request, its path variables (``/charge/:chargeId``) replaced."""
    if isinstance(request.value.get("url"), str):
        return request.take("url", str)
    url = request.part("url")
    values = _values(url)
    path, mark, query = url.take("raw", str).partition("?")
    return _PATH_VARIABLE.sub(lambda found: values.get(found[1], found[0]), path) + mark + query


def _filled(text: str, values: Mapping[str, str]) -> str:
    """The text with the variables that have a value."""
    return _VARIABLE.sub(lambda found: values.get(found[1], found[0]), text)


def _without_comments(text: str) -> str:
    """The text of a body with blanks for the comments that Postman leaves out as it sends it, all
    else in its place."""
    return _TEXT_OR_COMMENT.sub(lambda found: found[1] or re.sub(r"[^\n]", " ", found[0]), text)


def _missing(made: Exchange, sent: str) -> str:
    """What says that variables of a call have no value; empty when all that matter have one."""
    address = made.path.partition("?")[0]
    found = [found[0] for found in _PATH_VARIABLE.finditer(address)]
    for text in [made.path, *(_texts(made.body) if made.body is not None else [sent])]:
        found += [found[0] for found in _VARIABLE.finditer(text)]
    names = [mask_start(name, _LONGEST) for name in dict.fromkeys(found)][:_MOST_NAMED]
    return (
        f"{' and '.join(names)} {'has' if len(names) == 1 else 'have'} no value in the file"
        if names
        else ""
    )


def _texts(value: object) -> Iterator[str]:
    """The texts of a body, but for that which names a provider."""
    match value:
        case str():
            yield value
        case Mapping():
            for name, one in value.items():
                yield from _texts(one) if name.lower() != PROVIDER_FIELD else ()
        case list():
            for one in value:
                yield from _texts(one)
        case _:
            pass


def _exchange(method: str, url: str, sent: str, status: int, answer: str) -> Exchange:
    """A call by the path that the service knows, whatever stands before it in the address."""
    address, _, query = url.partition("#")[0].partition("?")
    names = address.rpartition("://")[2].strip("/").split("/")
    paths = ["/" + "/".join(names[start:]) for start in range(len(names))]
    path = next((one for one in paths if operation_of(method, one)), "")
    body, lacks = None, ""
    try:
        body = loads(sent.encode("utf-8", "replace")) if sent.strip() else None
    except MalformedJson as fault:
        lacks = f"its body is not JSON: {str(fault).removeprefix('not JSON: ')}"
    return Exchange(
        method, f"{path}?{query}" if path and query else path, body, status, _json(answer), lacks
    )


def _json(text: str) -> object:
    """What a text holds; None where it is not JSON."""
    with suppress(MalformedJson):
        return loads(text.encode("utf-8", "replace")) if text.strip() else None
    return None
