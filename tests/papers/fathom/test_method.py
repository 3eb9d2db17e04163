"""Constants of the method fathom, read by the tests of every method (tests/papers)."""

REMEMBERS = "solved tasks"
