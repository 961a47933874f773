"""JSON shapes in and out: letter case, numbers, dates, quirks of published clients. No other layer knows the wire."""
