"""Recorded traffic as exchanges: HAR files, which browsers write and ``--record`` too, and Postman
collections.

What is no call of this service, or cannot be made again, is no fault of a file: it is kept with the
reason (``Exchange.lacks``), and the import leaves it out with a note.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from mockserver.domain.masking import mask_start
from mockserver.domain.record import record, replace
from mockserver.drift.file_parts import FilePart, document_of
from mockserver.web.routes import operation_of
from mockserver.wire.jsonio import MalformedJson, loads

PROVIDER_FIELD = "providerid"
"""The field, in small letters, that needs no value: where no earlier answer shows one, the usual
provider is meant."""

_LONGEST, _MOST_NAMED = 60, 5
"""Characters of the name of a variable that are shown, and variables of a call that are named."""


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


def read_har(path: Path) -> list[Exchange]:
    """The exchanges of a HAR file. Raises ``NotCompared``, ``OSError``."""
    exchanges = []
    for row in document_of(path).part("log").parts("entries"):
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
    file = document_of(path)
    return list(_exchanges_of(file, _values(file)))


def _exchanges_of(folder: FilePart, values: Mapping[str, str]) -> Iterator[Exchange]:
    """The requests of a collection, or of a folder in one, in their order."""
    for item in folder.parts("item"):
        if "item" in item.found:
            yield from _exchanges_of(item, values)
        else:
            yield _exchange_of_item(item, values)


def _exchange_of_item(item: FilePart, values: Mapping[str, str]) -> Exchange:
    """A request of a collection, with its first example as the answer, and its variables filled
    in."""
    address_alone = item.found.get("request")
    if isinstance(address_alone, str):
        # The format has this as short for a GET.
        request = FilePart({"url": address_alone}, item.place)
    else:
        request = item.part("request")
    body_part = request.optional_part("body")
    raw, mode = body_part.take("raw", str, ""), body_part.take("mode", str, "raw")
    body = _filled(_without_comments(raw), values)
    example = next(item.parts("response", []), FilePart({}, item.place))
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


def _values(part: FilePart) -> dict[str, str]:
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


def _address(request: FilePart) -> str:
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
