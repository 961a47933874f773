"""Findings: what the client did that would cost money, fines or trust in production.

The package is pure: it is given facts (``facts``) in the order in which they happen and knows
neither HTTP nor the engine. :class:`~mockserver.findings.watch.Watch` is its door; ``catalogue`` is
the table that it raises from.
"""
