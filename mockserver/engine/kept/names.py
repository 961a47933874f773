"""The names of the parts of a store, by which what no sandbox has is found out before anything is read."""

from __future__ import annotations

from mockserver.engine.tables import ROW_CLASSES

HEAD_PART = "head"
"""The part that every sandbox has."""

_PARTS = frozenset(ROW_CLASSES) | {
    HEAD_PART,
    "batch_rows",
    "deliveries",
    "fields",
    "findings",
    "idempotency",
    "inbox",
    "journal",
    "marks",
    "past",
    "replays",
    "rule_keys",
    "scenarios",
    "schedule",
    "scripts",
    "setup",
    "stories",
}
_MEMORIES = "findings."


def is_part(name: str) -> bool:
    """Whether a part may have this name; those of the memories of judges follow from the types of their fields."""
    return name in _PARTS or name.startswith(_MEMORIES)
