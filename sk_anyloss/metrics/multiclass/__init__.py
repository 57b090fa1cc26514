"""Metrics of a confusion matrix with any number of classes."""
