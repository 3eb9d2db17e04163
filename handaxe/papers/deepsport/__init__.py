"""DeepSport (arXiv:2511.12908): reward tool use in proportion to an accurate answer, and a little otherwise."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.deepsport.no_repeats import no_repeats
from handaxe.papers.deepsport.tool_use_bonus import tool_use_bonus
from handaxe.rewards.ladder import Rung

__all__ = ["deepsport"]


def deepsport(
    base: Method, *, tool_bonus: float = 0.5, curiosity: float = 0.03, malformed_reward: float = -0.05
) -> Method:
    """Gate the tool reward by the answer, and the whole reward by format and distinct calls.

    Args:
        tool_bonus: share of the answer's score that tool use adds to an accurate answer; 0.5 in the paper.
        curiosity: reward of tool use with an inaccurate answer; 0.03 in the paper.
        malformed_reward: reward of a malformed rollout, or of one that repeats a call; -0.05 in the paper.
    """
    form = rewards.product({"format": rewards.well_formed(), "fresh": no_repeats()})
    answer = tool_use_bonus(base=base.reward, share=tool_bonus, curiosity=curiosity)
    rungs = [Rung("kept", form, weight=0.0, failed=malformed_reward), Rung("paid", answer)]
    return replace(base, reward=rewards.ladder(rungs))
