"""Methods to compare: their registry, boosting libraries, and which is simpler."""
