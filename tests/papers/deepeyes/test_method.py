"""Constants of the method deepeyes, read by the tests of every method (tests/papers)."""

ABOUT_REWARDS = True
DEAD_PARTS = {"yes/always"}
