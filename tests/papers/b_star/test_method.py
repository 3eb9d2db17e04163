"""Constants of the method b_star, read by the tests of every method (tests/papers)."""

SHORT = ["--rounds", "1", "--tasks", "1", "--tries", "2", "--temperatures", "1.0"]
