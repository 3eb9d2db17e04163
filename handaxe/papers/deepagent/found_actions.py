"""Reward of ToolPO's actions in a world of found tools: steps that calls make, and folding of the memory."""

from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory
from handaxe.papers.deepagent.found_tools import box_facts
from handaxe.rewards.outcome import outcome

__all__ = ["found_actions"]


def found_actions(*, per_call: float = 1.0, fold: float = 0.5) -> Reward:
    """Give a reward for each step that a call makes, and a reward for a folded memory.

        R_action,i = lam1 * (steps made) + lam2 * 1[the rollout folded its memory and completed]

    A step counts once, and further calls cost nothing. With a simulator, arguments are compared with the results that
    the rollout has seen, which no annotated call has.

    Args:
        per_call: lam1, for each step.
        fold: lam2, for folding.

    Returns:
        A reward with outcome [G], from 0 to per_call * (steps) + fold.

    Example:
        two steps made, completed  ->  2; with a fold  ->  2.5; with a fold and truncated  ->  2

    Paper: arXiv:2510.21618 (DeepAgent), R_action of ToolPO. Unconfirmed: both weights, and the comparison in S_pref.
    Differs: correct calls are those that make a step; S_pref reads one rollout.
    """

    def score(one: Trajectory) -> float:
        facts = box_facts(one)
        return per_call * sum(facts["made"]) + fold * (facts["folds"] > 0 and one.ending.kind == "completed")

    return outcome(score)
