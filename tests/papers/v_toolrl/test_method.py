"""Constants of the method v_toolrl, read by the tests of every method (tests/papers)."""

ABOUT_REWARDS = True
