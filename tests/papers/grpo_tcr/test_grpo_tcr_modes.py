"""Constants of the method grpo_tcr_modes, read by the tests of every method (tests/papers)."""

SHORT = ["--sft-tasks", "8", "--sft-epochs", "1"]
ABOUT_REWARDS = True
DEAD_PARTS = {"answer/then"}
UNBOUNDED = {"call_precision": "both sides train"}
