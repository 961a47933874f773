"""What a store keeps of a sandbox: its parts as rows, and the sandbox from its rows (``keeping``)."""
