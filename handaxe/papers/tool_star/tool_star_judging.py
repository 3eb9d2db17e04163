"""Tool-Star (arXiv:2505.16410), self-critic DPO on rollouts and on the policy's statements about rewards."""

from handaxe.methods.method import Method, replace
from handaxe.papers.tool_star.judging_critic import judging_critic

__all__ = ["tool_star_judging"]


def tool_star_judging(base: Method, *, judging: bool = True, rollouts: int = 32, beta: float = 0.1) -> Method:
    """Train as the base does, then run DPO on rollouts and statements about rewards.

    Args:
        judging: use pairs of statements; without, they are measured alone.
        rollouts: groups of rollouts, with a question about the best and the worst of each.
        beta: of DPO; 0.1 in the paper.
    """
    return replace(
        base,
        annotate=tuple(dict.fromkeys((*base.annotate, "ref_logp"))),
        closing=(*base.closing[:-1], judging_critic(beta=beta, groups=rollouts, judging=judging)),
    )
