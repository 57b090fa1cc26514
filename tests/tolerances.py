"""How closely two computations of the same quantity agree, on any CPU."""

# For the outputs and losses of two trained networks that are equal in exact
# arithmetic. Each instruction set adds up in an order of its own, and where a gradient
# vanishes by symmetry Adam divides what rounding leaves of it by no more than its
# epsilon, 1e-8. Hence the absolute part: under the settings of `make test-portable`
# such networks differ by up to 3e-9, while an error of 1e-3 in the gradient or in the
# weights moves the logits by 1e-5 to 1e-1.
SAME_MODEL = {"rtol": 1e-6, "atol": 1e-6}
