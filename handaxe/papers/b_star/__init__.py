"""B-STaR (arXiv:2412.17256): self-train at the temperature that balances exploration and exploitation."""

from handaxe.methods.method import Method, replace
from handaxe.papers.b_star.balanced_sampling import balanced_sampling
from handaxe.training.stages.repeat import repeat
from handaxe.training.stages.teach import teach

__all__ = ["b_star"]


def b_star(
    base: Method,
    *,
    temperatures: tuple[float, ...] = (0.5, 0.75, 1.0, 1.25),
    rounds: int = 6,
    tasks: int = 24,
    tries: int = 16,
) -> Method:
    """Fine-tune on the policy's own distinct correct rollouts, round after round, without reinforcement learning.

    Args:
        temperatures: of the grid, each probed on 8 tasks; one value disables the choice. 0.5 to 1.2 in the paper.
        rounds: of playing and fine-tuning, each from the latest weights; 9 in the paper.
        tasks: tasks played in a round.
        tries: rollouts of a task; 64 in the paper.
    """
    source = balanced_sampling(temperatures=temperatures, groups=tasks, group_size=tries)
    stage = teach(source=source, learning_rate=3e-4, optional=True)
    return replace(base, stages=(*base.stages, repeat(stages=[stage], times=rounds)))
