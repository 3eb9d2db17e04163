"""Constants of the method ppr, read by the tests of every method (tests/papers)."""

ABOUT_REWARDS = True
