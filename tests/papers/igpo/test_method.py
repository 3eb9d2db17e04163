"""Constants of the method igpo, read by the tests of every method (tests/papers)."""

LAB = "rewards likelihoods from a policy during a rollout, and no policy plays here"
