"""Constants of the method confidence_dichotomy, read by the tests of every method (tests/papers)."""

ABOUT_REWARDS = True
UNBOUNDED = {"mcip": "a finding about two tools, which removes nothing"}
NOISE_VARIES = {"confidence_dichotomy --world.noise 0": "the paper varies the noise of the tool"}
DEAD_PARTS = {"misled"}
