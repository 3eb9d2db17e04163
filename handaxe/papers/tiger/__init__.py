"""TIGeR (arXiv:2510.07181): reward format first, then tools, parameters, computation and answer."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.tiger.reply_match import reply_match
from handaxe.rewards.ladder import Rung
from handaxe.rewards.select_channel import select_channel

__all__ = ["tiger"]

TOLERANCE = 0.01
"""Relative tolerance of numbers in parameters and results; 0.01 to 0.05 in the paper."""


def tiger(base: Method, *, format: float = 0.1, part: float = 0.2, answer: float = 0.3) -> Method:
    """Reward five parts; the last four count only in well-formed rollouts.

    Args:
        format: weight of well-formed calls of known tools. Unconfirmed.
        part: weight of each of tool names, parameters and the computed result. Unconfirmed.
        answer: weight of the answer. Unconfirmed.
    """
    calls = rewards.graded_call(gold=base.world.need("reference"), rel_tol=TOLERANCE)
    code = reply_match(tools=("depth", "calculator", "python"), rel_tol=TOLERANCE)
    parts = {"names": (part, select_channel(calls, "names")), "values": (part, select_channel(calls, "values"))}
    graded = rewards.weighted({**parts, "code": (part, code), "answer": (answer, base.reward)})
    form = Rung("format", rewards.well_formed(arguments=True), format)
    return replace(base, reward=rewards.ladder([form, Rung("parts", graded)]))
