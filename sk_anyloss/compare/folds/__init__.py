"""Folds of a comparison, and those on which a method tunes itself."""
