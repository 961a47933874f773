"""The scenario that comes with the server, read without the models of the language.

It is our own and tested with them. To build the models takes a tenth of the time to the first answer and 5 MB, which
are spent when somebody's own scenario comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mockserver.domain.clock import parse_duration
from mockserver.scenario.later_step import Later
from mockserver.scenario.model import RuleMap, ScenarioFile
from mockserver.scenario.outcome_catalogue import decline
from mockserver.scenario.outcome_map import ThenMap
from mockserver.scenario.provider_outcome import Challenge


def file_of(data: Mapping[str, Any]) -> ScenarioFile:
    """The file, but for its rules and examples. Raises ``ValueError`` for what only the models read."""
    _know(data, {"version", "name", "description", "rules", "examples"})
    return ScenarioFile(version=1, name=data["name"], description=data["description"])


def rule_of(data: Mapping[str, Any]) -> RuleMap:
    """One rule. Raises ``ValueError`` for what only the models read."""
    _know(data, {"id", "when", "then"})
    return RuleMap(id=data["id"], when=data["when"], then=_then(data["then"]))


def _then(data: Mapping[str, Any]) -> ThenMap:
    match data:
        case {"decline": str() as name, **others} if not others:
            return ThenMap(decline=decline(name))
        case {"challenge": {**details}, **others} if not (others or details):
            return ThenMap(challenge=Challenge())
        case {"outcome_from": str() as path, **others} if not others:
            return ThenMap(outcome_from=path)
        case {"later": [{"after": str() as after, "set": dict(), **more}], **others} if not (others or more):
            return ThenMap(later=(Later(parse_duration(after), set=dict(data["later"][0]["set"])),))
    raise ValueError(f"got {', '.join(data)}, which only the models read")


def _know(data: Mapping[str, Any], names: set[str]) -> None:
    if not data.keys() <= names:
        raise ValueError(f"got {', '.join(data.keys() - names)}, which only the models read")
