"""Time of a fit, beside other implementations of the same network."""
