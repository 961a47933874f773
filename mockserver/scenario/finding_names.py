"""The names of findings that a scenario may allow (key ``findings``, ``allow``).

Findings are a room around the sandbox, which knows nothing of it. They register their words here,
in ``finding_names.txt``: ``python -m tools.docs`` prints it from their catalogue, as it prints
``requests.txt`` from the bodies of requests. So a file is right or wrong wherever it is read,
whatever else has been imported.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from mockserver.domain.errors import nearest


@cache
def finding_names() -> Sequence[str]:
    """The name of every finding."""
    return tuple(Path(__file__).with_suffix(".txt").read_text("utf-8").split())


def known_finding(name: str) -> str:
    """The name of a finding. Raises ``ValueError`` with the nearest one."""
    names = finding_names()
    if name not in names:
        raise ValueError(
            f"got '{name[:40]}', wanted the name of a finding{nearest(name[:40], names)}"
        )
    return name
