"""Constants of the method agent0_vl, read by the tests of every method (tests/papers)."""

ABOUT_REWARDS = True
DEAD_PARTS = {"repaired", "correct"}
MAY_TIE = "no reference answer is read: an approved wrong answer earns as much as an approved correct one"
