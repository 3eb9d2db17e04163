"""Constants of the method sft, read by the tests of every method (tests/papers)."""

SHORT = ["--train-tasks", "8", "--passes", "1"]
