"""Constants of the method bleuberi, read by the tests of every method (tests/papers)."""

SHORT = ["--pool", "16", "--hardest", "8"]
ABOUT_REWARDS = True
