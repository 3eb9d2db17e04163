"""TIGeR: the format first, then right tools, parameters, computation and answer, each worth a share."""

from handaxe.methods.method import Method, replace
from handaxe.papers.tiger.reply_match import reply_match
from handaxe.rewards.graded_call import graded_call
from handaxe.rewards.ladder import Rung, ladder
from handaxe.rewards.picked import picked
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed

__all__ = ["tiger"]


def tiger(
    base: Method, *, format: float = 0.1, part: float = 0.2, answer: float = 0.3, rel_tol: float = 0.01
) -> Method:
    """Train on five parts, of which the last four count only where the format is kept.

    As they stand, a wrong answer after right calls earns 0.7, more than a right one without any, 0.4.

    Args:
        format: weight of attempts whose calls are well formed, of tools that there are.
        part: weight of right tools, of right parameters, and of the right computation.
        answer: weight of the answer.
        rel_tol: of numbers in parameters and results.
    """
    calls, code = graded_call(gold=base.world.need("reference"), rel_tol=rel_tol), ("calculator", "python")
    shares = {"names": (part, picked(calls, "names")), "values": (part, picked(calls, "values"))}
    parts = {**shares, "code": (part, reply_match(tools=code, rel_tol=rel_tol)), "answer": (answer, base.reward)}
    formed = Rung("format", well_formed(arguments=True), format)
    return replace(base, reward=ladder([formed, Rung("parts", weighted(parts))]))
