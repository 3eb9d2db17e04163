"""Constants of the method codedance_turns, read by the tests of every method (tests/papers)."""

ABOUT_REWARDS = True
DEAD_PARTS = {"steps"}
