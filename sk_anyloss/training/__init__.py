"""Networks and their training: the MLP, its gradient, batches, and the skorch net."""
