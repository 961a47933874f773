"""Walks as files: a recording is a HAR file (1.2), so that other tools read it too, with what HAR
does not know as ``_drift``. Nothing that is written is secret: answers come masked, and requests
are masked here.
"""

from collections.abc import Mapping
from pathlib import Path

from mockserver import __version__
from mockserver.domain.clock import iso, parse_instant
from mockserver.domain.masking import mask_text
from mockserver.domain.record import record
from mockserver.drift.differences import Run
from mockserver.drift.file_parts import FilePart, document_of
from mockserver.drift.peers import Answer, NotCompared
from mockserver.drift.playing import Played
from mockserver.scenario.values import json_text
from mockserver.wire.jsonio import MalformedJson, loads
from mockserver.wire.masked_bodies import mask_json

_JSON, _TEXT = "application/json", "text/plain"
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


@record
class Recording:
    """A walk as it was played against ``url``."""

    url: str
    run: Run
    played: Played


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
    log = document_of(path).part("log")
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


def _recorded_answer(response: FilePart) -> Answer:
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
