"""An operation that is one use case of the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mockserver.web.routes import OperationCall


class UseCase:
    """The endpoint of one function of the engine, which is given what the path names and the command of the body, if
    there is one. What it makes is answered as ``shown``; ``words`` describe the operation in place of these."""

    def __init__(self, words: str, act: Callable[..., Any], shown: Callable[[OperationCall, Any], object]) -> None:
        self.__doc__ = words
        self._act = act
        self._shown = shown

    def __call__(self, call: OperationCall) -> object:
        given = () if call.body is None else (call.body.command(),)
        return self._shown(call, self._act(call.step, *call.path.values(), *given))
