"""The estimator that tunes itself: candidates, folds, ensemble, and pictures of it."""
