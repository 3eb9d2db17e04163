"""TGRL (arXiv:2510.11184): hand in every answer by a tool, and test whether training transfers to unseen domains."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.tgrl.signed_answer import signed_answer
from handaxe.papers.tgrl.signed_format import signed_format
from handaxe.worlds.parts.answering import stated_answer

__all__ = ["tgrl"]


def tgrl(base: Method) -> Method:
    """Reward answer and format with -1, 0 or 1 each. The paper's second version is `--base dr_grpo`."""
    answer = signed_answer(correct=base.reward, answer=stated_answer)
    return replace(base, reward=rewards.weighted({"answer": (1.0, answer), "format": (1.0, signed_format())}))
