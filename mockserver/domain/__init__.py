"""The law of the sandbox: entities, state tables, errors, money, cards, clock and ids. No input or output of any
kind."""
