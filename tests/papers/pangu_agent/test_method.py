"""Constants of the method pangu_agent, read by the tests of every method (tests/papers)."""

SHORT = ["--episodes", "2", "--passes", "1"]
