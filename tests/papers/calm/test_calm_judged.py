"""Constants of the method calm_judged, read by the tests of every method (tests/papers)."""

SHORT = ["--demonstrations", "4", "--epochs", "1"]
LAB = "the judge equals the policy before a stage"
REMEMBERS = "a trained judge"
RESUMED = ["--demonstrations", "2", "--epochs", "1", "--max-turns", "3"]
