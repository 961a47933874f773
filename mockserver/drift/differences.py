"""What differs between two servers that were asked the same: status, presence, type and format of
every field, and values that must not differ.

Two servers never answer alike byte for byte: ids, instants and tokens are made anew, and names,
providers and costs belong to an account. To report these would hide what matters. So a value is
reduced to its *form* (``form_of``): of an id or an instant how it is written, of any other text
what it says. Only forms are compared.

What is left matters more or less (``Tier``). The question is always the same: what happens to a
client that was written against this product when it meets the other server? A field that it reads
and that is not there breaks it; one more field does not.

Source: docs/drift.md, What it compares.
"""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple

from mockserver.domain.clock import DAY, Micros, parse_instant
from mockserver.domain.masking import printable
from mockserver.domain.record import record
from mockserver.drift.peers import Answer
from mockserver.drift.playing import Played
from mockserver.drift.walk import OFFERED

Tier = StrEnum("Tier", {"BREAKS": "breaks a client", "SHAPE": "shape", "WORDING": "wording"})
"""How much a difference matters: a client that relies on the one fails at the other, it may, or
people notice."""

NEARBY = 100 * DAY
"""How far from the walk an instant may be that was made by it: cards expire years later."""

UNSHOWN = '"..."'
"""Stands, where a source shows that there is a field but not what it holds, for any value."""

_ABSENT = object()
"""Stands for a field that is not there, which null is not."""

_LONGEST = 80
_PARTS = re.compile(
    r"(?P<instant>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?P<fraction>\.\d+)?(?P<zone>Z|[+-]\d\d:?\d\d)?)"
    r"|(?P<uuid>\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b)"
    r"|\b(?P<hex>(?=\w*\d)[0-9a-f]{16,64})\b"
    r"|(?P<address>https?://[^\s\"'<>]+)"
    r"|\b(?P<mark>[a-z]{2,10})_(?=\w*\d)[A-Za-z0-9]{8,}\b"
)
"""Parts of a text that are made anew by each server."""

_OF_ACCOUNT = re.compile(
    r"(?:.*\.)?(?:provider\.\w+|(?:provider|account|user)(?:Id|Type|Name)|publicKey|estimatedCost\w*|gateway\w*"
    r"|ipInfo|resource)"
)
"""Fields whose values belong to the account or to the provider behind it, or repeat an address."""

_FOR_PEOPLE = re.compile(r"(?:.*\.)?(?:message|errorMessage|details\.\w+)")
"""Fields whose texts no program should decide by."""

_ENUMERATED = re.compile(r"[A-Za-z][A-Za-z_]{0,39}")
_INDEX = re.compile(r"\[\d+\]")
_TEXTS = {"text", "id"}
"""Kinds of texts that are the same to a client."""


@record
class Run:
    """What a walk is known by: the name that its references begin with, and when it began. An
    instant within ``NEARBY`` of that differs from server to server; any other says something."""

    name: str
    instant: Micros


@record
class ValueForm:
    """What is compared of a value: its kind, and how it is shown."""

    kind: str
    shown: str


@record
class Discrepancy:
    """One place where two answers to a call differ; ``here`` is this product."""

    call: str
    place: str
    here: str
    there: str
    tier: Tier


def compare(here: Played, there: Played, run: Run) -> list[Discrepancy]:
    """The differences in the calls that both have answered, in the order of the walk."""
    discrepancies: list[Discrepancy] = []
    for call, theirs in there.answers.items():
        ours = here.answers.get(call)
        if ours is not None:
            discrepancies += _differences(call, ours, theirs, run, is_partial=there.is_partial)
    return discrepancies


def _differences(
    call: str, here: Answer, there: Answer, run: Run, *, is_partial: bool
) -> Iterator[Discrepancy]:
    """The differences between two answers to a call. ``is_partial``: that of ``there`` holds only
    what a source shows."""
    is_status_unknown = is_partial and not there.status
    if here.status != there.status and not is_status_unknown:
        ours, theirs = _status_words(here), _status_words(there)
        yield Discrepancy(call, "status code", ours, theirs, Tier.BREAKS)
    if call == OFFERED:
        # Which providers there are is the account's.
        return
    if here.is_success != there.is_success and not is_partial:
        # An object and a refusal have no fields in common.
        return
    for place, ours_form, theirs_form in _values("", here.body, there.body, run):
        if is_partial and _says_nothing(ours_form, theirs_form):
            continue
        if _is_of_account(place, ours_form, theirs_form):
            continue
        tier = _tier(place, ours_form, theirs_form)
        yield Discrepancy(call, place or "body", ours_form.shown, theirs_form.shown, tier)


def _status_words(answer: Answer) -> str:
    """The status of an answer; of one that did not come whole why, as its body says."""
    return str(answer.status or answer.body)


def _says_nothing(here: ValueForm, there: ValueForm) -> bool:
    """Whether a source that shows only a part leaves a value open: it has no such field, or has it
    without its value."""
    return there.kind == "absent" or (there.shown == UNSHOWN and here.kind != "absent")


class _Unlike(NamedTuple):
    """A place at which two values differ, with the forms of both."""

    place: str
    here: ValueForm
    there: ValueForm


