"""JSON shapes in and out: letter case, numbers, dates, quirks of published clients. Only the web,
drift, the commands and the tools for coding agents know the wire."""
