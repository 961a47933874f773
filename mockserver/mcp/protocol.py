"""Tools and pages as a server of the Model Context Protocol, over whatever carries its messages."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from mockserver import __version__
from mockserver.adapters.scenario_files import schema_text
from mockserver.domain.errors import nearest
from mockserver.domain.masking import mask_start, mask_text
from mockserver.domain.record import record
from mockserver.mcp.tools import Tool, ToolRefused
from mockserver.web.documentation import page_text, pages, title_of

SCHEMA = "mockserver://scenario.schema.json"
"""The address of the JSON Schema of scenario files, as a resource."""

MOST_CHARACTERS = 100_000
"""Characters of an answer that are shown: an agent remembers not much more at once."""

_PAGES = "mockserver://docs/"


def protocol_server(tools: Sequence[Tool], url: str, *, explores: bool) -> Server[Any]:
    """The server; ``url`` is where the sandbox is, ``explores`` says that there are tools that run
    a command."""
    # Its log would tell what agents send.
    logging.getLogger("mcp").addHandler(logging.NullHandler())
    logging.getLogger("mcp").propagate = False
    words = Path(__file__).with_name("instructions.md").read_text("utf-8")
    steps = ""
    if explores:
        steps = Path(__file__).with_name("explore.md").read_text("utf-8")
    offered = _Offered({tool.row.name: tool for tool in tools})
    server: Server[Any] = Server(
        "mockserver",
        version=__version__,
        instructions=words.format(url=url, explore=steps.rstrip()),
        on_list_tools=offered.list_tools,
        on_call_tool=offered.call_tool,
        on_list_resources=_list_resources,
        on_read_resource=_read_resource,
    )
    # Spans of its own would name what agents send.
    server.middleware.clear()
    return server


@record
class _Offered:
    """The tools of a server, by name."""

    tools: Mapping[str, Tool]

    async def list_tools(self, context: object, params: object) -> types.ListToolsResult:
        """All of them: they are few enough for one page."""
        return types.ListToolsResult(
            tools=[_described(name, tool) for name, tool in self.tools.items()]
        )

    async def call_tool(
        self, context: object, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Call a tool. A name that is none of them is an error of the protocol, which the client of
        the agent sees; what a tool refuses is an answer that the agent reads, to do better."""
        tool = self.tools.get(params.name)
        if tool is None:
            words = (
                f"got '{mask_start(params.name, 60)}', which is not a "
                f"tool{nearest(params.name, self.tools)}"
            )
            raise MCPError(types.INVALID_PARAMS, f"{words}, allowed: {', '.join(self.tools)}")
        is_error = False
        try:
            answer = await tool(params.arguments or {})
        except ToolRefused as refused:
            is_error = True
            answer = str(refused)
        return types.CallToolResult(
            content=[types.TextContent(text=_bounded(answer))], is_error=is_error
        )


def _described(name: str, tool: Tool) -> types.Tool:
    """A tool as the protocol describes it. Clients ask their user before a tool that changes
    something, and need not before one that only reads."""
    return types.Tool(
        name=name,
        description=tool.row.about,
        input_schema={
            "type": "object",
            "properties": dict(tool.properties),
            "required": [*tool.required],
            "additionalProperties": False,
        },
        annotations=types.ToolAnnotations(read_only_hint=tool.reads, open_world_hint=False),
    )


def _bounded(text: str) -> str:
    """A text that can be sent, and that an agent can read as a whole. Half of a character, as the
    text of a client may hold, cannot be sent."""
    sendable = text.encode("utf-8", "replace").decode()
    left_out = len(sendable) - MOST_CHARACTERS
    if left_out <= 0:
        return sendable
    return f"{sendable[:MOST_CHARACTERS]}\n... {left_out} more characters"


async def _list_resources(context: object, params: object) -> types.ListResourcesResult:
    """Every page of the documentation, and the schema of scenario files. Some clients offer their
    users resources to add to a conversation; agents read the same pages by a tool."""
    titles = {
        f"{_PAGES}{name}": title_of(path.read_text("utf-8")) for name, path in pages().items()
    }
    titles[SCHEMA] = "JSON Schema of scenario files"
    resources = [
        types.Resource(name=title, uri=uri, mime_type=_media_type(uri))
        for uri, title in titles.items()
    ]
    return types.ListResourcesResult(resources=resources)


async def _read_resource(
    context: object, params: types.ReadResourceRequestParams
) -> types.ReadResourceResult:
    """The text of a page, or of the schema."""
    uri = str(params.uri)
    try:
        body = schema_text() if uri == SCHEMA else page_text(uri.removeprefix(_PAGES))
    except LookupError as unknown:
        raise MCPError(types.INVALID_PARAMS, f"uri: {mask_text(unknown.args[0])}") from None
    return types.ReadResourceResult(
        contents=[types.TextResourceContents(uri=uri, text=body, mime_type=_media_type(uri))]
    )


def _media_type(uri: str) -> str:
    """Of a resource: all but the schema are pages of the documentation."""
    return "application/schema+json" if uri == SCHEMA else "text/markdown"
