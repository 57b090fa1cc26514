"""Fitting every method on every fold, and storing what is finished."""
