"""SPORT (arXiv:2504.21561): step-wise preference tuning on candidates that a verifier compares."""

from handaxe.losses.dpo import dpo
from handaxe.methods.method import Method, replace
from handaxe.papers.sport.drawing_verifier import drawing_verifier
from handaxe.papers.sport.step_candidates import step_candidates
from handaxe.papers.sport.step_pairs import step_pairs
from handaxe.training.stages.prefer import prefer
from handaxe.training.stages.repeat import repeat
from handaxe.training.stages.sources import played

__all__ = ["sport"]


def sport(
    base: Method,
    *,
    rounds: int = 2,
    candidates: int = 5,
    sampled: int = 48,
    labels: int = 1280,
    gap: float = 0.5,
    beta: float = 0.1,
) -> Method:
    """Sample candidates of each step, execute all, let the verifier pick the best, and run DPO on the step's pairs.

    Args:
        rounds: of sampling and tuning, each with the policy and the reference of the round before.
        candidates: of a step; 5 in the paper (from memory), 1 for none to compare.
        sampled: tasks of a round.
        labels: pairs of drawings that the verifier has learned from.
        gap: least difference of the scores of a pair; smaller ones are noise of the verifier.
        beta: of DPO.
    """
    judge = drawing_verifier(world=base.world, labels=labels)
    rollout = step_candidates(judge=judge, samples=candidates, max_turns=base.settings.max_turns)
    source = played(groups=sampled, group_size=1, arguments={"rollout": rollout})
    tuning = prefer(source=source, pairs=step_pairs(gap=gap), loss=dpo(beta=beta), learning_rate=3e-4, optional=True)
    return replace(
        base,
        annotate=(*base.annotate, "ref_logp"),
        closing=(*base.closing, repeat(stages=[tuning], times=rounds)),
    )
