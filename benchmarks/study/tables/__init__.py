"""The tables of the paper, computed from confusion matrices, and the published ones."""
