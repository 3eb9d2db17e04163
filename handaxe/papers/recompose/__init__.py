"""RoRecomp: short successes and long failures train at once, and the rest later, from a buffer."""

from handaxe.methods.method import Method, replace
from handaxe.papers.recompose.recompose import num_calls
from handaxe.papers.recompose.recompose import recompose as split
from handaxe.selection.pipe import pipe
from handaxe.training.loop.schedule import cosine

__all__ = ["recompose"]


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
