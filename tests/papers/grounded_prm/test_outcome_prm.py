"""Constants of the method outcome_prm, read by the tests of every method (tests/papers)."""

SHORT = ["--trees", "4", "--simulations", "4"]
EVALUATES_FORCED = True
