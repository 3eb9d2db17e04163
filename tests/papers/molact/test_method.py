"""Constants of the method molact, read by the tests of every method (tests/papers)."""

SHORT = ["--first-steps", "2"]
ABOUT_REWARDS = True
