"""Constants of the method thor, read by the tests of every method (tests/papers)."""

REMEMBERS = "separate judgements"
