"""Constants of the method deepsport, read by the tests of every method (tests/papers)."""

ABOUT_REWARDS = True
MAY_TIE = "a repeated call breaks the format, by the paper's rule"
