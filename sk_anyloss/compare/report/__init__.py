"""The page that a comparison is reported on, and its pictures."""
