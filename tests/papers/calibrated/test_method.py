"""Constants of the method calibrated, read by the tests of every method (tests/papers)."""

ABOUT_REWARDS = True
DEAD_PARTS = {"brier"}
MAY_TIE = "an answer without a confidence earns the least, by the paper's rule"
