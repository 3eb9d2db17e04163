"""Constants of the method qta, read by the tests of every method (tests/papers)."""

NO_REWARD = True
SHORT = ["--labels", "2", "--sets", "3", "--rewrites", "4", "--epochs", "1"]
