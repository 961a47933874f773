"""Is the mock right? A walk through the payments API, played against another server and this one,
and what differs (docs/drift.md). ``judging.judge`` is the door."""
