"""Constants of the method chartmaster, read by the tests of every method (tests/papers)."""

ABOUT_REWARDS = True
DEAD_PARTS = {"drew"}
