"""Constants of the method eureka, read by the tests of every method (tests/papers)."""

SHORT = ["--programs", "1", "--rounds", "1", "--trial-steps", "1"]
REMEMBERS = "the program of the search"
RESUMED = SHORT
