"""Constants of the method tgrl, read by the tests of every method (tests/papers)."""

ABOUT_REWARDS = True
