"""What keeps a search short: passes and time, what is dropped early, precision."""
