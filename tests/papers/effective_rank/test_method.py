"""Constants of the method effective_rank, read by the tests of every method (tests/papers)."""

REMEMBERS = "ranks of earlier steps"
