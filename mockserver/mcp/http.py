"""``/mcp`` of a server: each request stands alone, is guarded as the control API is, and asks the application in this
process, by the ways of the control API too. No tool there runs a command."""

import asyncio
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from mockserver.mcp.protocol import protocol_server
from mockserver.mcp.server_tools import Line, server_tools
from mockserver.web.access import STATUS
from mockserver.web.app import Application
from mockserver.web.request import Message, Receive, Scope, Send

PATH = "/mcp"


class _Endpoint:
    op = "mcp"

    def __init__(self, app: Application) -> None:
        settings = app.world.settings
        # The guard has judged the request of the agent; what it asks for is asked with the token.
        line = Line(settings.url, settings.admin_token, app)
        self._server = protocol_server(server_tools(line), settings.url, explores=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                scope[STATUS] = message["status"]
            await send(message)

        async def serve() -> None:
            manager = StreamableHTTPSessionManager(self._server, json_response=True, stateless=True)
            async with manager.run():
                await manager.handle_request(scope, receive, noted)

        # The package wants a task, and the fast lane serves without one.
        await asyncio.create_task(serve())


def mount(app: Application) -> None:
    """Let an application answer at the path."""
    rows: list[Any] = [(PATH, ["POST"], _Endpoint(app))]
    app.add_paths(rows)
