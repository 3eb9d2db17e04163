"""Constants of the method smart_er, read by the tests of every method (tests/papers)."""

NO_REWARD = True
SHORT = ["--chains", "8", "--epochs", "1"]
