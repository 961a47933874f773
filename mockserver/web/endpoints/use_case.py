"""An operation that is one use case of the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mockserver.domain.slices import Slices
from mockserver.engine.indexed_table import Table
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import Step
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
        return self._shown(call, self._act(call.sandbox, *call.path.values(), *given))


def learning(*asked: tuple[str, str]) -> Callable[[Sandbox, Step], Slices[None] | None]:
    """What brings indexes, each of a table, up to date before a step asks them: in a fork, or after an import, each has
    all rows to learn, which for 200,000 transfers took 130 ms."""

    def ahead(sandbox: Sandbox, step: Step) -> Slices[None] | None:
        tables = [(getattr(sandbox, table), index) for table, index in asked]
        behind = [(table, index) for table, index in tables if table.is_behind(index)]
        return _learn(behind) if behind else None

    return ahead


def _learn(behind: list[tuple[Table[Any], str]]) -> Slices[None]:
    for table, index in behind:
        yield from table.learning(index)
