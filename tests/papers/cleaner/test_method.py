"""Constants of the method cleaner, read by the tests of every method (tests/papers)."""

TRAINS_FORCED = True
