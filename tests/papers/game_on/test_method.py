"""Constants of the method game_on, read by the tests of every method (tests/papers)."""

ABOUT_REWARDS = True
REMEMBERS = "success rates of skills"
