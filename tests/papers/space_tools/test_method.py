"""Constants of the method space_tools, read by the tests of every method (tests/papers)."""

SHORT = ["--specialist-steps", "1", "--specialist-tasks", "2", "--teacher", "8"]
ABOUT_REWARDS = True
