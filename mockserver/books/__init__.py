"""What the sandbox knows of the money, and what the shop believes of it."""
