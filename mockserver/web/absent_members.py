"""Members that a file edits or omits and that no answer or webhook has: most likely misspelt.

Read from the schemas of the OpenAPI document. That ``edit`` adds a member is its right, so of those only names
close to a known one are reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mockserver.domain.errors import nearest
from mockserver.domain.masking import mask_start
from mockserver.scenario.scenario import Scenario
from mockserver.scenario.shadowed_rules import Warned
from mockserver.web.openapi import envelopes
from mockserver.web.routes import ROUTES
from mockserver.wire.schemas import Schema, Schemas


def absent_members(scenario: Scenario) -> list[Warned]:
    """A warning for each rule that names a member which is nowhere, in the order of the file."""
    shapes, found = _Shapes(), []
    for rule in scenario.rules:
        for outcome in rule.plan.outcomes:
            fault, plan, words = outcome.transport, outcome.webhook, None
            if fault is not None and (fault.edit or fault.omit):
                words = shapes.fault_of(shapes.answers(rule.operations), fault.edit or {}, fault.omit, "answer")
            if words is None and plan is not None and plan.is_edited:
                words = shapes.fault_of(shapes.webhooks(), plan.edit or {}, plan.omit, "webhook")
            if words is not None:
                found.append(Warned(rule.file, rule.line, rule.id, words))
                break
    return found


class _Shapes:
    """The shapes of answers and webhooks, made when they are first asked for."""

    def __init__(self) -> None:
        self._schemas = Schemas(())

    def answers(self, operations: frozenset[str]) -> list[Schema]:
        """What operations may answer; empty when one of them may answer anything."""
        kinds = [row.reply for row in ROUTES if row.op in operations]
        return [self._schemas.reply(kind) for kind in (*kinds, "Problem")] if kinds else []

    def webhooks(self) -> list[Schema]:
        """What webhooks may hold."""
        return envelopes(self._schemas)

    def fault_of(
        self, shapes: Sequence[Schema], edit: Mapping[str, object], omit: Sequence[str], where: str
    ) -> str | None:
        """What is wrong with the first path that leads nowhere, None when none does."""
        for word, paths in (("edits", edit), ("omits", omit)):
            for path in paths:
                words = self._lost(shapes, path.split("."), is_new=word == "edits")
                if words is not None:
                    return f"{word} '{mask_start(path, 80)}', and no {where} has {words}"
        return None

    def _lost(self, shapes: Sequence[Schema], parts: Sequence[str], *, is_new: bool) -> str | None:
        """The part of a path that is in no shape. ``is_new``: the last one may be a new member."""
        reached = list(shapes)
        for place, part in enumerate(parts):
            known = self._members(reached)
            if known is None or not reached:
                return None
            reached = known.get("*" if part.isdigit() else part, [])
            if not reached:
                hint = nearest(part, known)
                may_be_new = is_new and place == len(parts) - 1
                return None if may_be_new and not hint else f"'{mask_start(part, 60)}' there{hint}"
        return None

    def _members(self, shapes: Iterable[Schema]) -> dict[str, list[Schema]] | None:
        """The members of all shapes with what each may hold, of lists those of their elements under ``*``; None when
        one of them may hold anything."""
        found: dict[str, list[Schema]] = {}
        for shape in self._plain(shapes):
            if not shape or "additionalProperties" in shape:
                return None
            for name, held in shape.get("properties", {}).items():
                found.setdefault(name, []).append(held)
            if "items" in shape:
                found.setdefault("*", []).append(shape["items"])
        return found

    def _plain(self, shapes: Iterable[Any]) -> Iterator[Schema]:
        for shape in shapes:
            if "$ref" in shape:
                yield from self._plain([self._schemas.named[shape["$ref"].rpartition("/")[2]]])
            elif "anyOf" in shape:
                yield from self._plain(shape["anyOf"])
            else:
                yield shape
