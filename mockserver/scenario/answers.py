"""Calls of a set-up or an example: checked, made ready with earlier answers, and judged by what is
expected of them.

A placeholder ``{ann.customerId}`` in a call stands for a member of an earlier call's answer.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

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
    """Find calls that name an answer which none before them has, and ids that are used twice. The
    answers of the set-up are known in every example, those of one example in no other."""
    setup_ids: set[str] = set()
    for index, call in enumerate(setup):
        here = problems.below("setup", index)
        if call.expect is not None and call.expect.fault:
            here.add(
                ("expect", "fault"), "set-up calls meet no faults, so a whole answer always arrives"
            )
        _check_call(call, setup_ids, here)
        _take_id(call, setup_ids, here)
    for index, example in enumerate(examples):
        ids = set(setup_ids)
        for number, step in enumerate(example.calls):
            here = problems.below("examples", index, "calls", number)
            match step:
                case CallMap():
                    _check_call(step, ids, here)
                    _take_id(step, ids, here)
                case WaitMap():
                    _check_call(step.call, ids, here, key="wait")
                case TogetherMap():
                    # Where no rule holds a call up, it is answered before the next begins: that
                    # may name it.
                    for place, call in enumerate(step.together):
                        _check_call(call, ids, here.below("together", place))
                        _take_id(call, ids, here.below("together", place))
                case AdvanceMap():
                    pass


def _check_call(
    call: CallMap, ids: Collection[str], problems: Problems, *, key: str = "call"
) -> None:
    """Find what is wrong with what a call sends and expects; ``ids`` are those of the calls before
    it, ``key`` is where the file has its path. A slip is found here, with its line, and not when
    the call is made."""
    for part, value in ((key, call.path), ("body", call.body), ("headers", call.headers)):
        _check_placeholders(value, part, ids, problems)
    expect = call.expect
    if expect is None:
        return
    _check_placeholders(expect.body, "expect", ids, problems)
    if problems.was_taken:
        # Earlier versions did not look at the tests of an answer, and took any.
        return
    _check_tests(expect.body, problems.below("expect", "body"))
    _check_tests(expect.headers, problems.below("expect", "headers"))


def _check_placeholders(value: object, part: str, ids: Collection[str], problems: Problems) -> None:
    """Find placeholders in one part of a call that name no earlier call."""
    for name, text in placeholders(value):
        if name not in ids:
            hint = nearest(name, ids)
            problems.add((part,), f"got {text}, but no earlier call has the id '{name}'{hint}")


def _take_id(call: CallMap, ids: set[str], problems: Problems) -> None:
    """Add the id of a call, if it has one, to those that later calls may name."""
    if call.id is None:
        return
    if call.id in ids:
        problems.add(("id",), f"got '{call.id}' a second time; the id of a call must be unique")
    ids.add(call.id)


def _check_tests(wanted: object, problems: Problems) -> None:
    """Find tests in an expected answer that make no sense."""
    if _is_test(wanted):
        # Of a placeholder only the answer says what it is, and whether the operator can have it.
        if not any(placeholders(wanted)):
            with problems.at():
                compile_test("expect", wanted, patterns=problems.patterns)
    elif isinstance(wanted, Mapping):
        for name, member in wanted.items():
            _check_tests(member, problems.below(name))
    elif isinstance(wanted, list | tuple):
        for index, item in enumerate(wanted):
            _check_tests(item, problems.below(index))


def _is_test(wanted: object) -> bool:
    """Whether a map in an expected answer has operators instead of members. No field of the API
    is named like an operator, so the names tell; ``{}`` wants an object, of any members."""
    if not isinstance(wanted, Mapping) or not wanted:
        return False
    return wanted.keys() <= OPERATORS.keys()


def ready(call: CallMap, answers: Mapping[str, object]) -> CallMap:
    """The call with the members of earlier answers in its texts, and the names of its headers in
    lower case, as a server gives them to an application. Of what is expected only the body may
    name earlier answers. Raises ``LookupError`` naming one that is not there."""
    headers: dict[str, str] = {}
    for name, value in (call.headers or {}).items():
        headers[name.lower()] = _filled_text(value, answers)
    expect = call.expect
    if expect is not None:
        expect = replace(expect, body=filled(expect.body, answers))
    return replace(
        call,
        call=_filled_text(call.call, answers),
        body=filled(call.body, answers),
        headers=headers,
        expect=expect,
    )


def unexpected(
    expect: ReplyMap, status: int, headers: Mapping[str, str], answer: object
) -> list[str]:
    """Where a whole answer differs from what is expected, in words."""
    if expect.fault:
        return [f"wanted no whole answer, got status {status}"]
    unlike: list[str] = []
    if expect.status is not None:
        if status != expect.status:
            unlike.append(f"wanted status {expect.status}, got {status} {_brief(answer)}")
    elif expect.body is None and status >= _FIRST_BAD:
        # With neither, any success will do. A body alone may be that of an error.
        unlike.append(f"wanted success, got {status} {_brief(answer)}")
    if expect.body is not None:
        unlike += differences(expect.body, answer)
    for name, value in (expect.headers or {}).items():
        unlike += differences(value, headers.get(name.lower()), f"header {name}")
    return unlike


def _brief(answer: object) -> str:
    """Code, message and details of an error, which mostly say why the status is another; empty of
    any other answer."""
    if not isinstance(answer, dict) or "message" not in answer:
        return ""
    words = f"{answer.get('code')} {answer['message']}"
    if answer.get("details"):
        words += f" {answer['details']}"
    return f"({words})"


def differences(wanted: object, got: object, path: str = "body") -> list[str]:
    """Where an answer differs from what is wanted, in words; members that are not named are not
    looked at. A map of test operators (``{gt: 5}``, ``{exists: true}``) tests the member; null also
    means absent."""
    match wanted:
        case Mapping() if _is_test(wanted):
            return _difference_of_test(dict(wanted), got, path)
        case Mapping():
            if not isinstance(got, Mapping):
                return [f"{path}: wanted an object, got {_kind(got)}"]
            unlike: list[str] = []
            for name, member in wanted.items():
                unlike += differences(member, got.get(name), f"{path}.{name}")
            return unlike
        case list() | tuple():
            if not isinstance(got, list):
                return [f"{path}: wanted a list, got {_kind(got)}"]
            if len(got) != len(wanted):
                return [f"{path}: wanted {len(wanted)} items, got {len(got)}"]
            unlike = []
            for index, item in enumerate(wanted):
                unlike += differences(item, got[index], f"{path}[{index}]")
            return unlike
        case _ if _is_same(wanted, got):
            return []
        case _:
            return [f"{path}: wanted {excerpt(wanted)}, got {_kind(got)}"]


def _difference_of_test(operators: dict[str, object], got: object, path: str) -> list[str]:
    """What a member has instead of what its test wants; empty when it passes."""
    try:
        test = compile_test(path, operators)
    except ValueError as fault:
        # An operand that came from an earlier answer makes no sense here.
        return [f"{path}: {fault}"]
    difference = test.difference_of(got)
    if difference is None:
        return []
    return [str(difference)]


def _is_same(wanted: object, got: object) -> bool:
    """Whether two plain values are the same. In an answer a text or a flag is equal to none but its
    like: there ``"1.50"`` in place of 1.5 is a fault, which rules are not to care about."""
    is_strict = isinstance(wanted, (bool, str)) or isinstance(got, (bool, str))
    if is_strict and type(wanted) is not type(got):
        return False
    return canonical(wanted) == canonical(got)


def _kind(value: object) -> str:
    """What an answer has, in words: of an object or a list only which it is."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return excerpt(value)


