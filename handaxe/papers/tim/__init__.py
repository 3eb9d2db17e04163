"""TIM (arXiv:2511.10899): DPO on pairs that prefer tool results as evidence over tool results as substitute."""

from handaxe.losses.dpo import dpo
from handaxe.methods.method import Method, replace
from handaxe.papers.tim.evidence_pairs import evidence_pairs
from handaxe.training.stages.prefer import prefer
from handaxe.training.stages.sources import played

__all__ = ["tim"]


def tim(
    base: Method,
    *,
    sampled: int = 128,
    siblings: int = 8,
    gap: float = 0.5,
    epochs: int = 3,
    beta: float = 0.1,
) -> Method:
    """Sample rollouts, pair correct ones with many and few stated steps, and run DPO.

    Args:
        sampled: tasks.
        siblings: rollouts of a task.
        gap: least difference of a pair in shares of stated steps.
        epochs: of DPO. Unconfirmed.
        beta: of DPO. Unconfirmed.
    """
    source = played(groups=sampled, group_size=siblings)
    pairs = evidence_pairs(gap=gap)
    tuning = prefer(source=source, pairs=pairs, loss=dpo(beta=beta), epochs=epochs, learning_rate=1e-4, optional=True)
    return replace(
        base,
        annotate=(*base.annotate, "ref_logp"),
        closing=(*base.closing, tuning),
    )
