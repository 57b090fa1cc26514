"""Replication of the AnyLoss study: as published, and with nested cross-validation."""
