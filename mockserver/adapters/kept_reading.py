"""What the reader of YAML makes of the scenario that comes with the server, kept beside it.

To load the reader and to read that one file took a tenth of the time to the first answer. It is loaded when another
file comes, or a changed one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from mockserver.domain.ids import digest
from mockserver.scenario.problems import Positions

KEPT = Path(__file__).with_name("kept_reading.json")


def kept_reading(text: str) -> tuple[object, Positions] | None:
    """The plain data of a text and the places of its rules; None of a text that is not kept."""
    kept: dict[str, Any] = json.loads(KEPT.read_bytes(), parse_float=Decimal)
    if kept["digest"] != digest(text).hex():
        return None
    return kept["data"], {("rules", index): (line, column) for index, (line, column) in enumerate(kept["places"])}


def to_keep(text: str, data: Mapping[str, Any], positions: Positions) -> str:
    """The file that keeps the reading of a text."""
    places = [positions["rules", index] for index in range(len(data["rules"]))]
    kept = {"digest": digest(text).hex(), "places": places, "data": data}
    return json.dumps(kept, default=float, separators=(",", ":")) + "\n"
