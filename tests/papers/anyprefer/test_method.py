"""Constants of the method anyprefer, read by the tests of every method (tests/papers)."""

NO_REWARD = True
SHORT = ["--sampled", "4", "--answers", "2", "--rounds", "2"]
