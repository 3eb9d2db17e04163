"""DPO on the policy's own best and worst rollouts."""

from collections.abc import Callable

from handaxe.core.protocols import Stage
from handaxe.losses.dpo import dpo
from handaxe.papers.tool_star.best_against_worst import best_against_worst
from handaxe.training.stages.prefer import prefer
from handaxe.training.stages.sources import played

__all__ = ["self_critic"]


def self_critic(
    *,
    beta: float = 0.1,
    steps: int = 1,
    groups: int = 16,
    group_size: int = 8,
    epochs: int = 3,
    batch_size: int = 16,
    learning_rate: float | Callable[[int], float] = 1e-4,
    optional: bool = False,
) -> Stage:
    """Make a stage that samples rollouts, scores them by the run's reward, and runs DPO on the best and worst of each
    group.

        pairs    (argmax_i R_i, argmin_i R_i) of each group with different rewards
        loss     -log sigmoid(beta ((logp_w - ref_w) - (logp_l - ref_l))),   ref: the policy before the stage

    Args:
        beta: of DPO; 0.1 in the paper.
        steps, groups, group_size: sampled rollouts; see training.stages.sources.
        epochs: passes over the pairs; 3 in the paper.
        batch_size: pairs an optimizer step.
        learning_rate: a number, or a function of the optimizer step.
        optional: if all groups have equal rewards, learn nothing.

    Returns:
        A stage: metrics of each optimizer step. The engine needs a reference: "ref_logp" in `Method.annotate`.

    Raises:
        InputError: all groups have equal rewards, unless `optional`.

    Example:
        rewards (0.77, 0.67, 0, -1) of one group  ->  one pair, the first against the last

    Paper: arXiv:2505.16410 (Tool-Star), the DPO phase of its self-critic reinforcement learning.
    Differs: no pairs in which the policy writes the judgement itself.
    """
    source = played(steps=steps, groups=groups, group_size=group_size)
    return prefer(
        source=source,
        pairs=best_against_worst(),
        loss=dpo(beta=beta),
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        optional=optional,
    )
