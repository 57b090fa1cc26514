"""Comparisons in other programs: reports of skore, and runs of MLflow."""
