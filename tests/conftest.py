"""Settings that all tests share."""

from hypothesis import settings

# The same examples every time, few enough to walk whole registries with each test.
settings.register_profile(
    "repeatable", derandomize=True, deadline=None, max_examples=20
)
settings.load_profile("repeatable")
