"""Constants of the method rest_mcts, read by the tests of every method (tests/papers)."""

SHORT = ["--trees", "3", "--tokens", "60", "--rounds", "1"]
NO_REWARD = True
