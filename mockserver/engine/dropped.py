"""Warnings that the oldest journal entries, webhooks and inbox messages of a sandbox are no longer kept."""

from __future__ import annotations

from mockserver.engine.sandbox import Sandbox


def warn(sandbox: Sandbox) -> None:
    """Warn once in the life of a sandbox for each list that overflows, and when the memory of all journals does."""
    if sandbox.journal.dropped or sandbox.deliveries.dropped or sandbox.inboxes.dropped:
        lists = (
            ("journal entries", sandbox.journal.limit, sandbox.journal.overflown),
            ("webhooks", sandbox.deliveries.limit, sandbox.deliveries.dropped),
            ("inbox messages", sandbox.inboxes.limit, sandbox.inboxes.dropped),
        )
        for name, limit, dropped in lists:
            if dropped:
                sandbox.warn(f"only the newest {limit} {name} are kept (--journal-limit); older ones are dropped")
    room = sandbox.journal.room
    if room is not None and room.dropped and (news := room.news()) is not None:
        sandbox.step.warnings += (news,)
