"""RoRecomp: short successes and long failures train at once, and the rest later, from a buffer."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.selection.pipe import pipe
from handaxe.selection.recompose import num_calls
from handaxe.selection.recompose import recompose as split
from handaxe.training.schedule import cosine
from handaxe.worlds.sums import sums

__all__ = ["recompose"]

TITLE = "RoRecomp: Enhancing Reasoning Efficiency via Rollout Response Recomposition in Reinforcement Learning"
NOTE = "Share, size of the buffer and chances are unconfirmed."
KEPT = "Without the rest, accuracy ends lower."
RECIPE = Recipe(
    paper=Paper(TITLE, "RoRecomp", "2509.25958", 142),
    claims=(
        Claim("Fewer calls, as accurate.", "calls", "down", same="pass@1", vice=0.6, note=NOTE),
        Claim(KEPT, "pass@1", "up", baseline="recompose --chance 0", note=NOTE),
    ),
    world=sums,
    setting=Setting(model="start", steps=24),
)


def recompose(base: Method, *, share: float = 0.5, chance: float = 1.0, capacity: int = 96, fading: int = 24) -> Method:
    """Train on few calls that were right and many that were wrong, and later on what is left.

    Args:
        share: of the right attempts and of the wrong ones, those that train at once; unconfirmed.
        chance: of a step for the rest, which falls to 0; unconfirmed.
        capacity: attempts that wait, here as many as a step plays; unconfirmed.
        fading: steps until the chance is 0; unconfirmed.
    """
    falling = cosine(chance, steps=fading)
    rest = split(share=share, capacity=capacity, chance=falling, amount=num_calls)
    return replace(base, select=pipe(base.select, rest))
