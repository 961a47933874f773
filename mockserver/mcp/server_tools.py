"""The tools that ask a server, by its control API or the payments API, and those that look
something up.

Most tools are calls of the control API, and know nothing of it: what such a tool takes is read from
the document in which that API describes itself, so that a new field of a call is a new argument of
its tool. A row of ``tools.csv`` says which call, and how it is narrowed down: arguments that it
offers, parameters that it gives itself. Some calls have no tool on purpose, since an agent needs
few tools with few arguments. What is answered is masked, as an agent may send it anywhere.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias
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
from mockserver.remote import ControlRefused, JsonObject, body_of
from mockserver.scenario.explain import explain
from mockserver.scenario.problems import ScenarioRefused
from mockserver.scenario.provider_outcome import CATALOGUE
from mockserver.web.control.description import control
from mockserver.web.control.routes import CONTROL_ROUTES
from mockserver.web.documentation import page_text
from mockserver.web.routes import operation_of
from mockserver.wire.jsonio import MalformedJson, dumps, loads
from mockserver.wire.masked_bodies import mask_json

if TYPE_CHECKING:
    from starlette.types import ASGIApp

DEFAULT_KEY = "sk_agent"
"""The sandbox of an agent that names none: most need only one."""

PATIENCE_SECONDS = 660.0
"""How long an answer may take: a call that lets time pass takes ten minutes at most."""

OPERATION_SECONDS = 35.0
"""The same of an operation: a client waits 30 s, and a scenario may let it wait for ever."""

_METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH")
"""Methods of calls. What only browsers and proxies send, such as CONNECT, is no call."""

Query: TypeAlias = Mapping[str, Any]
"""The parameters of a call, by name: texts, numbers, or lists of these."""

_KEY = argument("string", f"Secret key of the sandbox; default {DEFAULT_KEY}.")


class Line:
    """The way to the server at an address, with its admin token; with ``app`` to that, in this
    process."""

    def __init__(self, url: str, admin_token: str | None, app: ASGIApp | None = None) -> None:
        self.url = url.rstrip("/")
        self._app = app
        self._base = self.url
        if app is not None:
            # In process by a name that every guard lets in.
            self._base = "http://localhost"
        self._token = {} if admin_token is None else {"x-admin-token": admin_token}

    async def ask(
        self,
        method: str,
        target: str,
        key: str | None = None,
        body: object = None,
        params: Query | None = None,
        *,
        patience: float = PATIENCE_SECONDS,
    ) -> tuple[int, bytes]:
        """Status and body of an answer; a body that is sent as text is YAML, as that of a scenario.
        Raises ``ToolRefused`` where none came: to an agent this is an answer too."""
        headers = dict(self._token)
        if key is not None:
            headers["x-secretkey"] = key
        content = None
        if isinstance(body, str):
            headers["content-type"] = "application/yaml"
            content = body.encode("utf-8", "replace")
        elif body is not None or method != "GET":
            headers["content-type"] = "application/json"
            content = json.dumps(body or {}).encode("utf-8", "replace")
        transport = None
        if self._app is not None:
            transport = httpx.ASGITransport(self._app)
        # One for each call: an agent makes few, with long pauses between them.
        client = httpx.AsyncClient(
            trust_env=False,
            # ``patience`` is that of the whole answer.
            timeout=None,  # noqa: S113
            transport=transport,
            # To read the certificates of all authorities takes a while.
            verify=self._base.startswith("https:"),
        )
        url = self._base + target
        try:
            async with client:
                request = client.request(
                    method, url, headers=headers, params=params or None, content=content
                )
                answer = await asyncio.wait_for(request, patience)
        except (ConnectionError, httpx.RemoteProtocolError, httpx.ReadError):
            raise ToolRefused(
                "the connection was cut without a whole answer, as a scenario may want it"
            ) from None
        except httpx.ConnectError as problem:
            raise ToolRefused(
                f"no server at {self.url}: {problem}; `mockserver` starts one"
            ) from None
        except (TimeoutError, httpx.HTTPError, httpx.InvalidURL, ValueError) as problem:
            # The timeout alone has no words of its own.
            why = str(problem) or f"no answer came within {patience:g} s"
            raise ToolRefused(f"{method} {mask_printed(target[:200])}: {why}") from None
        return answer.status_code, answer.content

    async def call(
        self,
        method: str,
        target: str,
        key: str | None = None,
        body: object = None,
        params: Query | None = None,
    ) -> bytes:
        """The answer to a call. Raises ``ToolRefused`` when it is a refusal, with its words:
        control calls say what is allowed, so that an agent can do better."""
        status, raw = await self.ask(method, target, key, body, params)
        if status < 300:
            return raw
        refused = ControlRefused(f"{method} {target}", status, body_of(raw))
        raise ToolRefused(masked(str(refused)))


def _masked_text(raw: bytes) -> str:
    """The body of an answer as text, card numbers and keys masked: of JSON by the names of its
    members, of any other text by what looks like one."""
    try:
        document = loads(raw)
    except MalformedJson:
        return masked(raw.decode("utf-8", "replace"))
    return dumps(mask_json(document)).decode()


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
    tools = {tool.row.name: tool for tool in own}
    for name, row in rows().items():
        if row.call:
            tools[name] = _control_tool(row, line, document)
    # In the order of the table, whose other tools, those that run a command, are made elsewhere.
    return [tools[name] for name in rows() if name in tools]


async def _open_sandbox(line: Line, arguments: Arguments) -> str:
    """Open and name the sandbox of a key: what a client needs to find it, as variables of its
    environment. The secret key is not among them: the agent has chosen it, and answers mask it."""
    key = str(arguments.get("key", DEFAULT_KEY))
    answer = await line.call(
        "POST", "/__admin/sandboxes", body={"key": key, "name": arguments.get("name", "agent")}
    )
    # Of the answer as it is: a public key is no secret, but answers are masked as a whole.
    public_key = json.loads(answer)["publicKey"]
    variables = {"MOCKSERVER_URL": line.url, "MOCKSERVER_PUBLIC_KEY": public_key}
    return json.dumps({"environment": variables, "sandbox": json.loads(_masked_text(answer))})


async def _call_operation(line: Line, arguments: Arguments) -> str:
    """Call an operation of the payments API, as a client does, and give status and body: what a
    client must deal with, such as a decline, is an answer and no refusal of the tool."""
    method = str(arguments["method"]).upper()
    path = str(arguments["path"])
    if not _is_of_an_operation(path):
        raise ToolRefused(
            f"path: got '{mask_printed(path[:100])}', wanted that of an operation: see `operations`"
        )
    if method not in _METHODS:
        raise ToolRefused(
            f"method: got '{mask_printed(method[:100])}', allowed: {', '.join(_METHODS)}"
        )
    key = str(arguments.get("key", DEFAULT_KEY))
    status, answer = await line.ask(
        method, path, key, arguments.get("body"), patience=OPERATION_SECONDS
    )
    return f"{status}\n{_masked_text(answer)}"


async def _operations(line: Line, arguments: Arguments) -> str:
    """The operations, a line each; of those that ``find`` looks for, by a glob of their names or a
    part of their paths, also what they take: of all at once this would be too long."""
    document = json.loads(await line.call("GET", "/openapi.json"))
    wanted = str(arguments.get("find", "*")).lower()
    lines: list[str] = []
    rule_names: list[str] = []
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            rule_name = _rule_name_of(operation)
            rule_names.append(rule_name)
            if fnmatchcase(rule_name, wanted) or wanted in path:
                lines.append(f"{method.upper()} {path}  {rule_name}  {operation['summary']}")
                if "find" in arguments:
                    lines += _request_lines(operation)
    if not lines:
        hint = nearest(wanted, rule_names)
        words = f"got '{mask_printed(wanted[:60])}', which no operation or path has{hint}"
        raise ToolRefused(f"find: {words}")
    return "\n".join(lines)


def _rule_name_of(operation: JsonObject) -> str:
    """The name by which rules know an operation. OpenAPI has no field for it, so each description
    says it at its end (``web/openapi.py``)."""
    _, _, behind = operation["description"].partition("Rule name: `")
    name, _, _ = behind.partition("`")
    return str(name)


def _control_tool(row: Row, line: Line, document: JsonObject) -> Tool:
    """The tool of a call of the control API, which ``document`` describes: its parameters, less
    those that the row does not offer, and the fields of its body are the arguments."""
    method, path = row.call.split()
    operation = document["paths"][path][method.lower()]
    fixed = dict(parse_qsl(row.fixed))
    offered = row.offers.split()
    # A call about the whole server, such as the list of its sandboxes, needs no key of one.
    has_key = bool(operation["security"])
    properties: dict[str, Schema] = {}
    if has_key:
        properties["key"] = _KEY
    required: list[str] = []
    for parameter in operation.get("parameters", ()):
        name = parameter["name"]
        # A row without names offers all.
        is_offered = not offered or name in offered
        is_in_path = parameter["in"] == "path"
        # Without those of its path there is no call.
        if not is_in_path and (name in fixed or not is_offered):
            continue
        description = parameter.get("description", f"{name} in {path}")
        properties[name] = {**parameter["schema"], "description": description}
        if parameter["required"]:
            required.append(name)
    fields, required_fields = _body_fields(operation, document)
    call = _ControlCall(line, method, path, has_key, fixed, fields)
    required += required_fields
    return Tool(row, properties | fields, required, call, reads=method == "GET")


def _body_fields(
    operation: JsonObject, document: JsonObject
) -> tuple[dict[str, Schema], Sequence[str]]:
    """The fields of the body of a call, and those that it needs."""
    if "requestBody" not in operation:
        return {}, ()
    reference = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    # Such as #/components/schemas/Advance.
    _, _, model = reference.rpartition("/")
    schema = document["components"]["schemas"][model]
    if not schema["properties"]:
        # A scenario is a body as a whole.
        return {"scenario": {"description": schema["description"]}}, ["scenario"]
    return schema["properties"], schema.get("required", ())


@record
class _ControlCall:
    """A call of the control API, to be made with what an agent gives: ``has_key`` says that it is
    about one sandbox, ``fixed`` are the parameters that it always has, ``fields`` the names of the
    arguments that go into its body."""

    line: Line
    method: str
    path: str
    has_key: bool
    fixed: Mapping[str, str]
    fields: Collection[str]

    async def __call__(self, arguments: Arguments) -> str:
        """Its answer, when it is called with some arguments: each goes where the call has its name,
        into the path, the body, or else the query."""
        placeholders: dict[str, str] = {}
        query: dict[str, Any] = dict(self.fixed)
        fields: dict[str, object] = {}
        for name, value in arguments.items():
            if f"{{{name}}}" in self.path:
                placeholders[name] = quote(str(value), safe="", errors="replace")
            elif name in self.fields:
                fields[name] = value
            elif isinstance(value, bool):
                # A query says true, and not True as Python would.
                query[name] = json.dumps(value)
            elif name != "key":
                query[name] = value
        target = self.path.format(**placeholders)
        key = None
        if self.has_key:
            key = str(arguments.get("key", DEFAULT_KEY))
        body: object = None
        if self.method != "GET":
            # A scenario is a body as a whole.
            body = fields.get("scenario", fields)
        answer = await self.line.call(self.method, target, key, body, query)
        return _masked_text(answer)


def _is_of_an_operation(path: str) -> bool:
    """Whether a path stays on the server, and outside its control API and the door of these tools,
    however it is written: this tool sends the admin token along. All that begins like one of them
    is refused, as no operation does."""
    try:
        url = httpx.URL(f"http://server{path}")
    except (httpx.InvalidURL, ValueError):
        return False
    # "@elsewhere/" would make of our name that of a user.
    stays_here = path[:1] == "/" and url.host == "server"
    tidy_path = url.path.lstrip("/")
    is_control = tidy_path.startswith(("__", "mcp"))
    # Spelt %2e%2e it is sent as it is, and a proxy that resolves it finds the control API.
    leads_back = ".." in tidy_path
    return stays_here and not is_control and not leads_back


def _request_lines(operation: JsonObject) -> list[str]:
    """What an operation takes: its parameters, and an example of its body, which is shorter than
    its schema and can be sent as it is."""
    lines = []
    names = ", ".join(parameter["name"] for parameter in operation.get("parameters", ()))
    if names:
        lines.append(f"    parameters: {names}")
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content is not None:
        lines.append(f"    body: {json.dumps(content['example'])}")
    return lines


async def _explain(arguments: Arguments) -> str:
    """Which rule of a scenario would fire on a request. The scenario is asked before the built-in
    test values, as in a sandbox in which it is in force."""
    try:
        scenario = read_text(str(arguments["scenario"]), "scenario")
        in_force = [scenario, *load([], test_values=True)]
        request = arguments["request"]
        lines = explain(in_force, request, now=machine_now(), op_of=operation_of)
        return masked("\n".join(lines))
    except ScenarioRefused as refused:
        raise ToolRefused(masked(str(refused))) from None
    except ValueError as fault:
        raise ToolRefused(masked(f"request: {fault}")) from None


def _looking_up(name: str, look_up: Callable[[str | None], str]) -> Tool:
    """A tool that prints the thing of a name, or without one the list of all, from which an agent
    takes a name. ``look_up`` is given None for the list; it raises ``LookupError`` with the
    reason."""

    async def run(arguments: Arguments) -> str:
        try:
            return look_up(arguments.get("name"))
        except LookupError as unknown:
            raise ToolRefused(f"name: {masked(unknown.args[0])}") from None

    return listed(name, run)


def _scenario(name: str | None) -> str:
    """The text of a shipped scenario, or the list of them. Raises ``LookupError`` with the reason,
    which the caller turns into the refusal of the tool."""
    if name is None:
        return "\n".join(f"{known}: {description}" for known, description, _ in shipped())
    try:
        return shipped_file(name).read_text("utf-8")
    except ScenarioRefused as refused:
        raise LookupError(refused.problems[0].message) from None


def _outcome(name: str | None) -> str:
    """An outcome of providers in a line, or all of them: whether a retry makes sense is what a
    client must know of each."""
    if name is not None and name not in CATALOGUE:
        raise LookupError(f"got '{name[:60]}', which is not an outcome{nearest(name, CATALOGUE)}")
    outcomes = [*CATALOGUE.values()]
    if name is not None:
        outcomes = [CATALOGUE[name]]
    retry = {True: "may be tried again", False: "never try again", None: "no decline"}
    return "\n".join(
        f"{row.name}: {row.error_code or '-'}, {retry[row.is_retryable]}: {row.meaning}"
        for row in outcomes
    )
