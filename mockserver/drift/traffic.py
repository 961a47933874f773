"""Exchanges as files: HAR 1.2, which ``--record`` writes and browsers too, and Postman collections. Nothing that is
written is secret: answers come masked, and requests are masked here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, ValidationError

from mockserver import __version__
from mockserver.adapters.scenario_files import bounded
from mockserver.domain.clock import iso, parse_instant
from mockserver.domain.masking import mask_text
from mockserver.domain.record import record
from mockserver.drift.asking import Answer
from mockserver.drift.comparison import Run
from mockserver.drift.walk import Played, op_of
from mockserver.scenario.matching import json_text
from mockserver.wire.jsonio import MalformedJson, loads
from mockserver.wire.masked_bodies import mask_json

_JSON, _TEXT = "application/json", "text/plain"
Model = TypeVar("Model", bound=BaseModel)


class BadTraffic(ValueError):
    """A file that cannot be read; the text has its name and the place of what is wrong."""


class _Message(BaseModel):
    httpVersion: str = "HTTP/1.1"
    cookies: list[object] = []
    headers: list[object] = []
    headersSize: int = -1
    bodySize: int = -1


class _Content(BaseModel):
    mimeType: str = _JSON
    text: str = ""


class _Sized(_Content):
    size: int = 0


class _Request(_Message):
    method: str
    url: str
    queryString: list[object] = []
    postData: _Content | None = None


class _Response(_Message):
    status: int
    statusText: str = ""
    redirectURL: str = ""
    content: _Sized = _Sized()


class _Entry(BaseModel):
    request: _Request
    response: _Response
    startedDateTime: str = ""
    time: float = 0
    cache: dict[str, object] = {}
    timings: dict[str, float] = {"send": 0, "wait": 0, "receive": 0}
    comment: str = ""


class _State(BaseModel):
    url: str
    run: str = Field(min_length=6)
    instant: str
    skipped: dict[str, str] = {}
    left: list[str] = []
    broken: str | None = None


class _Log(BaseModel):
    version: str = "1.2"
    creator: dict[str, object] = {"name": "mockserver", "version": __version__}
    drift: _State | None = Field(None, alias="_drift")
    entries: list[_Entry]


class _Har(BaseModel):
    log: _Log


class _Address(BaseModel):
    raw: str


class _Sent(BaseModel):
    raw: str = ""


class _Asked(BaseModel):
    method: str = "GET"
    url: _Address | str
    body: _Sent | None = None


class _Example(BaseModel):
    code: int = 0
    body: str | None = None


class _Item(BaseModel):
    item: list[_Item] | None = None
    request: _Asked | None = None
    response: list[_Example] = []


class _Variable(BaseModel):
    key: str = ""
    value: object = ""


class _Collection(BaseModel):
    item: list[_Item]
    variable: list[_Variable] = []


@record
class Recording:
    """A walk as it was played against ``url``."""

    url: str
    run: Run
    played: Played


@record
class Exchange:
    """One call as it was recorded; its path is empty where the service has none like it. ``status`` is 0 where the file
    has no answer."""

    method: str
    path: str
    body: object
    status: int
    answer: object


def written(recording: Recording) -> str:
    """The text of a recording."""
    played, run = recording.played, recording.run
    state = _State(
        url=recording.url,
        run=run.name,
        instant=iso(run.instant),
        skipped=played.skipped,
        left=played.left,
        broken=played.broken,
    )
    rows = [_entry(recording, call, answer) for call, answer in played.answers.items()]
    return _Har(log=_Log(_drift=state, entries=rows)).model_dump_json(by_alias=True, exclude_none=True, indent=1) + "\n"


def _entry(recording: Recording, call: str, answer: Answer) -> _Entry:
    asked = recording.played.asked[call]
    sent = None if asked.body is None else _Content(text=json_text(mask_json(asked.body)))
    url = recording.url.rstrip("/") + mask_text(asked.path)
    is_text = answer.known is None and isinstance(answer.body, str)
    text = str(answer.body) if is_text else json_text(answer.body)
    content = _Sized(mimeType=_TEXT if is_text else _JSON, text=text, size=len(text.encode()))
    return _Entry(
        request=_Request(method=asked.method, url=url, postData=sent),
        response=_Response(status=answer.status, content=content),
        startedDateTime=iso(recording.run.instant),
        comment=call,
    )


def read(path: Path) -> Recording:
    """A recording of a walk. Raises ``BadTraffic``, ``OSError``."""
    log = _read(path, _Har).log
    if log.drift is None:
        raise BadTraffic(f"{path}: log._drift: wanted a file that `mockserver drift --record` wrote")
    played = Played(skipped=log.drift.skipped, left=log.drift.left, broken=log.drift.broken)
    for index, row in enumerate(log.entries):
        text = row.response.content.text
        try:
            body = text if row.response.content.mimeType == _TEXT else loads(text.encode())
        except MalformedJson as fault:
            raise BadTraffic(f"{path}: log.entries[{index}].response.content.text: {fault}") from None
        played.answers[row.comment] = Answer(row.response.status, body, body)
    try:
        run = Run(log.drift.run, parse_instant(log.drift.instant))
    except ValueError as fault:
        raise BadTraffic(f"{path}: log._drift.instant: {fault}") from None
    return Recording(log.drift.url, run, played)


def _read(path: Path, model: type[Model]) -> Model:
    """A JSON file by its model. Raises ``BadTraffic`` with the place of the first fault, ``OSError``."""
    try:
        return model.model_validate_json(bounded(path))
    except ValidationError as faults:
        fault = faults.errors(include_input=False, include_url=False)[0]
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault["loc"]).lstrip(".")
        raise BadTraffic(f"{path}: {place + ': ' if place else ''}{fault['msg']}") from None
    except ValueError as fault:
        raise BadTraffic(f"{path}: {fault}") from None


def read_har(path: Path) -> list[Exchange]:
    """The exchanges of a HAR file. Raises ``BadTraffic``, ``OSError``."""
    return [
        _exchange(
            row.request.method,
            row.request.url,
            row.request.postData.text if row.request.postData else "",
            row.response.status,
            row.response.content.text,
        )
        for row in _read(path, _Har).log.entries
    ]


def read_postman(path: Path) -> list[Exchange]:
    """The requests of a Postman collection (format 2) with their first examples. Raises ``BadTraffic``, ``OSError``."""
    file = _read(path, _Collection)
    values = {one.key: str(one.value) for one in file.variable}

    def filled(text: str) -> str:
        return re.sub(r"\{\{\s*([\w.-]+)\s*\}\}", lambda found: values.get(found[1], found[0]), text)

    def exchanges(items: list[_Item]) -> Iterator[Exchange]:
        for one in items:
            yield from exchanges(one.item or [])
            if (asked := one.request) is not None:
                url = asked.url if isinstance(asked.url, str) else asked.url.raw
                example = one.response[0] if one.response else _Example()
                sent = filled(asked.body.raw) if asked.body else ""
                yield _exchange(asked.method, filled(url), sent, example.code, example.body or "")

    return list(exchanges(file.item))


def _exchange(method: str, url: str, sent: str, status: int, answer: str) -> Exchange:
    """A call by the path that the service knows, whatever stands before it in the address."""
    parts = urlsplit(url if "://" in url else f"https://{url.lstrip('/')}")
    names = parts.path.strip("/").split("/")
    paths = ["/" + "/".join(names[start:]) for start in range(len(names))]
    path = next((one for one in paths if op_of(method, one)), "")
    return Exchange(method, f"{path}?{parts.query}" if parts.query else path, _json(sent), status, _json(answer))


def _json(text: str) -> object:
    """What a text holds; None where it is not JSON."""
    with suppress(MalformedJson):
        return loads(text.encode("utf-8", "replace")) if text.strip() else None
    return None
