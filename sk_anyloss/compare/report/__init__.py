"""Results as text, as figures, and as an HTML page."""
