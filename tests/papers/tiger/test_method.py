"""Constants of the method tiger, read by the tests of every method (tests/papers)."""

ABOUT_REWARDS = True
MAY_TIE = "correct calls are worth more than an answer alone, by the weights of the paper"
