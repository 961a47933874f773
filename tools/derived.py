"""Files of the product that are printed from its code, so that the server reads them and does not
load that code: a start is quick. Tests print each again, and fail where the file is another.

python -m tools.derived           write them; so does python -m tools.docs
python -m tools.derived FILE      write that one alone
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_origin

from httpx import ASGITransport, AsyncClient

from mockserver import create_app
from mockserver.adapters.scenario_files import TEST_VALUES, prepared, shipped_file
from mockserver.adapters.strict_yaml import read
from mockserver.findings.catalogue import CATALOGUE
from mockserver.scenario.operations import OPERATIONS
from mockserver.scenario.reference import json_schema
from mockserver.wire.fields import Body, nested_body, parts_of

ROOT = Path(__file__).resolve().parents[1]
_WIDTH = 120
_MARKS: Mapping[Any, str] = {Decimal: "#", int: "#", bool: "?"}
"""The marks of ``mockserver.scenario.request_fields`` by what fields hold."""


def requests() -> str:
    """The fields of the requests that rules may name: of each operation, and of each field that has
    some of its own."""
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
    return "\n".join(
        "".join(_line(name, words.values()) for name, words in one.items()) for one in paragraphs
    )


def calls() -> str:
    """The calls that ask for the operations which rules name."""
    from mockserver.web.routes import ROUTES

    rows = [f"{row.method} {row.path} {row.op}" for row in ROUTES if row.op in OPERATIONS]
    return "\n".join(rows) + "\n"


def _mark(annotation: Any, inner: type[Body] | None) -> str:
    """How the value of a field is read, as a mark."""
    parts = list(parts_of(annotation))
    origins = [get_origin(part) for part in parts]
    chosen = _enum_of(annotation) if inner is None else None
    many = ""
    if list in origins:
        many = "[]"
    elif dict in origins:
        many = "*"
    if chosen is not None:
        return f"{many}!{chosen.__module__.removeprefix('mockserver.domain.')}.{chosen.__name__}"
    if many or inner is not None:
        return many
    return next((mark for kind, mark in _MARKS.items() if kind in parts), "")


def _enum_of(annotation: Any) -> type[Enum] | None:
    """The first enumeration inside an annotation, such as one that may also be None."""
    if isinstance(annotation, type):
        return annotation if issubclass(annotation, Enum) else None
    return next(filter(None, map(_enum_of, get_args(annotation))), None)


def _line(name: str, words: Iterable[str]) -> str:
    """A name and its fields in one paragraph; nothing for one without fields."""
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
    return prepared(*read(path.read_text("utf-8"), path.name))


ORDER = {
    "amount": 20,
    "currency": "AUD",
    "reference": "order-1",
    "providerId": "a26c371f-94f6-40da-add2-28ec8e9da8ed",
    "paymentInformation": {"cardNumber": "4111111111111111", "expiryDate": "12/40", "ccv": "123"},
    "webhook": {"url": "http://127.0.0.1:4111/__inbox/shop?publicKey=pk_demo"},
}
FIRST = """version: 1
name: first
rules:
  - id: large
    when: {op: charge.create, request.amount: {gt: 1000}}
    then: {decline: insufficient_funds}
