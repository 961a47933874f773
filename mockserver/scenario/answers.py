"""Calls of a set-up or an example: checked, made ready with earlier answers, and judged by what is
expected of them.

A placeholder ``{ann.customerId}`` in a call stands for a member of an earlier call's answer.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mockserver.domain.errors import nearest
from mockserver.domain.record import replace
from mockserver.scenario.matching import OPERATORS, compile_test
from mockserver.scenario.paths import walked
from mockserver.scenario.problems import Problems
from mockserver.scenario.scenario import (
    AdvanceMap,
    CallMap,
    ExampleMap,
    ReplyMap,
    TogetherMap,
    WaitMap,
)
from mockserver.scenario.values import as_text, canonical, excerpt

_FIRST_BAD = 400


def check_calls(
    setup: Sequence[CallMap], examples: Sequence[ExampleMap], problems: Problems
) -> None:
    """Find calls that name an answer which none before them has, and ids that are used twice."""
    known: set[str] = set()
    for index, call in enumerate(setup):
        here = problems.below("setup", index)
        if call.expect is not None and call.expect.fault:
            here.add(
                ("expect", "fault"), "set-up calls meet no faults, so a whole answer always arrives"
            )
        _check_call(call, known, here)
    for index, example in enumerate(examples):
        ids = set(known)
        for number, step in enumerate(example.calls):
            here = problems.below("examples", index, "calls", number)
            if isinstance(step, TogetherMap):
                for place, call in enumerate(step.together):
                    _check_call(call, ids, here.below("together", place))
            elif not isinstance(step, AdvanceMap):
                _check_call(step.call if isinstance(step, WaitMap) else step, ids, here)


def _check_call(call: CallMap, known: set[str], problems: Problems) -> None:
    expect = call.expect.body if call.expect is not None else None
    for key, value in (
        ("call", call.path),
        ("body", call.body),
        ("headers", call.headers),
        ("expect", expect),
    ):
        for name, text in placeholders(value):
            if name not in known:
                problems.add(
                    (key,),
                    f"got {text}, but no earlier call has the id '{name}'{nearest(name, known)}",
                )
    if call.id in known:
        problems.add(("id",), f"got '{call.id}' a second time; the id of a call must be unique")
    if call.id is not None:
        known.add(call.id)


def ready(call: CallMap, answers: Mapping[str, object]) -> CallMap:
    """The call with the members of earlier answers in its texts, and the names of its headers in
    lower case. Raises ``LookupError`` naming one that is not there."""
    expect = call.expect
    if expect is not None:
        expect = replace(expect, body=filled(expect.body, answers))
    return replace(
        call,
        call=filled(call.call, answers).rstrip(),
        body=filled(call.body, answers),
        headers={
            name.lower(): str(filled(value, answers))
            for name, value in (call.headers or {}).items()
        },
        expect=expect,
    )


def unexpected(
    expect: ReplyMap, status: int, headers: Mapping[str, str], answer: object
) -> list[str]:
    """Where a whole answer differs from what is expected, in words. Without a status or a body any
    success will do."""
    if expect.fault:
        return [f"wanted no whole answer, got status {status}"]
    found = []
    if expect.status is not None and status != expect.status:
        found.append(f"wanted status {expect.status}, got {status} {_brief(answer)}")
    elif expect.status is None and status >= _FIRST_BAD and expect.body is None:
        found.append(f"wanted success, got {status} {_brief(answer)}")
    if expect.body is not None:
        found += differences(expect.body, answer)
    for name, value in (expect.headers or {}).items():
        found += differences(value, headers.get(name.lower()), f"header {name}")
    return found


def _brief(answer: object) -> str:
    if isinstance(answer, dict) and "message" in answer:
        details = answer.get("details")
        return f"({answer.get('code')} {answer['message']}{f' {details}' if details else ''})"
    return ""


def differences(wanted: object, got: object, path: str = "body") -> list[str]:
    """Where an answer differs from what is wanted, in words; members that are not named are not
    looked at. A map of test operators (``{gt: 5}``, ``{exists: true}``) tests the member; null also
    means absent."""
    match wanted:
        case Mapping() if wanted and wanted.keys() <= OPERATORS.keys():
            difference = compile_test(path, dict(wanted)).difference_of(got)
            return [str(difference)] if difference else []
        case Mapping():
            if not isinstance(got, Mapping):
                return [f"{path}: wanted an object, got {_kind(got)}"]
            members = [(one, got.get(key), f"{path}.{key}") for key, one in wanted.items()]
        case list() | tuple():
            if not isinstance(got, list):
                return [f"{path}: wanted a list, got {_kind(got)}"]
            if len(got) != len(wanted):
                return [f"{path}: wanted {len(wanted)} items, got {len(got)}"]
            members = [(one, got[index], f"{path}[{index}]") for index, one in enumerate(wanted)]
        case _:
            # A text or a flag is equal to none but its like.
            is_alike = type(wanted) is type(got) or not any(
                isinstance(one, (bool, str)) for one in (wanted, got)
            )
            is_same = is_alike and canonical(wanted) == canonical(got)
            return [] if is_same else [f"{path}: wanted {excerpt(wanted)}, got {_kind(got)}"]
    return [found for member in members for found in differences(*member)]


def _kind(value: object) -> str:
    return (
        "an object"
        if isinstance(value, Mapping)
        else "a list"
        if isinstance(value, list)
        else excerpt(value)
    )


_PLACEHOLDER = r"\{([A-Za-z0-9_-]+)\.([A-Za-z0-9_][A-Za-z0-9_.-]*)\}"


def placeholders(value: object) -> Iterator[tuple[str, str]]:
    """Every placeholder in the texts of a value: the id of the call, and the whole of it."""
    if isinstance(value, str):
        yield from ((found[1], found[0]) for found in re.finditer(_PLACEHOLDER, value))
    parts = (
        value.values()
        if isinstance(value, Mapping)
        else value
        if isinstance(value, list | tuple)
        else ()
    )
    for one in parts:
        yield from placeholders(one)


def filled(value: Any, answers: Mapping[str, object]) -> Any:
    """The value with every placeholder replaced. A text that is one placeholder becomes the member
    itself, of any type. Raises ``LookupError`` naming a placeholder whose member no answer has."""
    if isinstance(value, str):
        whole = re.fullmatch(_PLACEHOLDER, value)
        if whole is not None:
            return _member(whole, answers)
        return re.sub(_PLACEHOLDER, lambda found: as_text(_member(found, answers)), value)
    if isinstance(value, Mapping):
        return {key: filled(one, answers) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [filled(one, answers) for one in value]
    return value


def _member(found: re.Match[str], answers: Mapping[str, object]) -> object:
    member = walked(answers.get(found[1]), found[2].split("."))
    if member is None:
        answer = answers.get(found[1])
        said = f", it has {', '.join(map(str, answer))}" if isinstance(answer, Mapping) else ""
        raise LookupError(f"{found[0]}: the answer of '{found[1]}' has no such member{said}")
    return member
