"""TGRL: one tool takes every answer, and training on some kinds of questions carries over to others."""

from handaxe.methods.method import Method, replace
from handaxe.papers.tgrl.signed_answer import signed_answer
from handaxe.papers.tgrl.signed_format import signed_format
from handaxe.rewards.weighted import weighted
from handaxe.worlds.parts.answering import given_answer

__all__ = ["tgrl"]


def tgrl(base: Method) -> Method:
    """Train on the answer and on the format, each of them -1, 0 or 1. Its second version is `--base dr_grpo`."""
    answer = signed_answer(correct=base.reward, answer=given_answer)
    return replace(base, reward=weighted({"answer": (1.0, answer), "format": (1.0, signed_format())}))
