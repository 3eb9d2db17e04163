"""Constants of the method rex_rag, read by the tests of every method (tests/papers)."""

SHORT = ["--sft-steps", "2"]
TRAINS_FORCED = True
REMEMBERS = "failed tasks"
RESUMED = ["--sft-steps", "0"]
