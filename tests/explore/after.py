"""What came of a run once its command had ended, without a sandbox that told it."""

from collections.abc import Mapping, Sequence
from typing import Any

from mockserver.explore.run_end import RunEnd
from mockserver.explore.run_money import RunMoney


def after(
    findings: Sequence[Mapping[str, Any]], books: Mapping[str, Any] | None = None, **more: Any
) -> RunEnd:
    """A run with these findings, that moved the money of these books."""
    answered = books or {"orders": [], "now": "2031-01-01T00:00:00Z", "in_doubt": []}
    return RunEnd(RunMoney.of(answered), findings, **more)
