"""The tools that ask a server, by its control API or the payments API, and those that look
something up."""

import asyncio
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, quote

import httpx

from mockserver.adapters.machine_clock import machine_now
from mockserver.adapters.scenario_files import load, read_text, shipped, shipped_file
from mockserver.domain.errors import nearest
from mockserver.domain.masking import mask_printed
from mockserver.domain.record import record
from mockserver.mcp.tools import (
    Arguments,
    Row,
    Schema,
    Tool,
    ToolRefused,
    argument,
    listed,
    masked,
    rows,
)
from mockserver.remote import ControlRefused, body_of
from mockserver.scenario.explain import explain
from mockserver.scenario.problems import ScenarioRefused
from mockserver.scenario.provider_outcome import CATALOGUE
from mockserver.web.control.description import control
from mockserver.web.control.routes import CONTROL_ROUTES
from mockserver.web.documentation import page_text
from mockserver.web.routes import operation_of
from mockserver.wire.jsonio import MalformedJson, dumps, loads
from mockserver.wire.masked_bodies import mask_json

DEFAULT_KEY = "sk_agent"
PATIENCE_SECONDS = 660.0
"""How long an answer may take: a call that lets time pass takes ten minutes at most."""

OPERATION_SECONDS = 35.0
"""The same of an operation: a client waits 30 s, and a scenario may let it wait for ever."""

_METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH")
_KEY = argument("string", f"Secret key of the sandbox; default {DEFAULT_KEY}.")


class Line:
    """The way to the server at an address, with its admin token; with ``app`` to that, in this
    process."""

    def __init__(self, url: str, admin_token: str | None, app: Any = None) -> None:
        self.url = url.rstrip("/")
        # In process by a name that every guard lets in.
        self._asked = self.url if app is None else "http://localhost"
        self._token = {} if admin_token is None else {"x-admin-token": admin_token}
        transport = None if app is None else httpx.ASGITransport(app)
        self._how: dict[str, Any] = {
            "transport": transport,
            "verify": self._asked.startswith("https:"),
        }

    async def ask(
        self,
        method: str,
        target: str,
        key: str | None = None,
        body: object = None,
        params: Any = None,
        *,
        patience: float = PATIENCE_SECONDS,
    ) -> tuple[int, bytes]:
        """Status and body of an answer; a body that is sent as text is YAML. Raises ``ToolRefused``
        where none came."""
        headers = {**self._token, **({} if key is None else {"x-secretkey": key})}
        sent: dict[str, Any] = {"headers": headers, "params": params or None}
        if body is not None or method != "GET":
            headers["content-type"] = (
                "application/yaml" if isinstance(body, str) else "application/json"
            )
            text = body if isinstance(body, str) else json.dumps(body or {})
            sent["content"] = text.encode("utf-8", "replace")
        try:
            async with httpx.AsyncClient(trust_env=False, timeout=None, **self._how) as client:  # noqa: S113
                answer = await asyncio.wait_for(
                    client.request(method, self._asked + target, **sent), patience
                )
        except (ConnectionError, httpx.RemoteProtocolError, httpx.ReadError):
            raise ToolRefused(
                "the connection was cut without a whole answer, as a scenario may want it"
            ) from None
        except httpx.ConnectError as problem:
            raise ToolRefused(
                f"no server at {self.url}: {problem}; `mockserver` starts one"
            ) from None
        except (TimeoutError, httpx.HTTPError, httpx.InvalidURL, ValueError) as problem:
            why = str(problem) or f"no answer came within {patience:g} s"
            raise ToolRefused(f"{method} {mask_printed(target[:200])}: {why}") from None
        return answer.status_code, answer.content

    async def call(
        self,
        method: str,
        target: str,
        key: str | None = None,
        body: object = None,
        params: Any = None,
    ) -> bytes:
        """The answer to a call. Raises ``ToolRefused`` when it is a refusal."""
        status, raw = await self.ask(method, target, key, body, params)
        if status < 300:
            return raw
        raise ToolRefused(masked(str(ControlRefused(f"{method} {target}", status, body_of(raw)))))


