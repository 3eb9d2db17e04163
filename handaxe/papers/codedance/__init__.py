"""CodeDance (arXiv:2512.17312): reward tool calls by task difficulty, and credit each turn with its call's result."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.codedance.difficulty_bonus import difficulty_bonus
from handaxe.papers.codedance.turn_bonus import turn_bonus

__all__ = ["codedance"]


def codedance(base: Method, *, gamma: float = 4.0, turn_weight: float = 0.2) -> Method:
    """Reward successful calls on hard tasks, charge calls on easy tasks, and add a turn-level advantage.

    Args:
        gamma: slope of the difficulty factor over the group's accuracy; 4 in the released code.
        turn_weight: weight of the turn-level advantage; 0.2 in the released code.
    """
    high, low = rewards.outcome(lambda one: 1.5), rewards.outcome(lambda one: 0.5)
    value = rewards.gate(on=base.reward, then=high, otherwise=low)
    calls = rewards.product({"worth": value, "ran": rewards.tool_success()})
    answer = rewards.weighted({"right": (1.0, base.reward), "format": (0.2, rewards.well_formed())})
    total = difficulty_bonus(base=answer, bonus=calls, correct=base.reward, gamma=gamma)
    reward = rewards.weighted({"whole": (1.0, total), "steps": (0.0, rewards.reply_status())})
    return replace(base, reward=reward, transform=turn_bonus(channel="steps", weight=turn_weight))
