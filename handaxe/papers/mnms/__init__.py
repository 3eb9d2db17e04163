"""m&m's (arXiv:2403.11085): whole plans of tool calls, with feedback by parsing, verification and execution."""

from handaxe import rollouts
from handaxe.methods.method import Method, replace

__all__ = ["mnms"]


def mnms(base: Method, *, most_plans: int = 4) -> Method:
    """Let the policy plan again after feedback on a failed plan, in training and evaluation.

    Args:
        most_plans: of a rollout; 1 for none after feedback, the paper's comparison. 10 in the paper.
    """
    rollout = rollouts.linear(max_turns=most_plans)
    return replace(base, rollout=rollout, evaluate_rollout=rollout)
