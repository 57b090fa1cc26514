"""Fits on all folds, in processes, with what is finished kept in a folder."""
