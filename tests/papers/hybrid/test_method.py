"""Constants of the method hybrid, read by the tests of every method (tests/papers)."""

ASKS_MODEL = True
ABOUT_REWARDS = True
# The rule has no confidence in a sentence or a letter.
DEAD_PARTS = {"unsure", "accuracy/rule/right/words", "accuracy/rule/right/choice"}
TRAP_TASKS = 5