def _shown(raw: bytes) -> str:
    """The body of an answer as text, card numbers and keys masked."""
    try:
        return dumps(mask_json(loads(raw))).decode()
    except MalformedJson:
        return masked(raw.decode("utf-8", "replace"))


def server_tools(line: Line) -> Sequence[Tool]:
    """Every tool that asks the server at the end of a line, or looks something up."""
    own = [
        listed("open_sandbox", partial(_open_sandbox, line), reads=False),
        listed("operations", partial(_operations, line)),
        listed("call_operation", partial(_call_operation, line), reads=False),
        listed("explain", _explain),
        _looking_up("shipped_scenarios", _scenario),
        _looking_up("outcomes", _outcome),
        _looking_up("documentation", page_text),
    ]
    document = control(CONTROL_ROUTES, line.url)
    made = {tool.row.name: tool for tool in own}
    made |= {name: _control_tool(row, line, document) for name, row in rows().items() if row.call}
    return [made[name] for name in rows() if name in made]


async def _open_sandbox(line: Line, given: Arguments) -> str:
    key = str(given.get("key", DEFAULT_KEY))
    opened = await line.call(
        "POST", "/__admin/sandboxes", body={"key": key, "name": given.get("name", "agent")}
    )
    variables = {
        "MOCKSERVER_URL": line.url,
        "MOCKSERVER_PUBLIC_KEY": json.loads(opened)["publicKey"],
    }
    return json.dumps({"environment": variables, "sandbox": json.loads(_shown(opened))})


async def _call_operation(line: Line, given: Arguments) -> str:
    method, path = str(given["method"]).upper(), str(given["path"])
    if not _is_of_an_operation(path):
        raise ToolRefused(
            f"path: got '{mask_printed(path[:100])}', wanted that of an operation: see `operations`"
        )
    if method not in _METHODS:
        raise ToolRefused(
            f"method: got '{mask_printed(method[:100])}', allowed: {', '.join(_METHODS)}"
        )
    key, body = str(given.get("key", DEFAULT_KEY)), given.get("body")
    status, raw = await line.ask(method, path, key, body, patience=OPERATION_SECONDS)
    return f"{status}\n{_shown(raw)}"


async def _operations(line: Line, given: Arguments) -> str:
    described = json.loads(await line.call("GET", "/openapi.json"))
    wanted = str(given.get("find", "*")).lower()
    lines, known = list[str](), list[str]()
    for path, methods in described["paths"].items():
        for method, one in methods.items():
            known.append(one["description"].partition("Rule name: `")[2].partition("`")[0])
            if fnmatchcase(known[-1], wanted) or wanted in path:
                lines.append(f"{method.upper()} {path}  {known[-1]}  {one['summary']}")
                lines += _taken(one) if "find" in given else []
    if not lines:
        words = (
            f"got '{mask_printed(wanted[:60])}', which no operation or path "
            f"has{nearest(wanted, known)}"
        )
        raise ToolRefused(f"find: {words}")
    return "\n".join(lines)


def _control_tool(row: Row, line: Line, document: Mapping[str, Any]) -> Tool:
    """The tool of a call of the control API, which ``document`` describes."""
    method, path = row.call.split()
    operation = document["paths"][path][method.lower()]
    fixed, offered, has_key = (
        dict(parse_qsl(row.fixed)),
        row.offers.split(),
        bool(operation["security"]),
    )
    properties: dict[str, Schema] = {"key": _KEY} if has_key else {}
    required = list[str]()
    for one in operation.get("parameters", ()):
        name = one["name"]
        if one["in"] == "path" or (name not in fixed and (not offered or name in offered)):
            properties[name] = {
                **one["schema"],
                "description": one.get("description", f"{name} in {path}"),
            }
            required += [name] if one["required"] else []
    fields, needed = _body_of(operation, document)
    call = _ControlCall(line, method, path, has_key, fixed, fields)
    return Tool(row, properties | fields, [*required, *needed], call, reads=method == "GET")


