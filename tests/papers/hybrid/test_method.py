"""Constants of the method hybrid, read by the tests of every method (tests/papers)."""

ASKS_MODEL = True
ABOUT_REWARDS = True
TRAP_TASKS = 1
