"""Constants of the method tool_light, read by the tests of every method (tests/papers)."""

NO_REWARD = True
SHORT = ["--questions", "4", "--loop-questions", "4", "--independent", "3", "--loops", "1"]
