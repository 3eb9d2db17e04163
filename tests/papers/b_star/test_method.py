"""Constants of the method b_star, read by the tests of every method (tests/papers)."""

SHORT = ["--rounds", "1", "--tasks", "4", "--tries", "4", "--temperatures", "1.0", "--thresholds", "0.5"]
