"""ARM-Thinker (arXiv:2512.05111): train a judge of image pairs that uses tools, and pay for tools if it is correct."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.arm_thinker.verdict_rewards import FORMED, RIGHT, SUCCEEDED, WRONG

__all__ = ["arm_thinker"]


def arm_thinker(base: Method, *, bonus: float = 0.5, always: float = 0.0) -> Method:
    """Reward the verdict in its form: 1 if correct, else 0.3, or 0.4 with a tool call; plus a bonus for a tool.

    Args:
        bonus: for a successful tool call with a correct verdict; 0.5 in the paper.
        always: for a successful tool call with any verdict in the form; for the comparison.
    """
    verdict = rewards.gate(on=base.reward, then=RIGHT, otherwise=WRONG)
    parts = {
        "verdict": (1.0, rewards.gate(on=FORMED, then=verdict)),
        "bonus": (bonus, rewards.gate(on=base.reward, then=SUCCEEDED)),
        "always": (always, rewards.gate(on=FORMED, then=SUCCEEDED)),
    }
    return replace(base, reward=rewards.weighted(parts))
