"""Constants of the method tapo, read by the tests of every method (tests/papers)."""

ABOUT_REWARDS = True
DEAD_PARTS = {"calls"}
