"""Constants of the method ikea, read by the tests of every method (tests/papers)."""

ABOUT_REWARDS = True
