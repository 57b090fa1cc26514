"""Studies of networks: images, soft sets, long tails."""
