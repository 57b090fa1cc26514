"""Training in several processes, and training that can be resumed."""
