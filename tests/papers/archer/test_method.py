"""Constants of the method archer, read by the tests of every method (tests/papers)."""

REMEMBERS = "turns to learn from, a critic, and states of earlier rollouts"
