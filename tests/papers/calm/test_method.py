"""Constants of the method calm, read by the tests of every method (tests/papers)."""

ABOUT_REWARDS = True
MAY_TIE = "sub-goals are paid beside the answer, by the paper's rule"
UNBOUNDED = {"pass@1": "it is about when a level is reached"}
