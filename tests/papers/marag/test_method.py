"""Constants of the method marag, read by the tests of every method (tests/papers)."""

ABOUT_REWARDS = True
