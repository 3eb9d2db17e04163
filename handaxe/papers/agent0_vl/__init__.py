"""Agent0-VL (arXiv:2511.19900): one policy as solver and tool-using verifier, rewarded by its verdicts alone."""

from handaxe import credit, rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.agent0_vl.two_roles import is_repaired, two_roles
from handaxe.papers.agent0_vl.verified_steps import verified_steps

__all__ = ["agent0_vl"]


def agent0_vl(
    base: Method, *, confidence: float = 0.7, tool: float = 0.3, cost: float = 0.05, divergence: float = 0.0
) -> Method:
    """Have each step of the solver verified and doubtful ones repaired, and train both roles on the verdicts.

    No reference answer trains. Channel "repaired" has the share of rollouts with a repaired step, and channel "correct"
    that of correct answers. With a divergence, channel "verified/divergence" has its mean over the steps of a
    rollout, without the weight.

    Args:
        confidence: tau, below which a step is repaired; 0.7 in the paper, 0 for no repair.
        tool: weight of executed calls in the reward; 0.3 in the paper.
        cost: eta, cost of a repair; 0.05 in the paper.
        divergence: beta, weight of the divergence of solver and verifier; 0.01 in the paper. 0 measures none.
    """
    play = two_roles(confidence=confidence, max_turns=base.settings.max_turns)
    measured = two_roles(confidence=confidence, max_turns=base.settings.max_turns, divergence=bool(divergence))
    repaired = rewards.outcome(lambda one: float(is_repaired(one)))
    parts = {
        "verified": (1.0, verified_steps(confidence=confidence, tool=tool, cost=cost, divergence=divergence)),
        "repaired": (0.0, repaired),
        "correct": (0.0, base.reward),
    }
    return replace(
        base,
        rollout=measured,
        evaluate_rollout=play,
        reward=rewards.weighted(parts),
        credit=credit.group_norm(std="population"),
    )
