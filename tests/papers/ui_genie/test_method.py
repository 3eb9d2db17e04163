"""Constants of the method ui_genie, read by the tests of every method (tests/papers)."""

SHORT = ["--rounds", "1"]