def _body_of(
    operation: Mapping[str, Any], document: Mapping[str, Any]
) -> tuple[dict[str, Schema], Sequence[str]]:
    """The fields of the body of a call, and those that it needs."""
    if "requestBody" not in operation:
        return {}, ()
    model = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition(
        "/"
    )[2]
    schema = document["components"]["schemas"][model]
    if not schema["properties"]:
        # A scenario is a body as a whole.
        return {"scenario": {"description": schema["description"]}}, ["scenario"]
    return schema["properties"], schema.get("required", ())


@record
class _ControlCall:
    """A call of the control API: whether it is that of a sandbox, the parameters that it always
    has, and the arguments that stand in its body."""

    line: Line
    method: str
    path: str
    has_key: bool
    fixed: Mapping[str, str]
    fields: Collection[str]

    async def __call__(self, given: Arguments) -> str:
        """Its answer, when it is called with some arguments."""
        named, query, body = dict[str, str](), dict[str, Any](self.fixed), dict[str, Any]()
        for name, value in given.items():
            if f"{{{name}}}" in self.path:
                named[name] = quote(str(value), safe="", errors="replace")
            elif name in self.fields:
                body[name] = value
            elif name != "key":
                query[name] = json.dumps(value) if isinstance(value, bool) else value
        key = str(given.get("key", DEFAULT_KEY)) if self.has_key else None
        sent = None if self.method == "GET" else body.get("scenario", body)
        return _shown(
            await self.line.call(self.method, self.path.format(**named), key, sent, query)
        )


def _is_of_an_operation(path: str) -> bool:
    """Whether a path stays on the server, and outside its control API, however it is written."""
    try:
        read = httpx.URL(f"http://server{path}")
    except (httpx.InvalidURL, ValueError):
        return False
    bare = read.path.lstrip("/")
    return (
        path[:1] == "/"
        and read.host == "server"
        and not bare.startswith(("__", "mcp"))
        and ".." not in bare
    )


def _taken(operation: Mapping[str, Any]) -> list[str]:
    """What an operation takes, in words: its parameters, and an example of its body."""
    names = ", ".join(one["name"] for one in operation.get("parameters", ()))
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    example = [] if content is None else [f"    body: {json.dumps(content['example'])}"]
    return [*([f"    parameters: {names}"] if names else []), *example]


async def _explain(given: Arguments) -> str:
    try:
        chosen = [read_text(str(given["scenario"]), "scenario"), *load([], test_values=True)]
        return masked(
            "\n".join(explain(chosen, given["request"], now=machine_now(), op_of=operation_of))
        )
    except ScenarioRefused as refused:
        raise ToolRefused(masked(str(refused))) from None
    except ValueError as fault:
        raise ToolRefused(masked(f"request: {fault}")) from None


def _looking_up(name: str, found: Callable[[str | None], str]) -> Tool:
    """A tool that prints one thing of a list, or the list. ``found`` raises ``LookupError`` with
    the reason."""

    async def run(given: Arguments) -> str:
        try:
            return found(given.get("name"))
        except LookupError as unknown:
            raise ToolRefused(f"name: {masked(unknown.args[0])}") from None

    return listed(name, run)


def _scenario(name: str | None) -> str:
    if name is None:
        return "\n".join(f"{known}: {description}" for known, description, _ in shipped())
    try:
        return shipped_file(name).read_text("utf-8")
    except ScenarioRefused as refused:
        raise LookupError(refused.problems[0].message) from None


def _outcome(name: str | None) -> str:
    if name is not None and name not in CATALOGUE:
        raise LookupError(f"got '{name[:60]}', which is not an outcome{nearest(name, CATALOGUE)}")
    chosen = CATALOGUE.values() if name is None else [CATALOGUE[name]]
    retry = {True: "may be tried again", False: "never try again", None: "no decline"}
    told = (
        f"{row.name}: {row.error_code or '-'}, {retry[row.is_retryable]}: {row.meaning}"
        for row in chosen
    )
    return "\n".join(told)
