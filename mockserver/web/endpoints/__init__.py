"""One short function per operation: from a typed call to the engine and back to the wire."""
