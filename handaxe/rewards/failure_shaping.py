"""Makes a failure that used its tools a little less bad than one that did not."""

from handaxe.core.protocols import Reward
from handaxe.rewards.gate import gate
from handaxe.rewards.outcome import outcome

__all__ = ["failure_shaping"]


def failure_shaping(*, base: Reward, bonus: float = 0.1, cap: float = -0.6, correct_above: float = 0.0) -> Reward:
    """Give 1 for a success, and for a failure from -1 up to `cap`, the more messages the better.

        R_i = 1                                          if base_i > correct_above
              min(cap, -1 + bonus * (n_i - 2) / 2)       otherwise
        n_i = messages of the conversation without the system's: user, assistant and tool

    Args:
        base: what tells success from failure.
        bonus: for one exchange of a call and its reply. 0 with any cap >= -1 is ReTool's plain +1 / -1.
        cap: the best a failure can get.
        correct_above: success is a base reward strictly above this.

    Returns:
        A reward with outcome [G] and the base outcome as channel "on". A lone question without any turn has n = 1 and
        gets -1 - bonus / 2.

    Example:
        right -> 1;  wrong with n = 2 -> -1, n = 4 -> -0.9, n = 8 -> -0.7, n = 12 -> -0.6

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
