"""Writes a scenario as a file that people read and edit: what ``strict_yaml`` reads back is what was given."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import yaml

_PLAIN = re.compile(r"[A-Za-z]([A-Za-z0-9 _./-]*[A-Za-z0-9*])?|[0-9]+(us|ms|s|m|h|d|w)")
_NOT_TEXT = re.compile(r"(?i)true|false|null|yes|no|on|off|[yn]")
_PARAGRAPH = re.compile(r"[!-~]+( [!-~]+)+")
_FIRST_LINE = "# yaml-language-server: $schema=scenario.schema.json"
_WIDTH = 108
_LONGEST_LINE = 88
"""Characters, as Python shows them, up to which a map or a list stands in one line."""


class _Dumper(yaml.SafeDumper):
    """Plain words stay plain, other texts are quoted, long ones folded; decimals keep their digits; small maps and
    lists stand in one line; nothing is an alias."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def text(self, value: str) -> yaml.ScalarNode:
        if len(value) > _LONGEST_LINE and _PARAGRAPH.fullmatch(value):
            return self.represent_scalar("tag:yaml.org,2002:str", value, style=">")
        plain = _PLAIN.fullmatch(value) is not None and _NOT_TEXT.fullmatch(value) is None
        return self.represent_scalar("tag:yaml.org,2002:str", value, style=None if plain else '"')

    def number(self, value: Decimal) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:float", format(value, "f"))

    def represent_mapping(self, tag: str, mapping: Any, flow_style: bool | None = None) -> yaml.MappingNode:
        return super().represent_mapping(tag, mapping, flow_style=_is_short(mapping))

    def represent_sequence(self, tag: str, sequence: Any, flow_style: bool | None = None) -> yaml.SequenceNode:
        return super().represent_sequence(tag, sequence, flow_style=_is_short(sequence))


_Dumper.add_representer(str, _Dumper.text)
_Dumper.add_representer(Decimal, _Dumper.number)


def _is_short(value: Iterable[object]) -> bool:
    return len(str(value)) <= _LONGEST_LINE


def scenario_text(scenario: Mapping[str, object]) -> str:
    """The YAML text of a scenario's plain data, keys in the order given."""
    text: str = yaml.dump(dict(scenario), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH)
    return f"{_FIRST_LINE}\n{text}"
