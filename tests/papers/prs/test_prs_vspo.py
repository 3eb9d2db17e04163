"""Constants of the method prs_vspo, read by the tests of every method (tests/papers)."""

ABOUT_REWARDS = True
DEAD_PARTS = {"partial"}
MAY_TIE = "a correct answer without a call that worked does not count, by the paper's rule"
UNBOUNDED = {"training/loss/kl": "a distance, which has no level"}
