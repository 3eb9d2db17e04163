"""Constants of the method tim, read by the tests of every method (tests/papers)."""

NO_REWARD = True
SHORT = ["--sampled", "4", "--siblings", "2"]
