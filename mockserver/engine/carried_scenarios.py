"""The scenarios that a state document carries, so that an import needs no file: as plain data, examples apart.

Source: docs/control-api.md (``/__admin/state``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import PurePath

from mockserver.domain.record import record
from mockserver.engine.codec import MOST_FAULTS, ImportFault, form
from mockserver.engine.config import SandboxConfig
from mockserver.scenario.parse import parse
from mockserver.scenario.problems import ScenarioRefused
from mockserver.scenario.scenario import Scenario

_HIDDEN = "***"


@record
class Carried:
    """One scenario in force. Its set-up calls, which may hold card numbers and ccv, go out with secrets only."""

    name: str
    file: str
    built_in: bool
    data: dict[str, object]
    setup: list[object] | None = field(default=None, repr=False)


def carried(scenarios: Sequence[Scenario], *, secrets: bool) -> list[Carried]:
    """Scenarios in the order in which they were given."""
    found = []
    for scenario in scenarios:
        data = {name: part for name, part in scenario.source.items() if name not in ("examples", "setup")}
        setup = scenario.source.get("setup")
        found.append(
            Carried(
                name=scenario.name,
                file=PurePath(scenario.file).name,
                built_in=scenario.builtin,
                data=data if secrets else _without_secrets(data),
                setup=setup if isinstance(setup, list) else None,
            )
        )
    return found


def _without_secrets(data: dict[str, object]) -> dict[str, object]:
    def hidden(value: object) -> object:
        match value:
            case Mapping():
                return {key: _HIDDEN if key == "authorization" else hidden(one) for key, one in value.items()}
            case list():
                return [hidden(one) for one in value]
            case _:
                return value

    return {key: hidden(value) for key, value in data.items()}


def config_under(
    given: Sequence[Carried],
    in_force: SandboxConfig,
    config_of: Callable[[Sequence[Scenario]], SandboxConfig],
    *,
    secrets: bool,
) -> SandboxConfig:
    """The config under carried scenarios: the one in force when it has the same. Of others, a scenario that is in force
    is taken as it is, with its place. Raises ``ImportFault`` for a scenario that would be refused as a file."""
    write = form(list[Carried]).write
    wanted, ours = write(given, secrets), write(carried(in_force.scenarios, secrets=secrets), secrets)
    if wanted == ours:
        return in_force
    scenarios: list[Scenario] = []
    faults: list[tuple[str, str]] = []
    for place, one in enumerate(given):
        if wanted[place] in ours:
            scenarios.append(in_force.scenarios[ours.index(wanted[place])])
            continue
        data = one.data if one.setup is None else {**one.data, "setup": one.setup}
        try:
            scenarios.append(parse(data, {}, file=one.file, name=one.name, builtin=one.built_in))
        except ScenarioRefused as refused:
            faults += [(f"scenarios.{place}.data", f"{fault.path}: {fault.message}") for fault in refused.problems]
    if faults:
        raise ImportFault(*faults[:MOST_FAULTS])
    return config_of(scenarios)
