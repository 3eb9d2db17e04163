"""Constants of the method ophiuchus, read by the tests of every method (tests/papers)."""

SHORT = ["--reflection-steps", "2"]
ABOUT_REWARDS = True
