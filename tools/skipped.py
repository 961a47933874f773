"""What a run of the tests has skipped: ``python -m tools.skipped REPORT``, which is what ``pytest
--junitxml`` writes.

The reasons go to standard error, each with how often; each file and reason to standard output, for
a run that has what is needed. Fails when there is a reason that the README does not name under
"Test it".
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

README = Path(__file__).resolve().parents[1] / "README.md"
_SECTION = re.compile(r"^It skips\b.+?\n\n", re.MULTILINE | re.DOTALL)
_REASON = re.compile(r"needs (the program|[\w-]+)")


class Skip(NamedTuple):
    """A test that was skipped, or a file of them."""

    file: str
    reason: str


def skips(report: str) -> Iterator[Skip]:
    """All that a report says was skipped."""
    for case in ElementTree.fromstring(report).iter("testcase"):
        skipped = case.find("skipped")
        if skipped is None:
            continue
        # A file that is skipped when it is collected has no class, and its reason in the repr of a
        # tuple.
        module, *_ = re.split(r"\.(?=[A-Z])", case.get("classname") or case.get("name", ""))
        text = f"{skipped.get('message')} {skipped.text}"
        reason = re.search(r"Skipped: (.+?)['\"]\)", text)
        yield Skip(
            f"{module.replace('.', '/')}.py", reason[1] if reason else skipped.get("message", "")
        )


def named(readme: str) -> set[str]:
    """What tests may need that are skipped, as the README says."""
    section = _SECTION.search(readme)
    if section is None:
        return set()
    programs = {"the program"} if "program" in section[0] else set()
    return programs | set(re.findall(r"`([\w-]+)`", section[0]))


def unnamed(reasons: Mapping[str, int], readme: str) -> list[str]:
    """The reasons that the README does not name."""
    known = named(readme)
    strange = []
    for reason in reasons:
        needed = _REASON.match(reason)
        if needed is None or needed[1] not in known:
            strange.append(reason)
    return strange


def main() -> int:
    """Print what was skipped; 1 when the README does not say so."""
    found = list(skips(Path(sys.argv[1]).read_text("utf-8")))
    reasons = Counter(skip.reason for skip in found)
    for reason, count in reasons.most_common():
        print(f"{count:4} skipped: {reason}", file=sys.stderr)
    strange = unnamed(reasons, README.read_text("utf-8"))
    for reason in strange:
        print(f"README.md, Test it, does not say that this is skipped: {reason}", file=sys.stderr)
    for skip in sorted(set(found)):
        print(f"{skip.file}\t{skip.reason}")
    return int(bool(strange))


if __name__ == "__main__":
    sys.exit(main())
