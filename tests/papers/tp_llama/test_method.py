"""Constants of the method tp_llama, read by the tests of every method (tests/papers)."""

NO_REWARD = True
SHORT = ["--trees", "4", "--measured", "2", "--nodes", "4"]
