"""B-STaR (arXiv:2412.17256): self-train at the temperature and threshold that balance exploration and exploitation."""

from handaxe import judges
from handaxe.methods.method import Method, replace
from handaxe.papers.b_star.answer_and_steps import SOUND, answer_and_steps
from handaxe.papers.b_star.balance_monitor import BalanceMonitor
from handaxe.papers.b_star.balanced_sampling import balanced_sampling
from handaxe.training.stages.repeat import repeat
from handaxe.training.stages.teach import teach

__all__ = ["b_star"]


def b_star(
    base: Method,
    *,
    temperatures: tuple[float, ...] = (0.5, 0.75, 1.0, 1.25),
    thresholds: tuple[float, ...] = (0.5, 0.1, 0.9, 1.0, 1.1),
    label_noise: float = 0.05,
    rounds: int = 6,
    tasks: int = 24,
    tries: int = 16,
) -> Method:
    """Fine-tune on the policy's own distinct selected rollouts, round after round, without reinforcement learning.

    The reward is 1 for a correct answer plus a fifth of the lowest step score. A rollout is correct for the balance
    score if its answer and all steps are.

    Args:
        temperatures: of the grid, each probed on 8 tasks; 0.5 to 1.2 in the paper.
        thresholds: of the grid, in units of reward, the first of equal scores; -1 to 1 by 0.01 in the paper. One of
            each disables the choice.
        label_noise: probability that a step's score has the opposite sign, beside noise of standard deviation 0.5; the
            paper has a trained process reward model.
        rounds: of playing and fine-tuning, each from the latest weights; 9 in the paper.
        tasks: tasks played in a round.
        tries: rollouts of a task; 64 in the paper.
    """
    monitor = BalanceMonitor()
    source = balanced_sampling(
        temperatures=temperatures, thresholds=thresholds, correct=SOUND, groups=tasks, group_size=tries, monitor=monitor
    )
    stage = teach(source=source, learning_rate=3e-4, optional=True)
    rule = judges.exact_steps(verdicts=base.world.need("verdicts"))
    return replace(
        base,
        reward=answer_and_steps(
            right=base.reward, rule=rule, judge=judges.noisy(judge=rule, spread=0.5, flip=label_noise)
        ),
        stages=(*base.stages, repeat(stages=[stage], times=rounds)),
        learners=(*base.learners, monitor),
    )
