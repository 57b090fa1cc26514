"""The scikit-learn estimator, and many of them trained at once."""
