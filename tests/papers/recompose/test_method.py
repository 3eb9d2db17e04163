"""Constants of the method recompose, read by the tests of every method (tests/papers)."""

ABOUT_REWARDS = True
UNBOUNDED = {"pass@1": "a collapse, which has no level"}
