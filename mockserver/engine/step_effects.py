"""What follows from a step once it has happened: webhooks, what a scenario says of later, and
warnings that the oldest journal entries, webhooks and inbox messages of a sandbox are no longer
kept."""

from mockserver.engine import deliveries, later, past
from mockserver.engine.journal import JournalEntry
from mockserver.engine.step import Step


def plan(step: Step) -> None:
    """Plan all that the present step causes."""
    if step.result.ruled:
        later.plan(step)
    deliveries.plan(step)


def note(step: Step, entry: JournalEntry) -> None:
    """Keep a request in the journal. Warn once in the life of a sandbox for each list that
    overflows by it, and when the memory of all journals does."""
    sandbox = step.sandbox
    journal = sandbox.journal
    journal.note(entry)
    warned = step.result.warnings
    counts = sandbox.config.counts
    counts.operations.add(step.asked.op)
    if step.result.ruled:
        counts.strike(step.result)
    # Entries that are gone, but for those that the quota took, which have a warning of their own.
    if journal.last - len(journal.entries) > journal.given_up:
        step.warn(_words("journal entries", journal.limit))
    if sandbox.deliveries.dropped:
        step.warn(_words("webhooks", sandbox.deliveries.limit))
    if sandbox.inboxes.dropped:
        step.warn(_words("inbox messages", sandbox.inboxes.limit))
    if sandbox.past is not None and sandbox.past.is_cut:
        step.warn(
            f"lag: only the newest {past.MOST_CHANGES} changes can be hidden from reads; older "
            "ones are visible"
        )
    quota = journal.quota
    if quota is not None and quota.dropped:
        words = quota.news()
        if words is not None:
            step.result.warnings += (words,)
    if step.result.warnings is not warned:
        journal.warn(step.result.warnings)


def _words(name: str, limit: int) -> str:
    return f"only the newest {limit} {name} are kept (--journal-limit); older ones are dropped"
