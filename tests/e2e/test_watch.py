"""``--watch``: a changed file takes effect by itself, a bad one leaves the old rules in force and says why."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from tests.served import CHARGE, Process, serve

RULE = """version: 1
name: story
rules:
  - id: one
    when: {{op: charge.create}}
    then: {{decline: {outcome}}}
"""


def eventually(holds: Callable[[], bool]) -> None:
    """Wait until something holds: the server looks at its files twice a second."""
    end = time.monotonic() + 15
    while not holds():
        assert time.monotonic() < end, "it never came to hold"


def decline_of(server: Process) -> int:
    status, answer = server.call("POST", "/charge/card", CHARGE)
    return 0 if status == 201 else int(answer["code"])


def test_a_changed_file_takes_effect_and_a_bad_one_does_not(tmp_path: Path) -> None:
    story = tmp_path / "story.yaml"
    story.write_text(RULE.format(outcome="insufficient_funds"))
    server = serve("--scenario", str(story), "--watch")
    try:
        assert decline_of(server) == 15
        story.write_text(RULE.format(outcome="lost_card"))
        eventually(lambda: decline_of(server) == 941)
        story.write_text(RULE.format(outcome="lost_crad"))
        eventually(lambda: server.call("GET", "/readyz")[0] == 503)
        reasons = server.call("GET", "/readyz")[1]["reasons"]
        assert any("story.yaml:6" in reason and "lost_card" in reason for reason in reasons)
        assert decline_of(server) == 941
        story.write_text(RULE.format(outcome="expired_card"))
        eventually(lambda: server.call("GET", "/readyz")[0] == 200)
        assert decline_of(server) == 14
    finally:
        assert server.stop() == 0
