"""Constants of the method mindwatcher, read by the tests of every method (tests/papers)."""

ABOUT_REWARDS = True
