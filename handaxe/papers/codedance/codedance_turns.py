"""CodeDance's second part alone: each calling turn is credited with what its call came to."""

from handaxe.methods.method import Method, replace
from handaxe.papers.codedance.turn_bonus import turn_bonus
from handaxe.rewards.reply_status import reply_status
from handaxe.rewards.weighted import weighted

__all__ = ["codedance_turns"]


def codedance_turns(base: Method, *, weight: float = 0.2, gamma: float = 0.2) -> Method:
    """Train on the base's reward, and add to each turn what came of its calls, judged against all of the batch.

    Args:
        weight: of the turns' own advantages; 0.2 in the released code.
        gamma: discount by calling turn; 0.2 in the released code.
    """
    reward = weighted({"whole": (1.0, base.reward), "steps": (0.0, reply_status())})
    return replace(base, reward=reward, shape=turn_bonus(channel="steps", weight=weight, gamma=gamma))
