"""Constants of the method grpo_tcr_taught, read by the tests of every method (tests/papers)."""

SHORT = ["--sft-tasks", "8", "--sft-epochs", "1"]
