"""CodeDance (arXiv:2512.17312), turn level: credit each calling turn with its call's result."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.codedance.turn_bonus import turn_bonus

__all__ = ["codedance_turns"]


def codedance_turns(base: Method, *, weight: float = 0.2, gamma: float = 0.2) -> Method:
    """Keep the base's reward, and add the standardised discounted return of call failures to each turn.

    Args:
        weight: weight of the turn-level advantage; 0.2 in the released code.
        gamma: discount between calling turns; 0.2 in the released code.
    """
    reward = rewards.weighted({"whole": (1.0, base.reward), "steps": (0.0, rewards.reply_status())})
    return replace(base, reward=reward, transform=turn_bonus(channel="steps", weight=weight, gamma=gamma))
