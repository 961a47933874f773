"""Warnings that the oldest journal entries, webhooks and inbox messages of a sandbox are no longer kept."""

from __future__ import annotations

from functools import lru_cache

from mockserver.engine.sandbox import Sandbox


def warn(sandbox: Sandbox) -> None:
    """Warn once in the life of a sandbox for each list that overflows, and when the memory of all journals does."""
    journal = sandbox.journal
    if journal.last - len(journal.entries) > journal.given_up:
        sandbox.warn(_words("journal entries", journal.limit))
    if sandbox.deliveries.dropped:
        sandbox.warn(_words("webhooks", sandbox.deliveries.limit))
    if sandbox.inboxes.dropped:
        sandbox.warn(_words("inbox messages", sandbox.inboxes.limit))
    room = journal.room
    if room is not None and room.dropped and (news := room.news()) is not None:
        sandbox.step.warnings += (news,)


@lru_cache(maxsize=16)
def _words(name: str, limit: int) -> str:
    return f"only the newest {limit} {name} are kept (--journal-limit); older ones are dropped"
