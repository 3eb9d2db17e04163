"""Constants of the method grpo_tcr, read by the tests of every method (tests/papers)."""

ABOUT_REWARDS = True
DEAD_PARTS = {"answer/then"}
UNBOUNDED = {"training/loss/entropy": "an amount, which has no level", "pass@1": "both sides train"}
