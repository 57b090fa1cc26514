"""Tolerances for two computations of the same quantity, on any CPU."""

# For outputs and losses of two trained networks that are equal in exact arithmetic.
# Instruction sets differ in the order of summation, and where a gradient vanishes by
# symmetry, Adam divides its rounding error by an epsilon of only 1e-8. Hence the
# absolute tolerance: under the settings of `make test-portable` such networks differ by
# up to 3e-9, while an error of 1e-3 in the gradient or in the weights changes the
# logits by 1e-5 to 1e-1.
SAME_MODEL = {"rtol": 1e-6, "atol": 1e-6}
