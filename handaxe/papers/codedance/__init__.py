"""CodeDance: calls pay where a task is hard and cost where it is easy, and each is credited with what it came to."""

from handaxe.methods.method import Method, replace
from handaxe.papers.codedance.difficulty_bonus import difficulty_bonus
from handaxe.papers.codedance.turn_bonus import turn_bonus
from handaxe.rewards.gate import gate
from handaxe.rewards.outcome import outcome
from handaxe.rewards.product import product
from handaxe.rewards.reply_status import reply_status
from handaxe.rewards.tool_success import tool_success
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed

__all__ = ["codedance"]


def codedance(base: Method, *, gamma: float = 4.0, turn_weight: float = 0.2) -> Method:
    """Train on answer and format, on calls by difficulty, and on what each call came to.

    Args:
        gamma: how fast calls turn from paid to charged as accuracy grows; 4 in the released code.
        turn_weight: of the turns' own advantages; 0.2 in the released code.
    """
    worth = gate(on=base.reward, then=outcome(lambda one: 1.5), otherwise=outcome(lambda one: 0.5))
    calls = product({"worth": worth, "ran": tool_success()})
    answer = weighted({"right": (1.0, base.reward), "format": (0.2, well_formed())})
    whole = difficulty_bonus(base=answer, bonus=calls, correct=base.reward, gamma=gamma)
    reward = weighted({"whole": (1.0, whole), "steps": (0.0, reply_status())})
    return replace(base, reward=reward, shape=turn_bonus(channel="steps", weight=turn_weight))
