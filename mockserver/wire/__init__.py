"""JSON shapes in and out: letter case, numbers, dates, quirks of published clients. Only the web, drift and the
commands know the wire."""
