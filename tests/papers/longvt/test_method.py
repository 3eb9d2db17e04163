"""Constants of the method longvt, read by the tests of every method (tests/papers)."""

SHORT = ["--rft-tasks", "2"]
ABOUT_REWARDS = True
MAY_TIE = "a wrong answer after a perfect look earns as much as a correct one without a look, by the paper's weights"
