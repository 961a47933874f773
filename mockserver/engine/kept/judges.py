"""What the findings remember, as parts of a kept sandbox: found by the types of the judges."""

from __future__ import annotations

from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from mockserver.engine.kept.forms import Forms
from mockserver.engine.kept.parts import KeptPart, MemoryPart, WholePart
from mockserver.findings.doubts import Chains
from mockserver.findings.ledger import Finding
from mockserver.findings.recent import Recent
from mockserver.findings.watch import Watch


def memories(watch: Watch, forms: Forms) -> list[KeptPart]:
    """What the judges remember, by their types; the calls in doubt, which hold one another, whole."""
    chains = forms.of(Chains)
    parts: list[KeptPart] = [
        WholePart(
            "findings.chains",
            lambda: chains.to_plain(watch.doubts.chains()),
            lambda raw, _: watch.doubts.take_over(chains.to_value(raw)),
        )
    ]
    for name, judge in watch.judges.items():
        for part, slot, key, value in _memories_of(name, _class_of(judge)):
            if not (judge is watch.doubts and slot in ("_calls", "_looks")):
                parts.append(MemoryPart(part, judge, slot, forms.of(key), forms.of(value)))
    return parts


def numbers(watch: Watch) -> list[tuple[str, object, str]]:
    """The counters of the judges, by name."""
    return [
        (counter, judge, slot)
        for name, judge in watch.judges.items()
        for counter, slot in _counters_of(name, _class_of(judge))
    ]


def _class_of(judge: Any) -> type:
    return type(judge)


@cache
def _memories_of(name: str, cls: type) -> list[tuple[str, str, Any, Any]]:
    """The memories of a kind of judge: the name of the part, the slot, the types of keys and values."""
    hints = get_type_hints(cls)
    return [
        (f"findings.{name}{slot}", slot, *get_args(hint)) for slot, hint in hints.items() if get_origin(hint) is Recent
    ]


@cache
def _counters_of(name: str, cls: type) -> list[tuple[str, str]]:
    return [(f"{name}.{slot}", slot) for slot, hint in get_type_hints(cls).items() if hint is int]


def number_of(finding: Finding) -> int:
    return int(finding.id.rpartition("-")[2])
