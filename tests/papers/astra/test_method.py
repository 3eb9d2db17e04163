"""Constants of the method astra, read by the tests of every method (tests/papers)."""

SHORT = ["--lessons", "32"]
