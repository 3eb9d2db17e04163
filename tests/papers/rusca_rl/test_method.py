"""Constants of the method rusca_rl, read by the tests of every method (tests/papers)."""

SHORT = ["--sft-steps", "2"]