def _values(place: str, here: object, there: object, run: Run) -> Iterator[_Unlike]:
    """The topmost places at which two values differ."""
    match here, there:
        case _ if here is there:
            # Both were read of the same bytes, as most answers are that sandboxes of ours give to
            # one walk.
            pass
        case Mapping(), Mapping():
            for key in {**there, **here}:
                below = f"{place}.{key}" if place else str(key)
                yield from _values(below, here.get(key, _ABSENT), there.get(key, _ABSENT), run)
        case list(), list() if len(here) == len(there):
            for index, (ours, theirs) in enumerate(zip(here, there, strict=True)):
                yield from _values(f"{place}[{index}]", ours, theirs, run)
        case str(), str() if here == there:
            pass
        case _:
            form_here, form_there = form_of(here, run), form_of(there, run)
            if form_here != form_there:
                yield _Unlike(printable(place), form_here, form_there)


def form_of(value: object, run: Run) -> ValueForm:
    """The form of a value; the name of the run is shown as ``{run}``. Of an object or a list only
    that it is one, and how long: what is in those that can be compared was looked at one by one."""
    match value:
        case None:
            return ValueForm("null", "null")
        case bool():
            return ValueForm("boolean", str(value).lower())
        case int() | Decimal():
            return ValueForm("number", str(value))
        case Mapping():
            return ValueForm("object", "an object")
        case list():
            return ValueForm("list", f"a list of {len(value)}")
        case str():
            return _text(value.replace(run.name, "{run}"), run)
        case _:
            # ``_ABSENT``: one of the two has no such field.
            return ValueForm("absent", "absent")


def _text(text: str, run: Run) -> ValueForm:
    """The form of a text: of an id or an instant that is by chance how it is written, of any other
    what it says, with the form of such parts in it."""
    whole = _PARTS.fullmatch(text)
    if whole is None:
        shown = printable(_PARTS.sub(_part, text))
    elif whole["instant"] is None:
        return ValueForm("id", _part(whole))
    elif _is_near(whole["instant"], run):
        return ValueForm("instant", _part(whole))
    else:
        # It has nothing to do with when the walk was played, as the end of a card.
        shown = printable(text)
    if len(shown) > _LONGEST:
        shown = f"{shown[:_LONGEST]}..."
    return ValueForm("text", f'"{shown}"')


def _is_near(instant: str, run: Run) -> bool:
    """Whether an instant was made by the walk, by when it is."""
    try:
        return abs(parse_instant(instant) - run.instant) <= NEARBY
    except ValueError:
        # A date that there is not says no more than how it is written.
        return True


def _part(part: re.Match[str]) -> str:
    """The form of a part of a text that differs from server to server."""
    match part.lastgroup:
        # The last group that has matched: within an instant its fraction or its zone.
        case "instant" | "fraction" | "zone":
            digits = len(part["fraction"] or ".") - 1
            return f"an instant with {digits} digits of a second and {part['zone'] or 'no zone'}"
        case "uuid":
            return "a UUID"
        case "hex":
            return f"{len(part['hex'])} hexadecimal digits"
        case "address":
            return "an address"
        case _:
            return f"{part['mark']}_ and an id"


def _is_of_account(place: str, here: ValueForm, there: ValueForm) -> bool:
    """Whether a field is on both sides, with a value that each account has its own of."""
    if "absent" in (here.kind, there.kind):
        return False
    return _OF_ACCOUNT.fullmatch(_INDEX.sub("", place)) is not None


def _tier(place: str, here: ValueForm, there: ValueForm) -> Tier:
    """How much a difference matters."""
    if there.kind == "absent" and here.kind == "null":
        # A client that was written here finds nothing in it either way.
        return Tier.SHAPE
    if there.kind == "absent":
        # It reads what is not there.
        return Tier.BREAKS
    if here.kind == "absent":
        # It does not read that.
        return Tier.SHAPE
    are_texts = {here.kind, there.kind} <= _TEXTS
    if are_texts and _FOR_PEOPLE.fullmatch(place):
        return Tier.WORDING
    if here.kind == there.kind:
        return _tier_of_values(here, there)
    if are_texts or here.kind == "null":
        # Where null is possible here, a client expects a value too.
        return Tier.SHAPE
    return Tier.BREAKS


def _tier_of_values(here: ValueForm, there: ValueForm) -> Tier:
    """The same, of two values of one kind."""
    match here.kind:
        case "text" if _is_word(here) and _is_word(there):
            # A client decides by it.
            return Tier.BREAKS
        case "text" if " " in here.shown and " " in there.shown:
            return Tier.WORDING
        case "text" | "instant" | "id":
            return Tier.SHAPE
        case "number" if Decimal(here.shown) == Decimal(there.shown):
            # 20 and 20.00 are one number.
            return Tier.SHAPE
        case _:
            return Tier.BREAKS


def _is_word(form: ValueForm) -> bool:
    """Whether a text is a word such as ``SUCCESS``, by which a client decides."""
    return _ENUMERATED.fullmatch(form.shown.strip('"')) is not None
