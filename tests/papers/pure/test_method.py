"""Constants of the method pure, read by the tests of every method (tests/papers)."""

FALLS = (
    "Per-turn rewards are summed here, and a judge with a preference for successful calls pays every "
    "call: the fault in the paper. The method's credit takes the minimum, invisible in a table of "
    "rewards."
)
