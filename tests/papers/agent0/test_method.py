"""Constants of the method agent0, read by the tests of every method (tests/papers)."""

SHORT = ["--earlier-rounds", "0"]
