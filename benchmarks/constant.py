"""The least that can be: Starlette gives the same answer to each call.

Served as its makers recommend: uvicorn with uvloop and httptools, no access log. ``python
benchmarks/constant.py PORT`` serves it.
"""

from __future__ import annotations

import sys

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

ANSWER = b'{"answer":"%b"}' % (b"x" * 1390)
"""As many bytes as a charge has."""

PAGE = b"[%b]" % b",".join([ANSWER] * 10)


async def create(request: Request) -> Response:
    return Response(ANSWER, 201, media_type="application/json")


async def read(request: Request) -> Response:
    return Response(ANSWER, media_type="application/json")


async def search(request: Request) -> Response:
    return Response(PAGE, media_type="application/json")


app = Starlette(
    routes=[
        Route("/charge/card", create, methods=["POST"]),
        Route("/charge/{charge_id}", read),
        Route("/charge", search),
    ]
)

if __name__ == "__main__":
    uvicorn.run(app, port=int(sys.argv[1]), log_level="warning", access_log=False)
