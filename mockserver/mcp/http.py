"""``/mcp`` of a server: each request stands alone, is guarded as the control API is, and asks the
application in this process, by the ways of the control API too. No tool there runs a command."""

import asyncio

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Receive, Scope, Send

from mockserver.mcp.protocol import protocol_server
from mockserver.mcp.server_tools import Line, server_tools
from mockserver.web.app import Application

PATH = "/mcp"


def mount(app: Application) -> None:
    """Let an application answer at the path."""
    settings = app.world.settings
    # The guard has judged the request of the agent; what it asks for is asked with the token.
    line = Line(settings.url, settings.admin_token, app)
    server = protocol_server(server_tools(line), settings.url, explores=False)

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        async def handle() -> None:
            # One for each request: nothing is remembered between them, so nothing has to be ended.
            manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
            async with manager.run():
                await manager.handle_request(scope, receive, send)

        # The package wants a task, and the fast lane serves without one.
        await asyncio.create_task(handle())

    app.serve_also("POST", PATH, "mcp", serve)
