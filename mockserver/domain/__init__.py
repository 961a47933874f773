"""What the sandbox is about: entities, state tables, errors, money, cards, clock and ids. No input
or output of any kind."""
