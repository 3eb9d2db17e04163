"""Constants of the method dgrpo, read by the tests of every method (tests/papers)."""

REMEMBERS = "difficulty of families and tasks"
