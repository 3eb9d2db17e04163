"""Constants of the method smart, read by the tests of every method (tests/papers)."""

ABOUT_REWARDS = True
NO_REWARD = True
