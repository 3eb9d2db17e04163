"""Themis (arXiv:2310.01045): a reward model with calls of tools before each score."""

from handaxe import rewards
from handaxe.methods.labelled_rollouts import labelled_rollouts
from handaxe.methods.method import Method, replace
from handaxe.papers.themis.bound_source import bound_source
from handaxe.papers.themis.tool_judge import tool_judge
from handaxe.training.stages.fit import fit

__all__ = ["themis"]


def themis(
    base: Method, *, judge_tools: bool = True, fit_groups: int = 128, fit_epochs: int = 6, preference: float = 0.5
) -> Method:
    """Fit a reward model with the world's tools on the first policy's rollouts, and train the policy on the scores.

    Args:
        judge_tools: give the reward model the world's tools; without them it reads question and answer alone.
        fit_groups: groups of the first policy on which the reward model is fitted.
        fit_epochs: passes over their pairs.
        preference: weight of the preference in the loss of the reward model.
    """
    judge = tool_judge(
        tools={True: base.world.tools, False: ()}[judge_tools],
        calls=base.world.need("reference"),
        preference=preference,
        epochs=fit_epochs,
        channel="correct",
    )
    source = bound_source(judge=judge, source=labelled_rollouts(base, groups=fit_groups))
    parts = {"judge": (1.0, rewards.judged(judge=judge)), "correct": (0.0, base.reward)}
    return replace(
        base,
        reward=rewards.weighted(parts),
        stages=(*base.stages, fit(judge=judge, source=source)),
        learners=(*base.learners, judge),
    )
