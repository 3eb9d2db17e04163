"""Constants of the method sport, read by the tests of every method (tests/papers)."""

NO_REWARD = True
SHORT = ["--rounds", "1", "--sampled", "4", "--candidates", "3", "--labels", "64"]
