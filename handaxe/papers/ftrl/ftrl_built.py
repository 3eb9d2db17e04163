"""FTRL (arXiv:2508.08791) in built environments, with tools as code in the sandbox."""

from handaxe.methods.method import Method
from handaxe.papers.ftrl import ftrl
from handaxe.papers.ftrl.solve_f1 import Measure

__all__ = ["ftrl_built"]


def ftrl_built(base: Method, *, measure: Measure = "f1") -> Method:
    """Train as `ftrl`, on environments of the pipeline `ftrl_environments`.

    Args:
        measure: reward of a message with calls: "f1" (the paper's), or "precision", "recall" or "product".
    """
    return ftrl(base, measure=measure)
