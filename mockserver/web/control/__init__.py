"""The control API: what a test may do to its sandbox beside using it."""
