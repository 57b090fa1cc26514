"""The AnyLoss study: as its authors ran it, and as it should be run."""
