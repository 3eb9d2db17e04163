"""Constants of the method deeptravel, read by the tests of every method (tests/papers)."""

REMEMBERS = "failed tasks to repeat"
