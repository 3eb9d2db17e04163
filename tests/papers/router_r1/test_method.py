"""Constants of the method router_r1, read by the tests of every method (tests/papers)."""

ABOUT_REWARDS = True
TRAP_TASKS = 1
UNBOUNDED = {"cost": "two recipes that both weigh the cost"}
