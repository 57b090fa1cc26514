"""Parts of the meta-estimator that tunes decisions."""
