"""AdaReasoner (arXiv:2601.18631): pay for correct answers; pay for valid tool calls only if the answer is wrong."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.adareasoner.call_schema import call_schema

__all__ = ["adareasoner"]


def adareasoner(base: Method, *, answer_reward: float = 8.0) -> Method:
    """Reward the answer, or the calls' fit to the tool schemas if the answer is wrong; malformed rollouts get 0.

    Args:
        answer_reward: reward of a correct answer; 8 in the released code, where calls earn at most 4.
    """
    correct = rewards.weighted({"right": (answer_reward, base.reward)})
    answer = rewards.gate(on=base.reward, then=correct, otherwise=call_schema())
    return replace(base, reward=rewards.gate(on=rewards.well_formed(), then=answer))
