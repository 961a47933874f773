"""What the findings remember, as parts of a kept sandbox: found by the types of the judges."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
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
        for slot, annotation in _hints(_class_of(judge)).items():
            if get_origin(annotation) is Recent and not (judge is watch.doubts and slot in ("_calls", "_looks")):
                key, value = map(forms.of, get_args(annotation))
                parts.append(MemoryPart(f"findings.{name}{slot}", partial(getattr, judge, slot), key, value))
    return parts


def _class_of(judge: object) -> Any:
    return type(judge)


@cache
def _hints(cls: type) -> Mapping[str, Any]:
    return get_type_hints(cls)


def numbers(watch: Watch) -> list[tuple[str, object, str]]:
    """The counters of the judges, by name."""
    return [
        (f"{name}.{slot}", judge, slot)
        for name, judge in watch.judges.items()
        for slot, annotation in _hints(_class_of(judge)).items()
        if annotation is int
    ]


def number_of(finding: Finding) -> int:
    return int(finding.id.rpartition("-")[2])
