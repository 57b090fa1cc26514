"""Batches that are spread over several processes, or that come in parts."""
