"""Group-normalised credit: each attempt is judged against its siblings."""

from typing import Literal

from handaxe.ops.ragged import counted, rewards_of, scatter_group
from handaxe.ops.returns import Lone, Std, standardise
from handaxe.records import Advantages, Group, Scores
from handaxe.slots import Credit

__all__ = ["group_norm"]


def group_norm(
    *,
    std: Std | None = "sample",
    eps: float = 1e-6,
    stats_over: Literal["all", "eligible"] = "all",
    lone: Lone = "zero",
    channel: str | None = None,
) -> Credit:
    """Give every sampled token its trajectory's reward, centred and scaled within the group.

        A_i,t = (R_i - mean(R)) / (std(R) + eps)        for sampled tokens t of trajectory i
        A_i,t = 0                                       for prompt, template and tool tokens

    R_i is the outcome plus the per-turn rewards. Mean and std are over trajectories: neither their tokens nor their
    sequences weigh anything.

    Args:
        std: "sample" divides squares by n - 1 (what released code does), "population" by n, None does not scale at
            all (Dr. GRPO).
        eps: added to the std, in units of reward; 1e-6 in released code.
        stats_over: "all" siblings that were scored, or those that `Scores.eligible` names; the others then get 0.
        lone: what a sibling counted alone gets: "zero", or its own "reward" (mean 0, std 1, as released code has it).
        channel: judge this channel of the scores instead of the whole reward.

    Returns:
        A credit: (Group, Scores) -> Advantages, [T] for each sequence. Rewards equal up to rounding give exactly 0;
        an unscored sibling (outcome NaN) gets 0 and counts nowhere.

    Raises:
        InputError: for an unknown channel or `stats_over`, and for scores that do not fit the group or are infinite.

    Example:
        rewards 1, 0, 0, 1  ->  0.8660, -0.8660, -0.8660, 0.8660     (sample; +-1 with population)
        rewards 1, 0, 0, 0  ->  1.5, -0.5, -0.5, -0.5                (sample; 1.7321, -0.5774, ... with population)
        rewards 1, 0, 0, 0  ->  0.75, -0.25, -0.25, -0.25            (std None)

    Paper: arXiv:2402.03300 (GRPO), section 4.1.2; std None: arXiv:2503.20783 (Dr. GRPO). Differs: the paper does not
    say which std; a lone sibling gets 0 unless asked otherwise.
    """

    def credit(group: Group, scores: Scores) -> Advantages:
        reward_G = rewards_of(group, scores, channel=channel)
        counted_G = counted(group, scores, reward_G, stats_over)
        return Advantages(scatter_group(group, standardise(reward_G, counted_G, std=std, eps=eps, lone=lone)))

    return credit
