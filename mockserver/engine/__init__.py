"""The sandbox and its use cases: one synchronous function per operation, one instant of the clock
per call."""