_PLACEHOLDER = r"\{(?P<call>[A-Za-z0-9_-]+)\.(?P<path>[A-Za-z0-9_][A-Za-z0-9_.-]*)\}"


def placeholders(value: object) -> Iterator[tuple[str, str]]:
    """Every placeholder in the texts of a value: the id of the call, and the whole of it."""
    if isinstance(value, str):
        for match in re.finditer(_PLACEHOLDER, value):
            yield match["call"], match[0]
    elif isinstance(value, Mapping):
        for member in value.values():
            yield from placeholders(member)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from placeholders(item)


def filled(value: object, answers: Mapping[str, object]) -> object:
    """The value with every placeholder replaced. A text that is one placeholder becomes the member
    itself, of any type: an amount stays a number. Raises ``LookupError`` naming a placeholder whose
    member no answer has."""
    if isinstance(value, str):
        whole = re.fullmatch(_PLACEHOLDER, value)
        if whole is not None:
            return _member(whole, answers)
        return _filled_text(value, answers)
    if isinstance(value, Mapping):
        return {name: filled(member, answers) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [filled(item, answers) for item in value]
    return value


def _filled_text(text: str, answers: Mapping[str, object]) -> str:
    """The text with every placeholder replaced by the text of its member."""

    def member_text(placeholder: re.Match[str]) -> str:
        return as_text(_member(placeholder, answers))

    return re.sub(_PLACEHOLDER, member_text, text)


def _member(placeholder: re.Match[str], answers: Mapping[str, object]) -> object:
    """The member of an answer that a placeholder stands for. Raises ``LookupError``."""
    call_id = placeholder["call"]
    answer = answers.get(call_id)
    member = walked(answer, placeholder["path"].split("."))
    if member is not None:
        return member
    words = f"{placeholder[0]}: the answer of '{call_id}' has no such member"
    # An answer that was no object, or never came whole, has no members to name.
    if isinstance(answer, Mapping):
        words += f", it has {', '.join(map(str, answer))}"
    raise LookupError(words)
