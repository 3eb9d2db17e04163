"""Penalizes failures with tool use less than failures without."""

from handaxe.core.protocols import Reward
from handaxe.rewards.gate import gate
from handaxe.rewards.outcome import outcome

__all__ = ["failure_shaping"]


def failure_shaping(*, base: Reward, bonus: float = 0.1, cap: float = -0.6, correct_above: float = 0.0) -> Reward:
    """Give 1 for a success, and from -1 up to `cap` for a failure, growing with its number of messages.

        R_i = 1                                          if base_i > correct_above
              min(cap, -1 + bonus * (n_i - 2) / 2)       otherwise
        n_i = messages of the conversation without system messages: user, assistant and tool

    Args:
        base: correctness reward.
        bonus: for one exchange of a call and its reply. 0 with any cap >= -1 is ReTool's plain +1 / -1.
        cap: the best reward of a failure.
        correct_above: success is a base reward strictly above this.

    Returns:
        A reward with outcome [G] and the base outcome as channel "on". A question without any turn has n = 1 and gets
        -1 - bonus / 2.

    Example:
        correct -> 1;  wrong with n = 2 -> -1, n = 4 -> -0.9, n = 8 -> -0.7, n = 12 -> -0.6

    Paper: arXiv:2510.11701 (Demystifying agentic RL), its released recipe; bonus 0: arXiv:2504.11536 (ReTool).
    Differs: nothing.
    """
    success = outcome(lambda trajectory: 1.0)
    failure = outcome(
        lambda trajectory: min(
            cap, -1 + bonus * (sum(message.role != "system" for message in trajectory.messages) - 2) / 2
        )
    )
    return gate(on=base, then=success, otherwise=failure, above=correct_above)
