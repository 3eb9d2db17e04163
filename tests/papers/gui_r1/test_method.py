"""Constants of the method gui_r1, read by the tests of every method (tests/papers)."""

ABOUT_REWARDS = True
