"""Files of the product that are printed from its code, so that the server reads them and does not load that code.

python -m tools.derived         write them; so does python -m tools.docs
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, cast, get_args, get_origin

from mockserver.adapters.scenario_files import TEST_VALUES, prepared, shipped_file
from mockserver.adapters.strict_yaml import read
from mockserver.scenario.operations import OPERATIONS
from mockserver.scenario.reference import json_schema
from mockserver.wire.base import Body
from mockserver.wire.fields import nested_body, parts_of

ROOT = Path(__file__).resolve().parents[1]
_WIDTH = 120
_MARKS: Mapping[Any, str] = {Decimal: "#", int: "#", bool: "?"}
"""The marks of ``mockserver.scenario.paths`` by what fields hold."""


def requests() -> str:
    """The fields of the requests that rules may name: of each operation, and of each field that has some of its own."""
    from mockserver.web.routes import FORM_ROUTES, ROUTES

    tops: dict[str, dict[str, str]] = {op: {} for op in OPERATIONS}
    parts: dict[str, dict[str, str]] = {}

    def gather(model: type[Body], fields: dict[str, str]) -> None:
        for field in model.model_fields.values():
            word = str(field.alias)
            inner = nested_body(field.annotation)
            fields[word] = word + _mark(field.annotation, inner)
            if inner is not None:
                gather(inner, parts.setdefault(word, {}))

    for row in (*ROUTES, FORM_ROUTES["payment_link.pay"], FORM_ROUTES["charge.challenge"]):
        for model in (row.body, row.query):
            if model is not None:
                gather(model, tops[row.op])
    paragraphs = (tops, dict(sorted(parts.items())))
    return "\n".join("".join(_line(name, words.values()) for name, words in one.items()) for one in paragraphs)


def _mark(annotation: Any, inner: type[Body] | None) -> str:
    """How the value of a field is read, as a mark."""
    parts = list(parts_of(annotation))
    origins = [get_origin(part) for part in parts]
    chosen = _enum_of(annotation) if inner is None else None
    many = "[]" if list in origins else "*" if dict in origins else ""
    if chosen is not None:
        return f"{many}!{chosen.__module__.removeprefix('mockserver.domain.')}.{chosen.__name__}"
    return many or next((mark for kind, mark in _MARKS.items() if inner is None and kind in parts), "")


def _enum_of(annotation: Any) -> type[Enum] | None:
    if isinstance(annotation, type):
        return annotation if issubclass(annotation, Enum) else None
    return next((found for part in get_args(annotation) if (found := _enum_of(part))), None)


def _line(name: str, words: Iterable[str]) -> str:
    if not words:
        return ""
    text = " ".join([name, *sorted(words)])
    return textwrap.fill(text, _WIDTH, subsequent_indent="  ", break_on_hyphens=False) + "\n"


def schema() -> str:
    """The schema of scenario files for editors."""
    return json.dumps(json_schema(), indent=1) + "\n"


def prepared_reading() -> str:
    """What a reader of YAML makes of the scenario of the server, so that it starts without one."""
    path = shipped_file(TEST_VALUES)
    text = path.read_text("utf-8")
    document = read(text, path.name)
    return prepared(text, cast(dict[str, Any], document.data), document.positions)


FILES: Mapping[str, Callable[[], str]] = {
    "mockserver/scenario/requests.txt": requests,
    "scenarios/scenario.schema.json": schema,
    "mockserver/adapters/prepared_reading.json": prepared_reading,
}
"""What each file holds."""


def write() -> None:
    """Write every file."""
    for path, text in FILES.items():
        (ROOT / path).write_text(text(), "utf-8")


if __name__ == "__main__":
    write()
