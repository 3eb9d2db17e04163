"""Constants of the method prs, read by the tests of every method (tests/papers)."""

ABOUT_REWARDS = True
MAY_TIE = "a correct answer without a call that worked does not count, by the paper's rule"
UNBOUNDED = {"pass@1": "by the area, as the same figure at its end is bounded"}
