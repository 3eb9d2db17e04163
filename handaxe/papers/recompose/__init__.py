"""RoRecomp (arXiv:2509.25958): train short successes and long failures first, and the rest later from a buffer."""

from handaxe import selection
from handaxe.methods.method import Method, replace
from handaxe.papers.recompose.recompose import num_calls
from handaxe.papers.recompose.recompose import recompose as split
from handaxe.training.loop.schedule import cosine

__all__ = ["recompose"]


def recompose(
    base: Method, *, priority_share: float = 0.5, replay_rate: float = 1.0, capacity: int = 96, decay_steps: int = 24
) -> Method:
    """Train on correct rollouts with few calls and wrong ones with many; replay the others from a FIFO buffer.

    Args:
        priority_share: share of the correct and of the wrong rollouts that train at once. Unconfirmed.
        replay_rate: probability of a compensation step at the start; it decays to 0. Unconfirmed.
        capacity: rollouts in the buffer, here as many as a step samples. Unconfirmed.
        decay_steps: steps until the replay rate is 0. Unconfirmed.
    """
    rate = cosine(replay_rate, steps=decay_steps)
    batches = split(share=priority_share, capacity=capacity, chance=rate, amount=num_calls)
    return replace(base, select=selection.pipe(base.select, batches))
