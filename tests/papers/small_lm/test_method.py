"""Constants of the method small_lm, read by the tests of every method (tests/papers)."""

SHORT = ["--demonstrations", "8"]
ABOUT_REWARDS = True
NO_REWARD = True
