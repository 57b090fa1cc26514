"""Samples: where they come from, and how they become batches."""
