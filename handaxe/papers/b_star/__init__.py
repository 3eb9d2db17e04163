"""B-STaR: a policy teaches itself, at the temperature that balances what is new against what is right."""

from handaxe.methods.method import Method, replace
from handaxe.papers.b_star.balanced_sampling import balanced_sampling
from handaxe.training.stages.repeat import repeat
from handaxe.training.stages.teach import teach

__all__ = ["b_star"]


def b_star(
    base: Method,
    *,
    temperatures: tuple[float, ...] = (0.5, 0.75, 1.0, 1.25),
    thresholds: tuple[float, ...] = (0.5,),
    rounds: int = 6,
    tasks: int = 24,
    tries: int = 16,
) -> Method:
    """Fine-tune on unlike right attempts of the policy's own, round after round; no reinforcement learning.

    The temperature that a round chose stands in the record of what it played.

    Args:
        temperatures: of the grid, tried on 8 tasks each; one alone is what the paper compares with.
        thresholds: of the grid, in units of reward.
        rounds: of playing and fine-tuning, from the newest weights; 9 in the paper.
        tasks: played in a round.
        tries: attempts at each; 64 in the paper.
    """
    source = balanced_sampling(temperatures=temperatures, thresholds=thresholds, groups=tasks, group_size=tries)
    taught = teach(source=source, learning_rate=3e-4, optional=True)
    return replace(base, stages=(*base.stages, repeat(stages=[taught], times=rounds)))
