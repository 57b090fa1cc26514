"""AnyLossClassifierCV beside common alternatives: runs, stored results, tables."""
