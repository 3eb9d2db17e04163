"""Constants of the method tp_grpo, read by the tests of every method (tests/papers)."""

FALLS = (
    "One step label in ten is flipped, as the method specifies, and a flip to correct pays a wrong answer. "
    "`--wrong 0` flips none."
)
