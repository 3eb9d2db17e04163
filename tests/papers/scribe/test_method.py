"""Constants of the method scribe, read by the tests of every method (tests/papers)."""

ABOUT_REWARDS = True
