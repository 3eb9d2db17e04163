"""Constants of the method tool_orchestra, read by the tests of every method (tests/papers)."""

ABOUT_REWARDS = True
TRAP_TASKS = 1
DEAD_PARTS = {"format"}
