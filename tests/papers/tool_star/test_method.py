"""Constants of the method tool_star, read by the tests of every method (tests/papers)."""

SHORT = ["--dpo-tasks", "2"]
ABOUT_REWARDS = True
