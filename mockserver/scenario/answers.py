"""Comparing the answer to a call of an example with what the example expects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mockserver.scenario.attempt import Attempt
from mockserver.scenario.matching import OPERATORS, canonical, compile_test, shown


def _read_nothing(attempt: Attempt) -> object:
    return None


def differences(wanted: object, got: object, path: str = "body") -> list[str]:
    """Where an answer differs from what is wanted, in words; members that are not named are not looked at.

    A map of test operators (``{gt: 5}``, ``{exists: true}``) tests the member; null also means absent.
    """
    match wanted:
        case Mapping() if wanted and wanted.keys() <= OPERATORS.keys():
            difference = compile_test(path, _read_nothing, dict(wanted)).difference_of(got)
            return [str(difference)] if difference else []
        case Mapping():
            if not isinstance(got, Mapping):
                return [f"{path}: wanted an object, got {_kind(got)}"]
            found = [differences(one, got.get(key), f"{path}.{key}") for key, one in wanted.items()]
            return [difference for part in found for difference in part]
        case list() | tuple():
            return _list_differences(wanted, got, path)
        case _:
            same = type(wanted) is type(got) or (
                not isinstance(wanted, (bool, str)) and not isinstance(got, (bool, str))
            )
            if same and canonical(wanted) == canonical(got):
                return []
            return [f"{path}: wanted {shown(wanted)}, got {_kind(got)}"]


def _list_differences(wanted: Sequence[object], got: object, path: str) -> list[str]:
    if not isinstance(got, list):
        return [f"{path}: wanted a list, got {_kind(got)}"]
    if len(got) != len(wanted):
        return [f"{path}: wanted {len(wanted)} items, got {len(got)}"]
    found = [differences(one, got[index], f"{path}[{index}]") for index, one in enumerate(wanted)]
    return [difference for part in found for difference in part]


def _sort(value: object) -> type:
    """Texts, flags and everything else (numbers, null) are never equal to each other in an answer."""
    return type(value) if isinstance(value, (str, bool)) else object


def _kind(value: object) -> str:
    match value:
        case Mapping():
            return "an object"
        case list():
            return "a list"
        case _:
            return shown(value)
