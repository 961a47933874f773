"""How to add what an extra of this package needs, in words that are right for how it was installed.

The package itself is in no index (CONTRIBUTING.md, Release): its name there may lead to what a
stranger has put there. So the words name what the extra needs, or the folder of the checkout.
"""

import re
import shlex
import sys
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from pathlib import Path

_DISTRIBUTION = "payfurl-mockserver"
_OF_AN_EXTRA = re.compile(r"""(?P<needed>[^;]+?)\s*;.*\bextra\s*==\s*["'](?P<extra>[\w-]+)["']""")


def how_to_add(extra: str) -> str:
    """The command that adds an extra to the environment in which this runs."""
    python = sys.executable or "python"
    command = [python, "-m", "pip", "install"]
    if find_spec("pip") is None:
        # uv makes environments without pip.
        command = ["uv", "pip", "install", "--python", python]
    return shlex.join([*command, *_needed(extra)])


def _needed(extra: str) -> list[str]:
    """What pip is to install: the requirements of the extra, or the folder of the checkout."""
    try:
        requirements = requires(_DISTRIBUTION) or []
    except PackageNotFoundError:
        # A checkout that runs where it lies.
        return [f"{Path(__file__).resolve().parents[2]}[{extra}]"]
    needed = []
    for requirement in requirements:
        match = _OF_AN_EXTRA.match(requirement)
        if match is not None and match["extra"] == extra:
            needed.append(match["needed"])
    return needed
