"""Constants of the method reasoning_sql, read by the tests of every method (tests/papers)."""

ABOUT_REWARDS = True
