"""A coding agent that speaks to the product with the official client."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from mockserver.mcp.server_tools import Line, server_tools
from tests.driving import Api

if TYPE_CHECKING:
    from mcp import Client

SECRETS = ("4000056655665556", "4000-0566-5566-5556", "sk_topsecret", '"737"')
"""A card number that is no published test card, twice, a key and a ccv."""


class Agent:
    """One conversation; every answer is kept."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.answers: list[str] = []

    async def does(self, tool: str, **arguments: Any) -> str:
        """The answer of a tool that goes well."""
        text, is_error = await self._ask(tool, arguments)
        assert not is_error, text
        return text

    async def is_refused(self, tool: str, **arguments: Any) -> str:
        """The words of a refusal."""
        text, is_error = await self._ask(tool, arguments)
        assert is_error, text
        return text

    async def _ask(self, tool: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        found = await self.client.call_tool(tool, arguments)
        [content] = found.content
        assert content.type == "text"
        self.answers.append(content.text)
        return content.text, bool(found.is_error)


def talk(server: Any, story: Callable[[Agent], Awaitable[None]], mode: str = "auto") -> list[str]:
    """Let an agent talk to a server, or what leads to one; all that it was answered."""
    from mcp import Client

    async def run() -> list[str]:
        failed: BaseException | None = None
        async with Client(server, mode=mode) as client:
            agent = Agent(client)
            try:
                await story(agent)
            except BaseException as failure:
                # The client would wrap it twice.
                failed = failure
        if failed is not None:
            raise failed
        return agent.answers

    return asyncio.run(run())


def in_process(api: Api) -> Any:
    """The tools over an application in this process."""
    from mockserver.mcp.protocol import protocol_server

    return protocol_server(
        server_tools(Line("http://127.0.0.1:4111", None, api.app)),
        "http://127.0.0.1:4111",
        explores=False,
    )
