"""Members that a file edits or omits and that no answer or webhook has: most likely misspelt. Such
a rule fires and changes nothing, so the test that relies on it passes for the wrong reason.

That ``edit`` adds a member is its right, so of those only names close to a known one are reported.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from mockserver.domain.errors import nearest
from mockserver.domain.masking import mask_start
from mockserver.scenario.outcome import Outcome
from mockserver.scenario.rule import Rule
from mockserver.scenario.scenario import Scenario
from mockserver.scenario.shadowed_rules import Warned, warnings
from mockserver.web.openapi import META, WEBHOOKS
from mockserver.web.routes import ROUTES
from mockserver.wire.replies import reply_type

Content: TypeAlias = str | Mapping[str, "Content"]
"""What a member may hold: in the words of the table of replies, such as ``Charge``, ``list of
Refund or null`` or ``text``; or by the names of its own members."""

_ANYTHING = ("map", "object")


def scenario_warnings(scenario: Scenario) -> list[Warned]:
    """A warning for each rule that names a member which is nowhere, or never fires, in the order of
    the file."""
    warned = warnings(scenario)
    for rule in scenario.rules:
        for outcome in rule.plan.outcomes:
            words = _fault_of_answer(rule, outcome) or _fault_of_webhook(outcome)
            if words is not None:
                # One of a rule is enough.
                warned.append(Warned(rule, words))
                break
    return sorted(warned, key=lambda warning: warning.rule.line)


def _fault_of_answer(rule: Rule, outcome: Outcome) -> str | None:
    """What an outcome changes in an answer that no operation of the rule has; None when all is
    there."""
    fault = outcome.transport
    if fault is None or not (fault.edit or fault.omit):
        return None
    answers: list[Content] = [row.reply for row in ROUTES if row.op in rule.operations]
    # Any of them may answer an error. Without a reply in the table the answer may have anything.
    if answers:
        answers.append("Problem")
    return _fault_of(answers, fault.edit or {}, fault.omit, "answer")


def _fault_of_webhook(outcome: Outcome) -> str | None:
    """What an outcome changes in webhooks that none of them has; None when all is there."""
    plan = outcome.webhook
    if plan is None or not plan.is_edited:
        return None
    meta = dict.fromkeys(META, "text")
    webhooks: list[Content] = [{"meta": meta, "data": kind.reply} for kind in WEBHOOKS]
    return _fault_of(webhooks, plan.edit or {}, plan.omit, "webhook")


def _fault_of(
    contents: Sequence[Content], edit: Mapping[str, object], omit: Sequence[str], kind: str
) -> str | None:
    """What is wrong with the first path that leads nowhere, None when none does. ``kind`` is what
    the contents are of: an answer or a webhook."""
    for path in edit:
        missing = _part_that_is_nowhere(contents, path.split("."), may_add=True)
        if missing is not None:
            return f"edits '{mask_start(path, 80)}', and no {kind} has {missing}"
    for path in omit:
        missing = _part_that_is_nowhere(contents, path.split("."), may_add=False)
        if missing is not None:
            return f"omits '{mask_start(path, 80)}', and no {kind} has {missing}"
    return None


def _part_that_is_nowhere(
    contents: Sequence[Content], parts: Sequence[str], *, may_add: bool
) -> str | None:
    """The first part of a path that none of some contents has, in words; None when all are there,
    or nobody can tell. ``may_add``: the last part may be a new member, unless it is close to a
    known one."""
    for place, part in enumerate(parts):
        known = _members(contents)
        if known is None or not contents:
            return None
        # A number is a place in a list.
        contents = known.get("*" if part.isdigit() else part, [])
        if contents:
            continue
        hint = nearest(part, known)
        is_last = place == len(parts) - 1
        if may_add and is_last and not hint:
            return None
        return f"'{mask_start(part, 60)}' there{hint}"
    return None


def _members(contents: Iterable[Content]) -> dict[str, list[Content]] | None:
    """The members of all contents with what each may hold, of lists those of their elements under
    ``*``; None when one of them may hold anything."""
    members: dict[str, list[Content]] = {}
    for content in contents:
        if isinstance(content, str) and _type_word(content) in _ANYTHING:
            return None
        for name, inner in _members_of_one(content).items():
            members.setdefault(name, []).append(inner)
    return members


def _members_of_one(content: Content) -> Mapping[str, Content]:
    """The members of one content, those of a list under ``*``; none of a plain value."""
    if not isinstance(content, str):
        return content
    word = _type_word(content)
    if word.startswith("list of "):
        return {"*": word.removeprefix("list of ")}
    # Names of replies begin with a capital; other words have no members.
    return reply_type(word).fields if word[0].isupper() else {}


def _type_word(words: str) -> str:
    """``Refund`` for ``Refund or null if any``."""
    return words.removesuffix(" if any").removesuffix(" or null")
