"""How a search saves work: passes and time, what is dropped early, precision."""