"""
_LONGEST, _MOST_ITEMS = 300, 2


def examples() -> str:
    """What each call of the control API answers to its example, in a sandbox that was used."""
    from mockserver.web.control.routes import CONTROL_ROUTES

    # What only reads leaves the sandbox as it is, so all of them may share one.
    reading = [row for row in CONTROL_ROUTES if row.method == "GET"]
    groups = [reading, *([row] for row in CONTROL_ROUTES if row.method != "GET")]
    answers: dict[str, dict[str, Any]] = {}
    for rows in groups:
        answers |= asyncio.run(_asked(rows))
    made = {_name(row): answers[_name(row)] for row in CONTROL_ROUTES}
    # The folder of the checkout differs from machine to machine.
    folder = f"{shipped_file(TEST_VALUES).parent}/"
    return json.dumps(made, indent=1, ensure_ascii=False).replace(folder, "scenarios/") + "\n"


def _name(row: Any) -> str:
    return f"{row.method} {row.path}"


async def _asked(rows: Iterable[Any]) -> dict[str, dict[str, Any]]:
    """The examples of rows and their answers, by call: in a sandbox with one paid order, whose
    webhook has come, and a scenario; what an import put aside, and another sandbox, are there
    too."""
    app = create_app(seed=1, clock="2031-03-01T00:00:00Z")
    key = {"x-secretkey": "sk_demo"}
    transport = ASGITransport(app=app)
    async with AsyncClient(
        transport=transport, base_url="http://127.0.0.1:4111", headers=key
    ) as client:
        exported = (await client.get("/__admin/state")).json()
        await client.put("/__admin/state", params={"undo": "true"}, json=exported)
        await client.put(
            "/__admin/scenarios", content=FIRST, headers={"content-type": "application/yaml"}
        )
        charge = (await client.post("/charge/card", json=ORDER)).json()
        await client.post("/__admin/clock/advance", json={"by": "1s"})
        webhook = (await client.get("/__admin/webhooks")).json()["webhooks"][0]
        other = (await client.get("/__admin/sandbox", headers={"x-secretkey": "sk_other"})).json()
        await client.post(
            "/charge/card", json={**ORDER, "amount": 5}, headers={"x-secretkey": "sk_other"}
        )
        names = {"$charge": charge["chargeId"], "$webhook": webhook["id"], "$other": other["id"]}
        return {_name(row): await _example(client, row, names, exported) for row in rows}


async def _example(
    client: AsyncClient, row: Any, names: Mapping[str, str], exported: Mapping[str, Any]
) -> dict[str, Any]:
    """The example of a row and its answer; ``names`` are the ids that stand for names in it, such
    as ``$charge``. What is exported, and so a document that is sent, is shown in part."""
    given = {name: names.get(value, value) for name, value in row.example.items() if name != "body"}
    body = row.example.get("body")
    is_document = body == "$exported"
    path = row.path.format(**given)
    query = {name: value for name, value in given.items() if f"{{{name}}}" not in row.path}
    content = None
    if body is not None:
        content = json.dumps(exported if is_document else body)
    answer = await client.request(
        row.method,
        path,
        params=query,
        headers={"content-type": "application/json"},
        content=content,
    )
    if answer.status_code != row.success:
        raise ValueError(f"{row.method} {path}: {answer.status_code} {answer.text}")
    shown = answer.json() if row.media == "application/json" else answer.text
    made: dict[str, Any] = {}
    if given:
        made["parameters"] = given
    if body is not None:
        made["body"] = _some(exported) if is_document else body
    made["answer"] = _some(shown) if row.reply == "DocumentAnswer" else _short(shown)
    return made


def _short(value: Any) -> Any:
    """A value with fewer items and characters, as an example shows it."""
    match value:
        case str():
            if len(value) <= _LONGEST:
                return value
            # No word is cut.
            return f"{value[:_LONGEST].rsplit(None, 1)[0]} ..."
        case list():
            return [_short(item) for item in value[:_MOST_ITEMS]]
        case dict():
            return {name: _short(item) for name, item in value.items()}
    return value


def _some(document: Mapping[str, Any]) -> dict[str, Any]:
    """The short members of a document."""
    return {name: value for name, value in document.items() if len(json.dumps(value)) <= _LONGEST}


def finding_names() -> str:
    """The names of findings, which scenarios may allow."""
    return "".join(f"{name}\n" for name in CATALOGUE)


FILES: Mapping[str, Callable[[], str]] = {
    # Before the schema, which holds them.
    "mockserver/scenario/finding_names.txt": finding_names,
    "mockserver/scenario/requests.txt": requests,
    "mockserver/scenario/calls.txt": calls,
    "scenarios/scenario.schema.json": schema,
    "mockserver/adapters/prepared_reading.json": prepared_reading,
    "mockserver/web/control/examples.json": examples,
}
"""What each file holds."""


def write() -> None:
    """Write every file, each in a process of its own: the code that prints one reads those before
    it, once."""
    for path in FILES:
        subprocess.run([sys.executable, "-m", "tools.derived", path], check=True)


def main() -> None:
    """Write what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("file", nargs="?", choices=FILES, metavar="FILE")
    path = parser.parse_args().file
    if path is None:
        write()
    else:
        (ROOT / path).write_text(FILES[path](), "utf-8")


if __name__ == "__main__":
    main()
