"""Constants of the method deepeyes_v2, read by the tests of every method (tests/papers)."""

ABOUT_REWARDS = True
