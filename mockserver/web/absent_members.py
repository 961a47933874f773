"""Members that a file edits or omits and that no answer or webhook has: most likely misspelt.

That ``edit`` adds a member is its right, so of those only names close to a known one are reported.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from mockserver.domain.errors import nearest
from mockserver.domain.masking import mask_start
from mockserver.scenario.scenario import Scenario
from mockserver.scenario.shadowed_rules import Warned, warnings
from mockserver.web.openapi import META, WEBHOOKS
from mockserver.web.routes import ROUTES
from mockserver.wire.replies import reply_type

Held: TypeAlias = str | Mapping[str, Any]
"""What a member holds: in the words of the table of replies, or by the names of its own members."""

_ANY = ("map", "object")


def warned(scenario: Scenario) -> list[Warned]:
    """A warning for each rule that names a member which is nowhere, or never fires, in the order of
    the file."""
    found = warnings(scenario)
    for rule in scenario.rules:
        for outcome in rule.plan.outcomes:
            fault, plan, words = outcome.transport, outcome.webhook, None
            if fault is not None and (fault.edit or fault.omit):
                replies = [row.reply for row in ROUTES if row.op in rule.operations]
                # One of them may answer anything, where there are none.
                answers = [*replies, "Problem"] if replies else []
                words = _fault_of(answers, fault.edit or {}, fault.omit, "answer")
            if words is None and plan is not None and plan.is_edited:
                webhooks = [
                    {"meta": dict.fromkeys(META, "text"), "data": kind.reply} for kind in WEBHOOKS
                ]
                words = _fault_of(webhooks, plan.edit or {}, plan.omit, "webhook")
            if words is not None:
                found.append(Warned(rule, words))
                break
    return sorted(found, key=lambda one: one.rule.line)


def _fault_of(
    held: Sequence[Held], edit: Mapping[str, object], omit: Sequence[str], where: str
) -> str | None:
    """What is wrong with the first path that leads nowhere, None when none does."""
    for word, paths in (("edits", edit), ("omits", omit)):
        for path in paths:
            words = _lost(held, path.split("."), is_new=word == "edits")
            if words is not None:
                return f"{word} '{mask_start(path, 80)}', and no {where} has {words}"
    return None


def _lost(held: Sequence[Held], parts: Sequence[str], *, is_new: bool) -> str | None:
    """The part of a path that is nowhere. ``is_new``: the last one may be a new member."""
    for place, part in enumerate(parts):
        known = _members(held)
        if known is None or not held:
            return None
        held = known.get("*" if part.isdigit() else part, [])
        if not held:
            hint = nearest(part, known)
            may_be_new = is_new and place == len(parts) - 1
            return None if may_be_new and not hint else f"'{mask_start(part, 60)}' there{hint}"
    return None


def _members(held: Iterable[Held]) -> dict[str, list[Held]] | None:
    """The members of all that is held with what each may hold, of lists those of their elements
    under ``*``; None when one of them may hold anything."""
    found: dict[str, list[Held]] = {}
    for one in held:
        named: Mapping[str, Held] = {} if isinstance(one, str) else one
        if isinstance(one, str):
            plain = one.removesuffix(" if any").removesuffix(" or null")
            if plain in _ANY:
                return None
            each = plain.removeprefix("list of ")
            # Other words than names of replies have no members.
            named = (
                {"*": each}
                if each != plain
                else reply_type(plain).fields
                if plain[0].isupper()
                else {}
            )
        for name, inner in named.items():
            found.setdefault(name, []).append(inner)
    return found
