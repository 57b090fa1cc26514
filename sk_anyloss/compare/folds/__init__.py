"""Folds on which methods are compared, and inner folds on which they are tuned."""
